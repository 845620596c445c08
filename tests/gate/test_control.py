"""An arm of the incumbent's own text: where it differs, nothing that was measured is the skill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evolve.gate.decide import GateInput, decide, is_decided
from evolve.records.kinds import Role
from evolve.records.row import Row
from tests.builders import make_identity, make_row
from tests.gate.made import INSUFFICIENT, KEEP, PROMOTE, Task, codes, counts, input_of, rows_of

WON = [counts(0, 3)] * 8


def control(resolved: Sequence[int], runs: int = 3) -> list[Row]:
    return [
        make_row(f"t-{n:02}", run, role=Role.CONTROL, resolved=run < count, identity=make_identity(f"t-{n:02}", run))
        for n, count in enumerate(resolved)
        for run in range(runs)
    ]


def given_of(table: Sequence[Task], rows: Sequence[Row], **policy: Any) -> GateInput:
    return input_of([*rows_of(table), *rows], len(table), **{"control": True, **policy})


@pytest.mark.parametrize("better", [5, 6])
def test_it_differs_when_the_two_sided_test_says_so(better: int) -> None:
    decision = decide(given_of(WON, control([1] * better + [0] * (8 - better))))
    p_value = 2 * 0.5**better
    assert (decision.outcome is INSUFFICIENT) == (p_value <= 0.05)
    if p_value <= 0.05:
        assert codes(decision)["control-differs"].numbers == {"p_value": p_value, "control_alpha": 0.05}
    assert decide(given_of(WON, control([1] * better + [0] * (8 - better)), control_alpha=0.9)).outcome is INSUFFICIENT


def test_a_control_that_is_worse_differs_too() -> None:
    table = [counts(3, 3)] * 8
    assert "control-differs" in codes(decide(given_of(table, control([0] * 8), control=False)))


def test_it_never_changes_what_is_estimated() -> None:
    alone = decide(given_of(WON, [], control=False))
    assert decide(given_of(WON, control([0, 1, 0, 0, 0, 0, 0, 0]))) == alone


def test_a_run_of_the_control_beyond_the_plan_or_twice_is_a_fault() -> None:
    assert set(codes(decide(given_of(WON, control([0] * 8, runs=4))))) == {"control-incomplete"}
    rows = control([0] * 8)
    assert set(codes(decide(given_of(WON, [*rows, rows[0]])))) == {"control-incomplete"}


def partial(given: GateInput, runs: int, controls: int) -> GateInput:
    def kept(row: Row) -> bool:
        return row.identity.run < (controls if row.role is Role.CONTROL else runs)

    return replace(given, rows=tuple(row for row in given.rows if kept(row)), stopped_early=True)


@pytest.mark.parametrize("policy", [{}, {"sequential": True}])
def test_nothing_is_won_early_before_the_control_was_measured(policy: dict[str, Any]) -> None:
    """After two runs at worst, or after one round, it has won."""
    given = given_of(WON, control([0] * 8), **policy)
    need = 1 if policy else 3
    runs = 1 if policy else 2
    assert is_decided(partial(given, runs, need))
    assert decide(partial(given, runs, need)).outcome is PROMOTE
    for controls in range(need):
        assert not is_decided(partial(given, runs, controls))
        assert decide(partial(given, runs, controls)).outcome is INSUFFICIENT
    uncontrolled = replace(given, policy=given.policy.model_copy(update={"control": False}))
    assert is_decided(partial(uncontrolled, runs, 0))


def test_where_rounds_decide_the_control_is_looked_at_after_the_round_that_decides() -> None:
    late = control([0] * 8)
    late = [row if row.identity.run < 1 else control([3] * 8)[number] for number, row in enumerate(late)]
    given = given_of(WON, late, sequential=True)
    assert decide(given).outcome is PROMOTE
    assert decide(given).canonical() == decide(partial(given, 1, 1)).canonical()
    early = given_of(WON, control([1] * 8), sequential=True)
    for found in (early, partial(early, 1, 1), partial(early, 2, 2)):
        assert codes(decide(found)).keys() == {"control-differs"}


def test_what_is_refused_early_needs_no_control() -> None:
    given = given_of([counts(3, 0)] * 8, control([3] * 8))
    stopped = partial(given, 3, 0)
    assert is_decided(stopped)
    assert decide(stopped).outcome is KEEP
