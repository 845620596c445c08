"""Further pairs of arms, in each of which the candidate must win."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evolve.gate.decide import GateInput, Pair, decide, extra_runs_wanted, is_decided
from evolve.records.kinds import ErrorKind, Role
from evolve.records.row import Row
from tests.builders import digest_of, make_identity, make_policy, make_row
from tests.gate.made import ALPHA, INSUFFICIENT, KEEP, PROMOTE, Task, blocking, codes, counts, rows_of

PAIR = Pair("other", "other-candidate")
WON, EVEN, LOST = [counts(1, 3)] * 8, [counts(2, 2)] * 8, [counts(3, 0)] * 8


def of_pair(rows: Sequence[Row], pair: Pair, agent: str, text: str = "") -> list[Row]:
    """Return the rows as those of a further pair, whose arms work with another agent."""
    found = []
    for row in rows:
        identity = make_identity(
            row.identity.task, row.identity.run, text=row.role.value + text, agent_sha256=digest_of(agent)
        )
        name = pair.incumbent if row.role is Role.INCUMBENT else pair.candidate
        made = make_row(role=row.role, resolved=row.resolved, identity=identity, usage=row.usage)
        found.append(made.model_copy(update={"arm": name}))
    return found


def both(main: Sequence[Task], other: Sequence[Task], rows: Sequence[Row] = (), **policy: Any) -> GateInput:
    found = [*rows_of(main), *of_pair(rows_of(other), PAIR, "another agent"), *rows]
    ids = tuple(f"t-{n:02}" for n in range(len(main)))
    return GateInput(tuple(found), ids, 3, make_policy(**policy), ALPHA, required=(PAIR,))


@pytest.mark.parametrize(
    ("main", "other", "outcome", "code"),
    [
        (WON, WON, PROMOTE, "required-arm-won"),
        (WON, EVEN, KEEP, "required-arm-not-won"),
        (WON, LOST, KEEP, "required-arm-not-won"),
        (EVEN, WON, KEEP, "required-arm-won"),
        (EVEN, EVEN, KEEP, "required-arm-not-won"),
    ],
)
def test_the_candidate_must_win_in_each(main: list[Task], other: list[Task], outcome: Any, code: str) -> None:
    decision = decide(both(main, other))
    assert decision.outcome is outcome
    assert code in codes(decision)
    assert (code in blocking(decision)) == (code == "required-arm-not-won")
    assert [arm.arm for arm in decision.required] == ["other-candidate"]
    assert decision.required[0].outcome is (PROMOTE if other is WON else KEEP)


def test_the_main_pair_is_decided_as_it_is_alone() -> None:
    alone, found = decide(replace(both(WON, WON), required=(), rows=tuple(rows_of(WON)))), decide(both(WON, LOST))
    assert (found.estimates, found.test, found.tasks) == (alone.estimates, alone.test, alone.tasks)
    assert found.required[0].estimates[0].value == -100
    assert decide(both(LOST, WON)).required[0].estimates == decide(both(WON, WON)).required[0].estimates


def test_a_pair_that_is_incomplete_is_insufficient_and_one_that_lost_is_graver() -> None:
    holed = both(WON, WON)
    for lost in (-1, 0, len(holed.rows) // 2):
        rows = tuple(row for number, row in enumerate(holed.rows) if number != lost % len(holed.rows))
        assert decide(replace(holed, rows=rows)).outcome is INSUFFICIENT
    none = replace(holed, rows=tuple(rows_of(WON)))
    assert decide(none).outcome is INSUFFICIENT
    assert "incomplete" in codes_of_arm(none)
    assert decide(replace(none, rows=tuple(rows_of(LOST)))).outcome is KEEP


def codes_of_arm(given: GateInput) -> set[str]:
    return {reason.code for reason in decide(given).required[0].reasons}


def test_the_order_of_the_rows_changes_no_byte() -> None:
    given = both(WON, EVEN)
    expected, rows = decide(given).canonical(), list(given.rows)
    for seed in range(5):
        random.Random(seed).shuffle(rows)
        assert decide(replace(given, rows=tuple(rows))).canonical() == expected


def test_two_agents_in_two_pairs_are_not_mixed_and_in_one_pair_they_are() -> None:
    given = both(WON, WON)
    assert decide(given).outcome is PROMOTE
    for number in (0, len(given.rows) - 1):
        row = given.rows[number]
        values = {**row.identity.model_dump(), "agent_sha256": digest_of("a third agent")}
        changed = make_row(role=row.role, resolved=row.resolved, identity=make_identity(**values))
        changed = changed.model_copy(update={"arm": row.arm, "usage": row.usage})
        rows = (*given.rows[:number], changed, *given.rows[number + 1 :])
        decision = decide(replace(given, rows=rows))
        assert decision.outcome is INSUFFICIENT
        found = set(codes(decision)) if number == 0 else codes_of_arm(replace(given, rows=rows))
        assert "mixed-evidence" in found


def test_a_control_stands_beside_the_main_pair_alone() -> None:
    control = [
        make_row(f"t-{n:02}", run, role=Role.CONTROL, resolved=run < 1, identity=make_identity(f"t-{n:02}", run))
        for n in range(8)
        for run in range(3)
    ]
    assert decide(both(WON, WON, control, control=True)).outcome is PROMOTE
    assert decide(both(WON, WON, control=True)).outcome is INSUFFICIENT


def test_comparators_are_in_no_pair() -> None:
    rival = [row.model_copy(update={"role": Role.COMPARATOR, "arm": "rival"}) for row in rows_of(LOST)]
    given = both(WON, WON)
    assert decide(replace(given, rows=(*given.rows, *rival))) == decide(given)


DOUBTED = [*[counts(0, 3)] * 7, counts(2, 1)]


def test_more_runs_are_asked_for_in_any_pair_but_for_nothing_once_one_has_lost() -> None:
    assert extra_runs_wanted(both([counts(0, 3)] * 8, DOUBTED)) == {"t-07": 3}
    assert extra_runs_wanted(both(DOUBTED, DOUBTED)) == {"t-07": 3}
    assert decide(both(WON, DOUBTED)).outcome is INSUFFICIENT
    assert extra_runs_wanted(both(EVEN, DOUBTED)) == {}
    assert extra_runs_wanted(both(DOUBTED, LOST)) == {}
    holed = both(WON, DOUBTED)
    assert extra_runs_wanted(replace(holed, rows=holed.rows[1:])) == {}


def test_one_pair_that_cannot_pass_ends_it_and_one_that_has_won_does_not() -> None:
    given = both(WON, LOST)
    assert is_decided(replace(given, rows=given.rows[:48] + given.rows[48:54]))
    assert not is_decided(replace(given, rows=given.rows[:48]))
    stopped = replace(given, rows=given.rows[:48] + given.rows[48:54], stopped_early=True)
    assert decide(stopped).outcome is KEEP
    void = given.rows[48].model_copy(update={"kind": ErrorKind.SESSION_ERROR, "resolved": False})
    assert not is_decided(replace(given, rows=(*given.rows[:48], void)))


def test_all_pairs_that_have_won_at_worst_end_it() -> None:
    given = both([counts(0, 3)] * 8, [counts(0, 3)] * 8)
    rows = tuple(row for row in given.rows if row.identity.run < 2)
    assert is_decided(replace(given, rows=rows))
    assert decide(replace(given, rows=rows, stopped_early=True)).outcome is PROMOTE
    fewer = tuple(row for row in rows if row.arm != "other" or row.identity.run < 1)
    assert not is_decided(replace(given, rows=fewer))
