"""Whether canaries vouch for the rows that are reused."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest

from evolve.stats.drift import Canary, Measure, at_least, drift, prediction_interval, run_to_run_disagreement

STEADY = {f"t-{number}": [Measure(True, 100 + number), Measure(True, 102), Measure(True, 98)] for number in range(4)}
MIXED = {f"t-{number}": [Measure(True), Measure(False)] for number in range(6)}


def canary(reused: bool, fresh: bool, *, task: str = "t-1", cost: float | None = None) -> Canary:
    return Canary(task, Measure(reused, cost), Measure(fresh, cost))


@pytest.mark.parametrize(
    ("outcomes", "rate"),
    [
        ([], None),
        ([[True], [False]], None),
        ([[True, True], [False, False]], 0),
        ([[True, False]], 1),
        ([[True, False, True]], 2 / 3),
        ([[True, False], [True, True]], 0.5),
    ],
)
def test_disagreement_is_counted_over_pairs_of_runs_of_one_task(outcomes: list[list[bool]], rate: float | None) -> None:
    assert run_to_run_disagreement(outcomes) == (None if rate is None else pytest.approx(rate))


@pytest.mark.parametrize(("successes", "trials", "rate"), [(1, 1, 0.0), (1, 3, 0.2), (3, 3, 0.2), (2, 7, 0.5)])
def test_the_probability_is_that_of_the_exact_binomial_test(successes: int, trials: int, rate: float) -> None:
    expected = binomtest(successes, trials, rate, alternative="greater").pvalue
    assert at_least(successes, trials, rate) == pytest.approx(expected)


def test_a_repeatable_agent_may_not_differ_once() -> None:
    assert drift([canary(True, True)], MIXED, repeatable=True) is None
    reason = drift([canary(True, False)], MIXED, repeatable=True)
    assert reason == "1 of 1 canaries came out otherwise, runs of a task do never (p = 0)"


def test_an_agent_that_varies_by_itself_may_differ_as_often_as_its_runs_do() -> None:
    assert drift([canary(True, False)], MIXED, repeatable=False) is None
    rare = {**STEADY, "u": [Measure(True), Measure(False)]}
    assert drift([canary(True, False)], rare, repeatable=False) is None
    many = [canary(True, False), canary(True, False), canary(False, True)]
    assert "3 of 3 canaries came out otherwise, runs of a task do in 20% of pairs" in str(
        drift(many, rare, repeatable=False)
    )


def test_runs_that_never_differed_or_were_never_repeated_excuse_nothing() -> None:
    assert drift([canary(True, False)], STEADY, repeatable=False) is not None
    assert drift([canary(True, False)], {"t-1": [Measure(True)]}, repeatable=False) is not None


@pytest.mark.parametrize(("cost", "drifted"), [(100, False), (103, False), (96, False), (130, True), (60, True)])
def test_a_cost_outside_of_the_prediction_interval_is_drift(cost: float, drifted: bool) -> None:
    reason = drift([Canary("t-1", Measure(True, 101), Measure(True, cost))], STEADY, repeatable=True)
    assert (reason is not None) is drifted
    assert not drifted or f"a canary of t-1 cost {cost}, where its reused runs predict 9" in str(reason)


def test_costs_that_are_unknown_or_too_few_say_nothing() -> None:
    assert drift([Canary("t-1", Measure(True), Measure(True, 900))], MIXED, repeatable=True) is None
    few = {"t-1": [Measure(True, 100), Measure(True, 100)]}
    assert drift([Canary("t-1", Measure(True, 100), Measure(True, 900))], few, repeatable=True) is None
    assert drift([Canary("t-9", Measure(True, 100), Measure(True, 900))], STEADY, repeatable=True) is None


def test_costs_that_were_all_equal_may_still_move_by_five_per_cent() -> None:
    equal = {"t-1": [Measure(True, 1000)] * 4}
    assert drift([Canary("t-1", Measure(True, 1000), Measure(True, 1040))], equal, repeatable=True) is None
    assert drift([Canary("t-1", Measure(True, 1000), Measure(True, 1060))], equal, repeatable=True) is not None


def test_the_prediction_interval_is_that_of_the_textbook() -> None:
    """Five values, mean 0, deviation 1: t(4, 0.975) = 2.776, times the root of 1.2, gives 3.041."""
    low, high = prediction_interval([-1.0, 0.0, 1.0, 0.0, 0.0], 1.0, 4, 0.05)
    assert [low, high] == pytest.approx([-3.0415, 3.0415], abs=1e-3)
    assert prediction_interval([0.0], 0.0, 4, 0.05) == (-math.log(1.05), math.log(1.05))
