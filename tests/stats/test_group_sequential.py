"""A sign-flip test in stages that may stop at each."""

from __future__ import annotations

import itertools
import math

import numpy
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evolve.stats.group_sequential import Spending, group_sequential_sign_flip
from evolve.stats.paired import sign_flip

SPENDINGS: tuple[Spending, ...] = ("linear", "obrien_fleming")


def first_rejections(magnitudes: list[float], stages: list[int], alpha: float, spending: Spending) -> list[int | None]:
    return [
        group_sequential_sign_flip(values, stages, alpha, spending).rejected_at
        for values in itertools.product(*[(-m, m) for m in magnitudes])
    ]


@given(st.data(), st.sampled_from(SPENDINGS), st.sampled_from([0.05, 0.125, 0.3]))
@settings(deadline=None, max_examples=25)
def test_over_all_signs_each_stage_stays_within_what_is_granted(
    data: st.DataObject, spending: Spending, alpha: float
) -> None:
    magnitudes = [float(value) for value in data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=8))]
    middle = data.draw(st.sets(st.integers(1, len(magnitudes) - 1), max_size=3))
    stages = [*sorted(middle), len(magnitudes)]
    rejected = first_rejections(magnitudes, stages, alpha, spending)
    for number, size in enumerate(stages, start=1):
        share = size / len(magnitudes)
        granted = alpha * share
        if spending == "obrien_fleming":
            granted = 2 * scipy.stats.norm.sf(scipy.stats.norm.isf(alpha / 2) / math.sqrt(share))
        by_now = sum(at is not None and at <= number for at in rejected) / len(rejected)
        assert by_now <= granted + 1e-12
        spent = group_sequential_sign_flip(magnitudes, stages, alpha, spending).stages[number - 1].spent
        assert by_now == pytest.approx(spent, abs=1e-12)


@pytest.mark.parametrize("spending", SPENDINGS)
def test_the_boundary_is_the_lowest_that_is_granted(spending: Spending) -> None:
    """Sums over six signs: 6, 4, 2, ... with 1, 6, 15, ... of 64; at level 0.125 seven of them may cross."""
    result = group_sequential_sign_flip([1] * 5 + [-1], [6], 0.125, spending)
    assert result.rejected_at == 1
    assert (result.stages[0].level, result.stages[0].spent) == (7 / 64, 7 / 64)
    assert group_sequential_sign_flip([1] * 4 + [-1] * 2, [6], 0.125, spending).rejected_at is None
    assert group_sequential_sign_flip([1] * 5 + [-1], [6], 7 / 64, spending).rejected_at == 1


def test_the_error_over_all_signs_holds_for_magnitudes_that_are_no_integers() -> None:
    magnitudes = [0.3, 0.1, 0.2, 0.25, 0.3, 0.15]
    rejected = first_rejections(magnitudes, [3, 5, 6], 0.2, "linear")
    # The boundary is resampled, so a sum at its very edge may fall on either side: one of 64 patterns.
    assert 0.1 < sum(at is not None for at in rejected) / len(rejected) <= 0.2 + 1 / 64


@pytest.mark.parametrize("seed", [0, 1])
def test_resampled_stages_agree_with_the_exact_ones(seed: int) -> None:
    rng = numpy.random.default_rng(seed)
    whole = (rng.integers(-4, 6, 40)).tolist()
    exact = group_sequential_sign_flip(whole, [10, 20, 40], 0.1)
    other = group_sequential_sign_flip([value / 7 for value in whole], [10, 20, 40], 0.1, seed=seed)
    assert exact.exact and not other.exact
    for one, two in zip(exact.stages, other.stages, strict=True):
        assert two.p_value == pytest.approx(one.p_value, abs=0.005)
        assert two.level == pytest.approx(one.level, abs=0.012)
        assert two.spent == pytest.approx(one.spent, abs=0.012)
        assert two.spent <= 0.1 * two.differences / 40


@given(st.lists(st.integers(-3, 3), min_size=4, max_size=40), st.sampled_from(SPENDINGS))
@example([1] * 12, "linear")
@settings(deadline=None)
def test_a_stage_rejects_when_its_sign_flip_value_reaches_its_level(values: list[int], spending: Spending) -> None:
    stages = [len(values) // 2, len(values)]
    result = group_sequential_sign_flip(values, stages, 0.1, spending)
    reached = [stage.p_value <= stage.level for stage in result.stages]
    assert result.rejected_at == (reached.index(True) + 1 if True in reached else None)
    assert [stage.rejected for stage in result.stages] == [n + 1 == result.rejected_at for n in range(2)]
    for stage in result.stages:
        assert stage.p_value == pytest.approx(sign_flip(values[: stage.differences], "greater").p_value, abs=1e-12)


@pytest.mark.parametrize("unit", [1, 0.1])
def test_later_differences_leave_the_earlier_stages_as_they_were(unit: float) -> None:
    values = [unit * sign for sign in (1, 1, 1, -1, 1, 1, 1, 1, -1, 1, 1, 1)]
    whole = group_sequential_sign_flip(values, [4, 8, 12], 0.1)
    for seen, stages in ((3, 0), (4, 1), (9, 2), (12, 3)):
        interim = group_sequential_sign_flip(values[:seen], [4, 8, 12], 0.1)
        assert interim.stages == whole.stages[:stages]
    assert (whole.alpha, whole.spending, whole.exact) == (0.1, "linear", unit == 1)


def test_the_cautious_spending_leaves_nearly_all_for_the_last_stage() -> None:
    linear, cautious = (group_sequential_sign_flip([1] * 60, [20, 40, 60], 0.05, s) for s in SPENDINGS)
    assert cautious.stages[0].spent < 0.001 < linear.stages[0].spent <= 0.05 / 3
    assert cautious.stages[2].level > linear.stages[2].level
    others = group_sequential_sign_flip([0.1] * 60, [20, 40, 60])
    assert [stage.rejected for stage in others.stages] == [True, False, False]
    for result in (linear, cautious):
        assert result.rejected_at == 1
        assert 0.03 < result.stages[2].spent <= 0.05


def test_ties_and_nothing_reject_nowhere() -> None:
    ties = group_sequential_sign_flip([0.0] * 6, [3, 6])
    assert ties.rejected_at is None and ties.exact
    assert [(stage.p_value, stage.level) for stage in ties.stages] == [(1, 0), (1, 0)]
    assert group_sequential_sign_flip([], [3]).stages == ()


@pytest.mark.parametrize("stages", [[], [0, 2], [2, 2], [3, 2]])
def test_stages_that_do_not_rise_are_refused(stages: list[int]) -> None:
    with pytest.raises(ValueError, match="must rise"):
        group_sequential_sign_flip([], stages)


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(ValueError, match="more differences"):
        group_sequential_sign_flip([1, 1, 1], [2])
    with pytest.raises(ValueError, match="alpha"):
        group_sequential_sign_flip([1], [2], 1.0)
    with pytest.raises(ValueError, match="finite"):
        group_sequential_sign_flip([math.nan], [2])
