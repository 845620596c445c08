"""Costs: what is not measured is not cheap, and failing makes nothing cheaper."""

from __future__ import annotations

from typing import Any

import pytest

from evolve.gate.decide import decide, is_decided
from evolve.gate.table import Run, TaskRuns, figures_of
from evolve.records.kinds import Role
from evolve.records.policy import Metric
from evolve.records.row import Usage
from tests.builders import make_row
from tests.gate.made import (
    INSUFFICIENT,
    KEEP,
    PROMOTE,
    Task,
    blocking,
    codes,
    costs,
    counts,
    decided,
    input_of,
    rows_of,
)

CHEAPER = costs([100, 100, 100], [60, 60, 60])
COST: dict[str, Any] = {"metric": "cost_usd"}


@pytest.mark.parametrize("metric", ["cost_usd", "input_tokens", "output_tokens", "num_turns"])
def test_a_cheaper_candidate_that_loses_nothing_is_promoted(metric: str) -> None:
    decision = decided([CHEAPER] * 8, metric=metric)
    assert decision.outcome is PROMOTE
    assert set(codes(decision)) == {"quality-held", "improvement", "significant", "ceiling-tasks"}
    assert decision.estimates[0].value == pytest.approx(-40)


@pytest.mark.parametrize("preset", ["proven", "thresholds"])
@pytest.mark.parametrize("arm", [0, 1])
def test_a_cost_that_nobody_measured_is_not_comparable_and_never_cheap(arm: int, preset: str) -> None:
    holed: list[Any] = [[100] * 3, [60] * 3]
    holed[arm] = [holed[arm][0], None, holed[arm][2]]
    decision = decided([*[CHEAPER] * 8, costs(*holed)], metric="cost_usd", preset=preset)
    assert decision.outcome is INSUFFICIENT
    assert codes(decision).keys() == {"unmeasured"}
    assert codes(decision)["unmeasured"].tasks == ("t-08",)
    assert "not comparable" in codes(decision)["unmeasured"].text


def test_weighted_input_counts_cached_input_at_a_tenth_and_needs_it_measured() -> None:
    def found(cached: int | None) -> Any:
        rows = []
        for row in rows_of([CHEAPER] * 8):
            tokens, share = (100, 0) if row.role is Role.INCUMBENT else (120, cached)
            usage = Usage(input_tokens=tokens, cached_input_tokens=share)
            rows.append(make_row(row.identity.task, row.identity.run, role=row.role, usage=usage))
        return decide(input_of(rows, 8, metric="weighted_input_tokens"))

    assert found(100).estimates[0].value == pytest.approx(-70)
    assert found(None).outcome is INSUFFICIENT


def test_nothing_counts_as_the_smallest_unit() -> None:
    decision = decided([costs([100] * 3, [0] * 3)] * 8, **COST)
    assert decision.outcome is PROMOTE
    assert decision.estimates[0].value == pytest.approx(-99)
    assert decision.tasks[0].candidate == 1
    assert decided([costs([0] * 3, [0] * 3)] * 8, **COST).estimates[0].value == 0


def figure(incumbent: list[tuple[bool, float]], candidate: list[tuple[bool, float]]) -> tuple[float, float]:
    runs = TaskRuns("t", tuple(Run(*run) for run in incumbent), tuple(Run(*run) for run in candidate))
    found = figures_of(runs, Metric.COST_USD)
    return float(found.incumbent), float(found.candidate)


@pytest.mark.parametrize(
    ("incumbent", "candidate", "expected"),
    [
        ([(True, 10), (True, 20), (True, 30)], [(True, 1), (True, 2), (True, 9)], (20, 2)),
        # It gives up at once: it is not cheaper than the incumbent.
        ([(True, 10), (True, 20), (True, 30)], [(False, 1), (False, 1), (False, 1)], (20, 20)),
        ([(True, 10), (True, 20), (True, 30)], [(True, 5), (False, 1), (False, 1)], (20, 20)),
        # It fails, and one of its runs was dearer than what counts for the incumbent.
        ([(True, 10), (True, 20), (True, 30)], [(True, 50), (False, 1), (False, 1)], (20, 50)),
        # A failure of the incumbent costs what its dearest run did.
        ([(True, 10), (False, 1), (False, 1)], [(True, 9), (True, 9), (True, 9)], (10, 9)),
        ([(True, 10), (False, 1), (False, 40)], [(True, 90), (True, 90), (True, 90)], (40, 90)),
    ],
)
def test_failing_makes_no_arm_cheaper(
    incumbent: list[tuple[bool, float]], candidate: list[tuple[bool, float]], expected: tuple[float, float]
) -> None:
    assert figure(incumbent, candidate) == expected


@pytest.mark.parametrize("preset", ["proven", "thresholds"])
def test_giving_up_at_once_is_never_a_gain(preset: str) -> None:
    gives_up: Task = ([(True, 100)] * 3, [(False, 1)] * 3)
    decision = decided([gives_up] * 8, metric="cost_usd", preset=preset)
    assert decision.outcome is KEEP
    assert decision.estimates[0].value == 0
    assert {"improvement-too-small", "quality-in-doubt"} <= blocking(decision)


def failing(incumbent: int, candidate: int) -> Task:
    return [(False, incumbent)] * 3, [(False, candidate)] * 3


@pytest.mark.parametrize("preset", ["proven", "thresholds"])
def test_a_task_that_the_incumbent_never_resolves_is_not_in_the_metric_and_stays_in_the_table(preset: str) -> None:
    alone = decided([CHEAPER] * 8, metric="cost_usd", preset=preset)
    decision = decided([*[CHEAPER] * 8, failing(100, 1)], metric="cost_usd", preset=preset)
    assert decision.outcome is PROMOTE
    assert decision.test == alone.test
    assert decision.estimates[0] == alone.estimates[0]
    assert [task.counted for task in decision.tasks] == [True] * 8 + [False]
    assert (decision.tasks[8].incumbent, decision.tasks[8].candidate) == (100, 100)
    assert codes(decision)["floor-tasks"].tasks == ("t-08",)


@pytest.mark.parametrize("preset", ["proven", "thresholds"])
def test_a_task_that_both_fail_may_not_become_nine_times_as_dear(preset: str) -> None:
    decision = decided([*[CHEAPER] * 8, failing(100, 900)], metric="cost_usd", preset=preset)
    assert decision.outcome is KEEP
    assert blocking(decision) == {"task-regression"}
    assert codes(decision)["task-regression"].tasks == ("t-08",)


@pytest.mark.parametrize("preset", ["proven", "thresholds"])
def test_to_solve_what_the_incumbent_never_does_may_cost_more(preset: str) -> None:
    solved: Task = ([(False, 100)] * 3, [(True, 900)] * 3)
    assert decided([*[CHEAPER] * 8, solved], metric="cost_usd", preset=preset).outcome is PROMOTE
    once: Task = ([(False, 100)] * 3, [(True, 900), (False, 900), (False, 900)])
    assert decided([*[CHEAPER] * 8, once], metric="cost_usd", preset=preset).outcome is PROMOTE


def test_where_the_incumbent_resolves_nothing_there_is_nothing_to_compare() -> None:
    for preset in ("proven", "thresholds"):
        decision = decided([failing(100, 50)] * 8, metric="cost_usd", preset=preset)
        assert (decision.outcome, set(codes(decision))) == (INSUFFICIENT, {"nothing-to-compare"})
        assert [task.counted for task in decision.tasks] == [False] * 8


def test_too_few_tasks_to_compare_are_said_to_be_too_few() -> None:
    decision = decided([*[CHEAPER] * 4, *[failing(100, 100)] * 4], **COST)
    assert (decision.outcome, set(codes(decision))) == (INSUFFICIENT, {"too-few-tasks"})
    assert decision.estimates[0].tasks == 4


@pytest.mark.parametrize("preset", ["proven", "thresholds"])
def test_cheaper_and_worse_is_refused_by_the_margin(preset: str) -> None:
    worse: Task = ([(True, 100)] * 3, [(True, 10), (True, 10), (False, 10)])
    decision = decided([worse] * 8, metric="cost_usd", preset=preset, max_task_regression_pct=1000)
    assert (decision.outcome, blocking(decision)) == (KEEP, {"quality-in-doubt"})
    assert codes(decision)["quality-in-doubt"].numbers["mean_difference"] == pytest.approx(-1 / 3, abs=1e-6)
    wide = decided(
        [worse] * 8, metric="cost_usd", preset=preset, max_task_regression_pct=1000, noninferiority_margin=0.5
    )
    assert wide.outcome is PROMOTE


@pytest.mark.parametrize("lost", [1, 4])
def test_the_margin_is_proven_where_the_preset_asks_for_proof(lost: int) -> None:
    table: list[Task] = [CHEAPER] * (24 - lost) + [([(True, 100)] * 3, [(False, 60)] * 3)] * lost
    loose: dict[str, Any] = {"metric": "cost_usd", "noninferiority_margin": 0.2, "max_task_regression_pct": 1000}
    proven = codes(decided(table, **loose))
    points = codes(decided(table, preset="thresholds", **loose))
    assert "quality-held" in points
    assert ("quality-held" in proven) == (lost == 1)
    name = "quality-held" if lost == 1 else "quality-in-doubt"
    # 24 tasks, and yet every sign vector counts: by 2^-24.
    assert (float(proven[name].numbers["p_value"] or 0) * 2**24).is_integer()


def test_each_estimand_gives_its_own_figure() -> None:
    table = [costs([10] * 3, [5] * 3)] * 6 + [costs([1000] * 3, [900] * 3)] * 2
    found = {
        name: decided(table, estimand=name, **COST).estimates[0]
        for name in ("geometric_mean_ratio", "ratio_of_sums", "mean_ratio", "median_ratio")
    }
    assert {name: round(estimate.value or 0, 2) for name, estimate in found.items()} == {
        "geometric_mean_ratio": round((0.5**0.75 * 0.9**0.25 - 1) * 100, 2),
        "ratio_of_sums": round((1830 / 2060 - 1) * 100, 2),
        "mean_ratio": -40.0,
        "median_ratio": -50.0,
    }
    assert len({estimate.estimand for estimate in found.values()}) == 4


def test_a_cost_is_never_decided_before_everything_is_measured() -> None:
    rows = rows_of([costs([100] * 3, [900] * 3)] * 8)
    for measured in (0, 3, 6, len(rows) - 1):
        assert not is_decided(input_of(rows[:measured], 8, **COST))


def test_a_quality_beside_a_cost_is_shown_and_decides_nothing() -> None:
    decision = decided([CHEAPER] * 7 + [([(True, 100)] * 3, [(True, 60), (True, 60), (False, 60)])], **COST)
    shown = {estimate.estimand.split(",")[0]: estimate for estimate in decision.estimates[1:]}
    assert not any(estimate.decides for estimate in decision.estimates[1:])
    assert shown["mean difference of the resolve rate"].value == pytest.approx(-100 / 24)


def test_counts_beside_costs_stay_what_they_are() -> None:
    decision = decided([counts(3, 3, cost=0)] * 8, **COST)
    assert decision.outcome is KEEP
    assert {"improvement-too-small", "too-few-wins", "not-significant"} == blocking(decision)
