"""A task's regression: what noise explains is measured again, and a real loss is found."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.gate.decide import decide, extra_runs_wanted
from evolve.gate.harm import Regression, verdict_on
from evolve.gate.table import Run, TaskRuns
from evolve.records.kinds import ErrorKind, Role
from evolve.records.row import Row
from tests.builders import make_policy, make_row
from tests.gate.made import (
    INSUFFICIENT,
    KEEP,
    PROMOTE,
    Task,
    blocking,
    cell_row,
    codes,
    costs,
    counts,
    decided,
    input_of,
    rows_of,
    task_rows,
)

WON = [counts(0, 3)] * 11
DOUBT = counts(2, 1)


def of_counts(incumbent: int, candidate: int, runs: int, extra: tuple[int, int, int] = (0, 0, 0)) -> TaskRuns:
    def made(resolved: int, number: int) -> tuple[Run, ...]:
        return tuple(Run(run < resolved, float(run < resolved)) for run in range(number))

    before, after = made(extra[0], extra[2]), made(extra[1], extra[2])
    return TaskRuns("t", made(incumbent, runs), made(candidate, runs), tuple(zip(before, after, strict=True)))


@pytest.mark.parametrize(
    ("task", "policy", "expected"),
    [
        (of_counts(3, 0, 3), {}, (Regression.REAL, 0)),
        (of_counts(9, 4, 9), {}, (Regression.REAL, 0)),
        (of_counts(2, 1, 3), {}, (Regression.PERHAPS, 0)),
        (of_counts(3, 1, 3), {}, (Regression.PERHAPS, 0)),
        (of_counts(2, 2, 3), {}, (Regression.NONE, 0)),
        (of_counts(2, 1, 3), {"extra_runs": 0}, (Regression.REAL, 0)),
        (of_counts(2, 1, 3), {"harm_alpha": 0.6}, (Regression.REAL, 0)),
        (of_counts(2, 1, 3), {"preset": "thresholds"}, (Regression.REAL, 0)),
        (of_counts(2, 2, 3), {"preset": "thresholds"}, (Regression.NONE, 0)),
        # After three more runs: clear, real, or still open.
        (of_counts(2, 1, 3, (2, 2, 3)), {}, (Regression.NONE, 3)),
        (of_counts(3, 1, 3, (3, 0, 3)), {}, (Regression.REAL, 3)),
        (of_counts(2, 1, 3, (2, 1, 3)), {}, (Regression.PERHAPS, 3)),
        (of_counts(2, 1, 3, (2, 1, 3)), {"extra_runs": 3}, (Regression.REAL, 3)),
        (of_counts(2, 1, 3, (1, 0, 2)), {"extra_runs": 2}, (Regression.REAL, 2)),
        # Two more runs are no round of three, and are not looked at alone.
        (of_counts(2, 1, 3, (0, 2, 2)), {}, (Regression.PERHAPS, 0)),
        # What was real after the planned runs is not diluted.
        (of_counts(3, 0, 3, (0, 9, 9)), {}, (Regression.REAL, 0)),
    ],
)
def test_what_is_said_about_a_task(task: TaskRuns, policy: dict[str, Any], expected: tuple[Regression, int]) -> None:
    verdict = verdict_on(task, make_policy(**policy))
    assert (verdict.regression, verdict.extra_runs) == expected


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_what_was_real_stays_real_whatever_is_measured_after(data: st.DataObject) -> None:
    resolved = st.integers(0, 3)
    extra = (data.draw(st.integers(0, 12)), data.draw(st.integers(0, 12)), 12)
    task = of_counts(data.draw(resolved), data.draw(resolved), 3, extra)
    alone = verdict_on(TaskRuns("t", task.incumbent, task.candidate), make_policy())
    found = verdict_on(task, make_policy())
    assert found.regression is not Regression.PERHAPS
    if alone.regression is not Regression.PERHAPS:
        assert found == alone


def test_two_equal_arms_that_both_fail_a_task_seldom_make_a_real_regression_of_its_cost() -> None:
    rng, real = random.Random(1), 0
    for _ in range(600):
        before, after = (tuple(Run(False, rng.lognormvariate(3, 0.5)) for _ in range(3)) for _ in range(2))
        found = verdict_on(TaskRuns("t", before, after), make_policy(metric="cost_usd"))
        real += found.regression is Regression.REAL
    assert real <= 600 * 0.075


def test_thresholds_takes_the_point_estimate() -> None:
    decision = decided([*WON, DOUBT], preset="thresholds")
    assert (decision.outcome, blocking(decision)) == (KEEP, {"task-regression"})
    assert decided([*WON, DOUBT], preset="thresholds", max_task_regression_pct=34).outcome is PROMOTE


def test_what_noise_explains_waits_for_more_runs_only_when_everything_else_passes() -> None:
    decision = decided([*WON, DOUBT])
    assert (decision.outcome, blocking(decision)) == (INSUFFICIENT, {"needs-extra-runs"})
    assert codes(decision)["needs-extra-runs"].tasks == ("t-11",)
    refused_otherwise: list[tuple[list[Task], dict[str, Any]]] = [
        ([counts(0, 1), *[counts(2, 2)] * 10, DOUBT], {}),
        ([*WON, counts(3, 0), DOUBT], {}),
        ([*WON, DOUBT], {"min_improvement_pct": 99}),
    ]
    for table, policy in refused_otherwise:
        refused = decided(table, **policy)
        assert refused.outcome is KEEP
        assert "needs-extra-runs" not in codes(refused)
        assert extra_runs_wanted(input_of(rows_of(table), len(table), **policy)) == {}


def with_extra(extra: list[Row], **policy: Any) -> Any:
    return decided([*WON, DOUBT], extra, **policy)


def extra_rows(incumbent: int, candidate: int, runs: int = 3, first: int = 3, task: str = "t-11") -> list[Row]:
    return task_rows(task, counts(incumbent, candidate, runs), first)


@pytest.mark.parametrize(
    ("extra", "outcome", "code", "used"),
    [
        ([], INSUFFICIENT, "needs-extra-runs", 0),
        (extra_rows(2, 2), PROMOTE, None, 3),
        (extra_rows(3, 0), KEEP, "task-regression", 3),
        (extra_rows(1, 0), INSUFFICIENT, "needs-extra-runs", 3),
        ([*extra_rows(1, 0), *extra_rows(0, 2, first=6)], PROMOTE, None, 6),
        (extra_rows(5, 2, runs=12), KEEP, "task-regression", 12),
    ],
)
def test_more_runs_clear_a_task_or_find_its_loss_or_count_in_the_end(
    extra: list[Row], outcome: Any, code: str | None, used: int
) -> None:
    decision = with_extra(extra)
    assert decision.outcome is outcome
    assert blocking(decision) == ({code} if code else set())
    assert decision.tasks[11].extra_runs == used


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["t-00", "t-11"]))
def test_more_runs_change_neither_the_estimates_nor_the_test(incumbent: int, candidate: int, task: str) -> None:
    alone, found = decided([*WON, DOUBT]), with_extra(extra_rows(incumbent, candidate, task=task))
    assert (found.test, found.estimates) == (alone.test, alone.estimates)
    for before, after in zip(alone.tasks, found.tasks, strict=True):
        assert before == after.model_copy(update={"extra_runs": before.extra_runs})


VOID = make_row("t-11", 4, role=Role.CANDIDATE, kind=ErrorKind.INFRA_ERROR)


@pytest.mark.parametrize(
    "extra",
    [
        extra_rows(2, 2, first=4),  # a gap
        [row for row in extra_rows(2, 2) if row.identity.run != 4],
        [row for row in extra_rows(2, 2) if row.role is Role.CANDIDATE],
        [row for row in extra_rows(2, 2) if row.role is Role.INCUMBENT],
        extra_rows(2, 2)[:-1],
        [VOID if (row.role, row.identity.run) == (Role.CANDIDATE, 4) else row for row in extra_rows(2, 2)],
        [*extra_rows(2, 2), extra_rows(2, 2)[0]],
        extra_rows(2, 2, task="t-99"),
    ],
)
def test_more_runs_with_a_hole_or_of_one_arm_alone_are_incomplete(extra: list[Row]) -> None:
    decision = with_extra(extra)
    assert decision.outcome is INSUFFICIENT
    assert "incomplete" in codes(decision)


def test_more_runs_than_a_policy_asks_for_are_not_asked() -> None:
    policies: list[dict[str, Any]] = [{"preset": "thresholds"}, {"extra_runs": 0}]
    for policy in policies:
        assert with_extra(extra_rows(3, 0), **policy) == with_extra([], **policy)
    assert with_extra(extra_rows(3, 9, runs=13)) == with_extra(extra_rows(3, 9, runs=12))


def test_what_is_wanted_grows_round_by_round_up_to_what_may_be() -> None:
    def wanted(extra: list[Row], **policy: Any) -> dict[str, int]:
        return extra_runs_wanted(input_of([*rows_of([*WON, DOUBT]), *extra], 12, **policy))

    assert wanted([]) == {"t-11": 3}
    assert wanted(extra_rows(1, 0)) == {"t-11": 6}
    assert wanted([], extra_runs=2) == {"t-11": 2}
    assert wanted(extra_rows(1, 0), extra_runs=4) == {"t-11": 4}
    assert wanted(extra_rows(2, 2)) == {}
    assert wanted(extra_rows(3, 0)) == {}
    assert wanted([], preset="thresholds") == {}
    assert wanted(extra_rows(1, 0)[:-1]) == {}


def test_nothing_is_wanted_where_a_cost_has_nothing_to_compare() -> None:
    table: list[Task] = [([(False, 10)] * 3, [(False, 10)] * 3)] * 8
    assert extra_runs_wanted(input_of(rows_of(table), 8, metric="cost_usd")) == {}


def test_a_cost_that_may_be_noise_is_measured_again() -> None:
    cheaper = [costs([100] * 3, [50] * 3)] * 11
    noisy = costs([50, 100, 150], [90, 130, 140])
    decision = decided([*cheaper, noisy], metric="cost_usd")
    assert (decision.outcome, blocking(decision)) == (INSUFFICIENT, {"needs-extra-runs"})
    cleared = decided([*cheaper, noisy], task_rows("t-11", costs([100] * 3, [100] * 3), 3), metric="cost_usd")
    assert cleared.outcome is PROMOTE
    real = decided([*cheaper, costs([50, 100, 110], [120, 130, 140])], metric="cost_usd")
    assert (real.outcome, blocking(real)) == (KEEP, {"task-regression"})


def test_of_equal_arms_one_noisy_task_vetoes_seldom_and_of_a_lost_one_nearly_always() -> None:
    """Runs of a task that is resolved half of the time, measured again as it is asked for."""
    rng = random.Random(5)

    def refused(rate: float) -> float:
        count = 0
        for _ in range(120):
            rows = rows_of(WON)
            runs = 0
            while True:
                first, number = (0, 3) if not runs else (runs, 3)
                cells = [
                    cell_row("t-11", first + run, role, (rng.random() < chance, 10))
                    for run in range(number)
                    for role, chance in ((Role.INCUMBENT, 0.7), (Role.CANDIDATE, rate))
                ]
                rows, runs = rows + cells, first + number
                given_ = input_of(rows, 12)
                if extra_runs_wanted(given_).get("t-11", 0) <= runs - 3:
                    break
            decision = decide(given_)
            assert decision.outcome is not INSUFFICIENT
            count += decision.outcome is KEEP
        return count / 120

    assert refused(0.7) < 0.2
    assert refused(0.1) > 0.75


def test_a_regression_that_noise_explains_is_told_with_how_often_it_was_measured_again() -> None:
    decision = with_extra(extra_rows(3, 3))
    reason = codes(decision)["regression-explained"]
    assert not reason.blocking
    assert (reason.tasks, reason.numbers["extra_runs"]) == (("t-11",), 3)
    assert "1 task looked worse than is allowed and, with up to 3 more runs of both arms, is not" in reason.text
    assert "regression-explained" not in codes(with_extra([]))
