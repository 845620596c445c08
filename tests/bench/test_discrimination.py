"""Which tasks tell the arms not apart."""

from __future__ import annotations

from evolve.bench.discrimination import Ties, ties
from evolve.records.kinds import ErrorKind, Role
from tests.builders import make_row


def test_tasks_at_the_floor_and_at_the_ceiling_are_named() -> None:
    rows = [
        make_row("low", 0, resolved=False),
        make_row("low", 0, resolved=False, role=Role.CANDIDATE),
        make_row("high", 0),
        make_row("high", 0, role=Role.CANDIDATE),
        make_row("mixed", 0),
        make_row("mixed", 1, resolved=False),
        make_row("mixed", 0, role=Role.CANDIDATE),
        make_row("told", 0),
        make_row("told", 0, resolved=False, role=Role.CANDIDATE),
        make_row("alone", 0),
        make_row("void", 0),
        make_row("void", 0, kind=ErrorKind.INFRA_ERROR, resolved=False, role=Role.CANDIDATE),
    ]
    assert ties(rows) == Ties(("low",), ("high",))
    assert ties(rows[::-1]) == ties(rows)
    assert ties([]) == Ties((), ())
