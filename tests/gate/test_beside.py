"""What stands beside a decision decides nothing."""

from __future__ import annotations

from typing import Any

import pytest

from evolve.gate.decide import decide
from evolve.records.decision import Decision
from evolve.records.kinds import ErrorKind, Role
from evolve.records.row import Row, Usage
from tests.builders import make_row
from tests.gate.made import KEEP, PROMOTE, Task, blocking, codes, costs, counts, decided, input_of, rows_of


def beside(decision: Decision, what: str) -> Any:
    found = [estimate for estimate in decision.estimates if what in estimate.estimand and not estimate.decides]
    assert len(found) == 1, [estimate.estimand for estimate in decision.estimates]
    return found[0]


def test_one_estimate_decides_and_it_stands_first() -> None:
    policies: list[dict[str, Any]] = [{}, {"metric": "score"}, {"metric": "cost_usd"}]
    for policy in policies:
        decision = decided([counts(1, 3)] * 8 + [counts(3, 3)], **policy)
        assert [estimate.decides for estimate in decision.estimates] == [True] + [False] * (len(decision.estimates) - 1)
        assert len(decision.estimates) > 4
        assert not any("duration" in estimate.estimand for estimate in decision.estimates)


def uninvoked(rows: list[Row], runs: set[tuple[str, Role, int]]) -> list[Row]:
    return [
        make_row(row.identity.task, row.identity.run, role=row.role, kind=ErrorKind.SKILL_NOT_INVOKED, oracle=None)
        if (row.identity.task, row.role, row.identity.run) in runs
        else row
        for row in rows
    ]


@pytest.mark.parametrize("metric", ["resolve_rate", "score"])
def test_a_run_without_the_skill_is_a_failure_and_the_triggered_ones_decide_nothing(metric: str) -> None:
    rows = rows_of([counts(1, 3)] * 8)
    runs = {(f"t-{n:02}", Role.CANDIDATE, run) for n in range(8) for run in (1, 2)}
    decision = decide(input_of(uninvoked(rows, runs), 8, metric=metric))
    assert decision.outcome is KEEP
    assert decision.estimates[0].value == 0
    assert [task.candidate_resolved for task in decision.tasks] == [1] * 8
    triggered = beside(decision, "in runs in which the skill was invoked")
    assert triggered.value == pytest.approx(200 / 3)
    caveat = codes(decision)["skill-not-invoked"]
    assert not caveat.blocking
    assert caveat.numbers == {"incumbent": 0, "candidate": 16}
    assert "count as failures" in caveat.text


def test_where_the_skill_is_invoked_in_every_run_nothing_is_said_of_it() -> None:
    decision = decided([counts(1, 3)] * 8)
    assert "skill-not-invoked" not in codes(decision)
    assert not any("invoked" in estimate.estimand for estimate in decision.estimates)


def test_a_task_in_which_an_arm_never_invoked_the_skill_is_not_among_the_triggered() -> None:
    runs = {("t-00", Role.INCUMBENT, run) for run in range(3)}
    decision = decide(input_of(uninvoked(rows_of([counts(1, 3)] * 8), runs), 8))
    assert beside(decision, "was invoked").tasks == 7
    everywhere = {(f"t-{n:02}", Role.INCUMBENT, run) for n in range(8) for run in range(3)}
    decision = decide(input_of(uninvoked(rows_of([counts(1, 3)] * 8), everywhere), 8))
    assert not any("was invoked" in estimate.estimand for estimate in decision.estimates)


def tiered(table: list[Task], loose: int, **policy: Any) -> Decision:
    given = input_of(rows_of(table), len(table), **policy)
    tiers = {f"t-{n:02}": "loose" for n in range(loose)}
    return decide(given.__class__(**{**given.__dict__, "tiers": tiers}))


def test_a_gain_that_reverses_between_tiers_is_told_and_blocks_nothing() -> None:
    table = [counts(2, 1)] * 2 + [counts(0, 3)] * 14
    decision = tiered(table, 2, preset="thresholds", max_task_regression_pct=40)
    assert decision.outcome is PROMOTE
    flip = codes(decision)["tier-sign-flip"]
    assert not flip.blocking
    assert flip.numbers == {"loose": pytest.approx(-100 / 3, abs=1e-5), "tight": 100}
    assert [task.tier for task in decision.tasks] == ["loose"] * 2 + ["tight"] * 14
    assert "tier-sign-flip" not in codes(tiered([counts(1, 2)] * 2 + [counts(0, 3)] * 14, 2))
    assert "tier-sign-flip" not in codes(tiered([counts(2, 2)] * 2 + [counts(0, 3)] * 14, 2))
    assert "tier-sign-flip" not in codes(tiered(table, 0, preset="thresholds", max_task_regression_pct=40))


def test_a_saving_that_reverses_between_tiers_is_told_as_it_is() -> None:
    table = [costs([100] * 3, [110] * 3)] * 2 + [costs([100] * 3, [50] * 3)] * 14
    flip = codes(tiered(table, 2, metric="cost_usd"))["tier-sign-flip"]
    assert "loose +10.0, tight -50.0" in flip.text
    assert flip.numbers == {"loose": pytest.approx(10), "tight": pytest.approx(-50)}


def test_the_figure_without_ties_stands_beside_the_one_with_them() -> None:
    decision = decided([counts(1, 3)] * 6 + [counts(3, 3), counts(0, 0)])
    assert decision.estimates[0].value == 50
    apart = beside(decision, "without tasks that no arm or every arm resolves")
    assert (apart.value, apart.tasks) == (pytest.approx(200 / 3), 6)
    assert not any("without tasks" in estimate.estimand for estimate in decided([counts(1, 3)] * 6).estimates)
    assert codes(decision)["floor-tasks"].tasks == ("t-07",)
    assert codes(decision)["ceiling-tasks"].tasks == ("t-06",)


def with_usage(rows: list[Row], role: Role, **figures: int | None) -> list[Row]:
    return [
        row.model_copy(update={"usage": row.usage.model_copy(update=figures)}) if row.role is role else row
        for row in rows
    ]


@pytest.mark.parametrize(("metric", "told"), [("output_tokens", True), ("num_turns", True), ("cost_usd", False)])
def test_a_gain_in_output_that_is_bought_with_input_is_told(metric: str, told: bool) -> None:
    rows = with_usage(rows_of([costs([100] * 3, [50] * 3)] * 8), Role.CANDIDATE, input_tokens=130)
    decision = decide(input_of(rows, 8, metric=metric))
    assert decision.outcome is PROMOTE
    assert ("input-grew" in codes(decision)) == told
    if told:
        assert codes(decision)["input-grew"].numbers == {"input_pct": pytest.approx(30)}
        assert not codes(decision)["input-grew"].blocking
    fewer = decide(input_of(rows_of([costs([100] * 3, [50] * 3)] * 8), 8, metric=metric))
    assert "input-grew" not in codes(fewer)


@pytest.mark.parametrize("figures", [{"cost_usd_micros": None}, {"input_tokens": None}])
def test_a_cost_that_nobody_measured_is_not_comparable_beside(figures: dict[str, None]) -> None:
    rows = with_usage(rows_of([counts(1, 3)] * 8), Role.CANDIDATE, **figures)
    decision = decide(input_of(rows, 8))
    assert decision.outcome is PROMOTE
    name = {"cost_usd_micros": "cost_usd", "input_tokens": "input_tokens"}[next(iter(figures))]
    estimate = beside(decision, f" of {name},")
    assert (estimate.value, estimate.low, estimate.high, estimate.interval) == (None, None, None, "none")
    assert estimate.not_comparable == "8 of 8 tasks have rows without it"


def test_costs_beside_are_of_the_tasks_that_the_incumbent_resolves() -> None:
    decision = decided([counts(0, 3)] * 6 + [counts(2, 3, cost=10)] * 2)
    assert beside(decision, " of cost_usd,").tasks == 2
    none = decided([counts(0, 3)] * 8)
    assert beside(none, " of cost_usd,").not_comparable == "the incumbent resolves no task"
    assert none.outcome is PROMOTE


def test_a_longer_text_that_changes_nothing_else_is_refused_by_its_input() -> None:
    table = [costs([100] * 3, [100 + more] * 3) for more in (1, 2, 5, 5, 9, 9, 9, 9)]
    decision = decided(table, metric="input_tokens", min_improvement_pct=0)
    assert decision.outcome is KEEP
    assert "improvement-too-small" in blocking(decision)


def test_usage_that_is_missing_altogether_decides_no_quality() -> None:
    rows = [row.model_copy(update={"usage": Usage()}) for row in rows_of([counts(1, 3)] * 8)]
    assert decide(input_of(rows, 8)).outcome is PROMOTE
