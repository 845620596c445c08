"""Sample sizes and what they can show."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.stats.paired import Alternative, mcnemar_exact
from evolve.stats.power import (
    expected_maximum,
    mcnemar_power,
    mcnemar_sample_size,
    minimum_detectable_effect,
    sample_size,
    variance_components,
    winners_curse,
)
from tests.stats.reference import REFERENCE, digits

MILLER = REFERENCE["miller_sample_size"]
EFFECTS = REFERENCE["minimum_detectable_effect"]
# The references of these were rounded twice: 0.10648 to 0.1065 to 0.107, and 1.86748 (Harter 1961) to 1.8675 to 1.868.
ROUNDED_TWICE = {(100, 10): 0.10648, "20": 1.86748}
CELLS = [
    (tasks, runs, effect)
    for tasks, *effects in EFFECTS["rows"]
    for runs, effect in zip(EFFECTS["k"], effects, strict=True)
]


@pytest.mark.parametrize(("runs", "tasks"), MILLER["n_by_k"].items())
def test_the_sample_size_gives_the_reference_values(runs: str, tasks: int) -> None:
    """The reference is rounded to the nearest number of tasks; what is asked for is never less than needed."""
    size = sample_size(MILLER["delta"], None if runs == "inf" else int(runs))
    assert size.unrounded == pytest.approx(tasks, abs=0.5)
    assert size.tasks == float(size) == math.ceil(size.unrounded)
    assert (size.effect, size.alpha, size.power) == (MILLER["delta"], MILLER["alpha"], MILLER["power"])
    assert size.runs == (None if runs == "inf" else int(runs))


@pytest.mark.parametrize(("tasks", "runs", "effect"), CELLS)
def test_the_detectable_effect_gives_the_reference_values(tasks: int, runs: int, effect: float) -> None:
    found = minimum_detectable_effect(tasks, runs)
    effect = ROUNDED_TWICE.get((tasks, runs), effect)
    assert float(found) == found.effect == pytest.approx(effect, abs=digits(effect))
    assert (found.tasks, found.runs, found.alpha, found.power, found.one_sided) == (tasks, runs, 0.05, 0.8, False)


@given(
    st.integers(1, 500),
    st.one_of(st.none(), st.integers(1, 9)),
    st.floats(0.01, 0.2),
    st.floats(0.5, 0.95),
    st.booleans(),
)
@settings(deadline=None)
def test_the_sample_size_and_the_detectable_effect_invert_each_other(
    tasks: int, runs: int | None, alpha: float, power: float, one_sided: bool
) -> None:
    given_too: dict[str, Any] = {"alpha": alpha, "power": power, "one_sided": one_sided, "between_variance": 0.2}
    effect = minimum_detectable_effect(tasks, runs, **given_too).effect
    assert sample_size(effect, runs, **given_too).unrounded == pytest.approx(tasks)


def test_a_one_sided_test_is_a_two_sided_one_at_twice_the_level() -> None:
    assert sample_size(0.1, one_sided=True).unrounded == pytest.approx(sample_size(0.1, alpha=0.1).unrounded)


@pytest.mark.parametrize("effect", [0.0, math.nan, math.inf])
def test_an_effect_that_cannot_be_planned_for_is_refused(effect: float) -> None:
    with pytest.raises(ValueError, match="effect must be finite"):
        sample_size(effect)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 0.0}, "alpha and power"),
        ({"power": 1.0}, "alpha and power"),
        ({"alpha": 0.5, "power": 0.1}, "without an effect"),
        ({"runs": 0}, "one run"),
        ({"within_variance": -1.0}, "variances"),
        ({"between_variance": math.nan}, "variances"),
    ],
)
def test_impossible_plans_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample_size(**{"effect": 0.1, **wrong})
    with pytest.raises(ValueError, match=message):
        minimum_detectable_effect(**{"tasks": 10, "runs": 1, **wrong})
    with pytest.raises(ValueError, match="one task"):
        minimum_detectable_effect(0, 1)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(("p_win", "p_loss"), [(0.4, 0.1), (0.2, 0.3), (1.0, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("alpha", [0.05, 1 / 32, 1 / 64])
def test_the_power_is_the_probability_that_the_exact_test_rejects(
    p_win: float, p_loss: float, alpha: float, alternative: Alternative
) -> None:
    n, expected = 9, 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            ways = math.comb(n, wins) * math.comb(n - wins, losses)
            tied = max(0.0, 1 - p_win - p_loss) ** (n - wins - losses)
            if mcnemar_exact(wins, losses, alternative).p_value <= alpha:
                expected += ways * p_win**wins * p_loss**losses * tied
    result = mcnemar_power(n, p_win, p_loss, alpha, alternative)
    assert float(result) == result.power == pytest.approx(expected, abs=1e-12)
    assert (result.tasks, result.p_win, result.p_loss, result.alpha) == (n, p_win, p_loss, alpha)


@pytest.mark.parametrize(
    ("p_win", "p_loss", "alternative"),
    [
        (0.3, 0.1, "greater"),
        (0.3, 0.1, "two-sided"),
        (0.1, 0.3, "less"),
        (0.2, 0.0, "two-sided"),
        (1.0, 0.0, "greater"),
    ],
)
def test_the_number_of_tasks_has_the_power_and_one_fewer_has_not(
    p_win: float, p_loss: float, alternative: Alternative
) -> None:
    size = mcnemar_sample_size(p_win, p_loss, alternative=alternative)
    assert float(size) == size.tasks
    assert size.achieved == mcnemar_power(size.tasks, p_win, p_loss, alternative=alternative).power >= 0.8
    assert mcnemar_power(size.tasks - 1, p_win, p_loss, alternative=alternative).power < 0.8


def test_five_certain_wins_are_needed_at_the_level_of_five_per_cent() -> None:
    assert mcnemar_sample_size(1.0, 0.0, alternative="greater").tasks == 5
    assert mcnemar_sample_size(1.0, 0.0).tasks == 6


@pytest.mark.parametrize(("p_win", "p_loss"), [(-0.1, 0.2), (0.7, 0.4), (math.nan, 0.1)])
def test_impossible_probabilities_are_refused(p_win: float, p_loss: float) -> None:
    with pytest.raises(ValueError, match="probabilities must not"):
        mcnemar_power(10, p_win, p_loss)
    with pytest.raises(ValueError, match="probabilities must not"):
        mcnemar_sample_size(p_win, p_loss)


def test_a_negative_number_of_tasks_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        mcnemar_power(-1, 0.2, 0.1)


@pytest.mark.parametrize(
    ("p_win", "p_loss", "alternative"), [(0.2, 0.2, "two-sided"), (0.1, 0.2, "greater"), (0.2, 0.1, "less")]
)
def test_a_difference_that_no_number_of_tasks_shows_is_refused(
    p_win: float, p_loss: float, alternative: Alternative
) -> None:
    with pytest.raises(ValueError, match="direction"):
        mcnemar_sample_size(p_win, p_loss, alternative=alternative)


@pytest.mark.parametrize(("k", "value"), REFERENCE["max_of_k_normals"].items())
def test_the_expected_maximum_gives_the_reference_values(k: str, value: float) -> None:
    result = expected_maximum(int(k))
    value = ROUNDED_TWICE.get(k, value)
    assert float(result) == result.value == pytest.approx(value, abs=digits(value))
    assert result.k == int(k)
    curse = winners_curse(int(k), 0.1)
    assert float(curse) == curse.bias == pytest.approx(result.value / 10)
    assert (curse.k, curse.standard_error) == (int(k), 0.1)


def test_one_candidate_has_no_curse_and_very_many_still_have_one() -> None:
    assert expected_maximum(1).value == pytest.approx(0, abs=1e-12)
    assert winners_curse(1).bias == pytest.approx(0, abs=1e-12)
    assert expected_maximum(10**6).value == pytest.approx(4.8629, abs=1e-3)
    with pytest.raises(ValueError, match="at least one"):
        expected_maximum(0)
    with pytest.raises(ValueError, match="standard error"):
        winners_curse(2, math.inf)


def test_the_components_of_a_balanced_table_are_those_of_the_analysis_of_variance() -> None:
    """Means 1, 3 and 5; mean squares 8 between and 2 within; (8 - 2) / 2 = 3."""
    components = variance_components([[0, 2], [2, 4], [4, 6]])
    between, within = components
    assert (between, within) == (components.between, components.within) == pytest.approx((3, 2))
    assert (components.tasks, components.runs, components.within_variance) == (3, 6, 1)


def test_the_components_are_found_again_without_bias_when_numbers_of_runs_differ() -> None:
    rng = numpy.random.default_rng(3)
    found = []
    for _ in range(400):
        tasks = rng.normal(0, math.sqrt(0.5), 12)
        table = [(true + rng.normal(0, 0.6, 2 + index % 4)).tolist() for index, true in enumerate(tasks)]
        found.append(tuple(variance_components(table)))
    between, within = numpy.mean(found, axis=0)
    assert between == pytest.approx(0.5, rel=0.08)
    assert within == pytest.approx(0.36, rel=0.05)


def test_components_are_never_negative_and_defined_for_one_task_and_for_one_run() -> None:
    assert tuple(variance_components([[-1.0, 1.0], [1.0, -1.0]])) == (0, 2)
    assert tuple(variance_components([[0.0, 2.0]])) == (0, 2)
    assert tuple(variance_components([[0.0], [2.0]])) == (2, 0)
    assert tuple(variance_components([[0.7]])) == (0, 0)


@pytest.mark.parametrize("table", [[], [[]], [[0.1], []], [[0.1, math.nan]]])
def test_tables_without_numbers_are_refused(table: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"at least one task|finite"):
        variance_components(table)
