"""Two groups of runs."""

from __future__ import annotations

import math
import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.stats.two_sample import fisher_exact_fewer, permutation_lower


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_fishers_test_is_that_of_scipy(n: int, m: int, data: st.DataObject) -> None:
    from scipy.stats import fisher_exact

    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    expected = fisher_exact([[a, n - a], [b, m - b]], alternative="less").pvalue
    assert fisher_exact_fewer(a, n, b, m).p_value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("found", "expected"),
    [((0, 3, 3, 3), 1 / 20), ((3, 3, 0, 3), 1), ((1, 3, 2, 3), 0.5), ((4, 9, 9, 9), 126 / 8568), ((0, 1, 0, 1), 1)],
)
def test_fishers_test_by_hand(found: tuple[int, int, int, int], expected: float) -> None:
    assert fisher_exact_fewer(*found).p_value == pytest.approx(expected)


@pytest.mark.parametrize("counts", [(4, 3, 0, 3), (-1, 3, 0, 3), (0, 3, 4, 3), (0, 3, -1, 3)])
def test_counts_outside_of_their_group_are_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="successes"):
        fisher_exact_fewer(*counts)


numbers = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(numbers, numbers)
def test_the_permutation_test_counts_the_choices_that_sum_to_no_more(low: list[float], high: list[float]) -> None:
    pooled = [*low, *high]
    chosen = [sum(pooled[i] for i in one) <= sum(low) for one in combinations(range(len(pooled)), len(low))]
    assert permutation_lower(low, high).p_value == pytest.approx(sum(chosen) / len(chosen))


@settings(max_examples=60, deadline=None)
@given(numbers, numbers, st.data())
def test_a_lower_value_in_the_group_never_raises_it(low: list[float], high: list[float], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(low) - 1))
    lower = [value - (index == number) for index, value in enumerate(low)]
    assert permutation_lower(lower, high).p_value <= permutation_lower(low, high).p_value


def test_at_its_level_it_errs_no_more_often_than_that() -> None:
    rng, hits = random.Random(2), 0
    for _ in range(500):
        draws = [rng.gauss(0, 1) for _ in range(8)]
        hits += permutation_lower(draws[:4], draws[4:]).p_value <= 0.05
    assert hits <= 500 * 0.08


def test_large_groups_are_resampled_reproducibly_with_the_observed_one_counted() -> None:
    rng = random.Random(1)
    low, high = [rng.gauss(0, 1) for _ in range(12)], [rng.gauss(0, 1) for _ in range(12)]
    first = permutation_lower(low, high).p_value
    assert first == permutation_lower(low, high).p_value
    assert permutation_lower([-9.0] * 12, [9.0] * 12).p_value >= 1 / 20_001
    assert permutation_lower([-9.0] * 12, [9.0] * 12).p_value < 1e-3
    assert permutation_lower([1.0] * 12, [1.0] * 12).p_value == 1
    assert first + permutation_lower(high, low).p_value == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("low", "high"), [([], [1.0]), ([1.0], []), ([math.nan], [1.0]), ([1.0], [math.inf])])
def test_what_is_no_group_is_refused(low: list[float], high: list[float]) -> None:
    with pytest.raises(ValueError, match="finite values in both"):
        permutation_lower(low, high)
