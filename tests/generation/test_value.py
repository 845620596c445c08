from __future__ import annotations

import math
from typing import Any

import pytest

from evolve.generation.value import TIE_BREAK_WEIGHT, values_of
from evolve.records.kinds import ErrorKind
from evolve.records.row import Row, Usage
from tests.builders import make_identity, make_policy, make_row

COST = {"metric": "cost_usd"}
TIE = {"tie_break": "cost_usd"}


def row(arm: str, micros: int | None, *, resolved: bool = True, run: int = 0) -> Row:
    made = make_row("t-1", run, resolved=resolved, identity=make_identity("t-1", run, text=arm))
    return made.model_copy(update={"arm": arm, "usage": Usage(cost_usd_micros=micros)})


@pytest.mark.parametrize(
    ("policy", "incumbent", "candidate", "expected"),
    [
        ({}, [row("i", 1)], [row("c", 1), row("c", 1, resolved=False)], 0.5),
        (TIE, [row("i", 200)], [row("c", 100)], 1 + TIE_BREAK_WEIGHT * math.log(2)),
        (TIE, [row("i", 200)], [row("c", None)], 1.0),
        (COST, [row("i", 200)], [row("c", 200)], 0.5),
        (COST, [row("i", 200)], [row("c", 100)], 0.5 + 0.5 * math.log(2)),
        (COST, [row("i", 200)], [row("c", 1)], 1.0),
        (COST, [row("i", 200)], [row("c", 100, resolved=False)], 0.5 + 0.5 * math.log(2) - 1),
        (COST, [row("i", 200, resolved=False)], [row("c", 100)], 0.5 + 0.5 * math.log(2)),
    ],
)
def test_a_cell_is_worth_what_the_policy_puts_first(
    policy: dict[str, Any], incumbent: list[Row], candidate: list[Row], expected: float
) -> None:
    found = values_of({"i": incumbent, "c": candidate}, "i", make_policy(**policy))
    assert found["c"] == pytest.approx(expected)


@pytest.mark.parametrize("policy", [{}, TIE, COST])
def test_cells_that_voided_are_worth_nothing_that_is_known(policy: dict[str, Any]) -> None:
    void = row("c", 5, resolved=False).model_copy(update={"kind": ErrorKind.SESSION_ERROR})
    found = values_of({"i": [row("i", 5)], "c": [void]}, "i", make_policy(**policy))
    assert found["c"] is None
    assert found["i"] is not None


def test_failing_never_makes_a_candidate_worth_more() -> None:
    for micros in (1, 50, 200, 900):
        for policy in ({}, TIE, COST):
            good, bad = (
                values_of(
                    {"i": [row("i", 200)], "c": [row("c", micros, resolved=resolved)]}, "i", make_policy(**policy)
                )
                for resolved in (True, False)
            )
            assert (bad["c"] or 0) < (good["c"] or 0)
