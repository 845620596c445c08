"""Paired tests and intervals, against values that were computed independently."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.stats.paired import mcnemar_exact, paired_t_interval, sign_flip, wilson_interval
from tests.stats.reference import REFERENCE, digits

VECTOR = REFERENCE["paired_vector"]


@pytest.mark.parametrize(("wins", "losses", "p"), REFERENCE["mcnemar_exact_two_sided"]["values"])
def test_mcnemar_two_sided_gives_the_reference_values(wins: int, losses: int, p: float) -> None:
    assert mcnemar_exact(wins, losses).p_value == pytest.approx(p, abs=digits(p))
    assert mcnemar_exact(losses, wins).p_value == pytest.approx(p, abs=digits(p))


@pytest.mark.parametrize(("wins", "losses", "p"), REFERENCE["mcnemar_exact_one_sided"]["values"])
def test_mcnemar_one_sided_gives_the_reference_values(wins: int, losses: int, p: float) -> None:
    result = mcnemar_exact(wins, losses, "greater")
    assert result.p_value == pytest.approx(p, abs=digits(p))
    assert (result.test, result.alternative) == ("mcnemar_exact", "greater")


def test_mcnemar_without_discordant_pairs_says_nothing() -> None:
    assert mcnemar_exact(0, 0).p_value == mcnemar_exact(0, 0, "greater").p_value == 1


@pytest.mark.parametrize(("wins", "losses"), [(-1, 0), (0, -1)])
def test_mcnemar_refuses_negative_counts(wins: int, losses: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(wins, losses)


def test_sign_flip_gives_the_reference_value() -> None:
    assert sign_flip(VECTOR["d"]).p_value == VECTOR["sign_flip_exact_p_two_sided"]


@given(st.lists(st.integers(-3, 3), max_size=7))
def test_sign_flip_is_the_share_of_sign_patterns_at_least_as_extreme(thirds: list[int]) -> None:
    sums = [sum(p) for p in itertools.product(*[(-v, v) for v in thirds])]
    greater = sum(value >= sum(thirds) for value in sums) / len(sums)
    both = sum(abs(value) >= abs(sum(thirds)) for value in sums) / len(sums)
    differences = [value / 3 for value in thirds]
    assert sign_flip(differences, "greater").p_value == pytest.approx(greater, abs=1e-12)
    assert sign_flip(differences).p_value == pytest.approx(both, abs=1e-12)


def test_sign_flip_of_equal_signs_is_half_to_the_number_of_differences() -> None:
    for count in (1, 5, 12, 20):
        assert sign_flip([0.1] * count, "greater").p_value == 0.5**count
        assert sign_flip([0.1] * count + [0.0] * 9, "greater").p_value == 0.5**count


def test_a_single_flip_has_a_p_value_of_one_half() -> None:
    n = REFERENCE["single_flip"]["n"]
    assert sign_flip([1.0] + [0.0] * (n - 1), "greater").p_value == 0.5


def test_sign_flip_of_nothing_says_nothing() -> None:
    assert sign_flip([]).p_value == sign_flip([0.0, 0.0], "greater").p_value == 1


def test_beyond_twenty_differences_the_resampled_value_is_seeded_close_and_never_zero() -> None:
    differences = [1.0] * 14 + [-1.0] * 8
    exact = mcnemar_exact(14, 8, "greater").p_value
    result = sign_flip(differences, "greater", seed=1)
    assert result == sign_flip(differences, "greater", seed=1)
    assert result != sign_flip(differences, "greater", seed=2)
    assert result.p_value == pytest.approx(exact, abs=0.005)
    assert sign_flip(differences).p_value == pytest.approx(mcnemar_exact(14, 8).p_value, abs=0.005)
    assert 0 < sign_flip([1.0] * 40, "greater").p_value < 1e-4


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        sign_flip([0.1, value])
    with pytest.raises(ValueError, match="finite"):
        paired_t_interval([0.1, value])


@pytest.mark.parametrize(("successes", "n", "low", "high"), REFERENCE["wilson95"])
def test_wilson_gives_the_reference_intervals(successes: int, n: int, low: float, high: float) -> None:
    interval = wilson_interval(successes, n)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5.001e-5)
    assert (interval.estimate, interval.confidence, interval.method) == (successes / n, 0.95, "wilson")


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (-1, 3), (4, 3)])
def test_wilson_refuses_impossible_counts(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match="needs"):
        wilson_interval(successes, n)


def test_the_t_interval_gives_the_reference_interval() -> None:
    interval = paired_t_interval(VECTOR["d"])
    assert interval.estimate == pytest.approx(VECTOR["mean"], abs=1e-12)
    assert (interval.low, interval.high) == pytest.approx(VECTOR["ci95_t"], abs=5.001e-6)


def test_the_t_interval_of_one_difference_is_unbounded_and_of_equal_ones_has_no_width() -> None:
    one = paired_t_interval([0.25])
    assert (one.estimate, one.low, one.high) == (0.25, -math.inf, math.inf)
    equal = paired_t_interval([0.5, 0.5, 0.5])
    assert (equal.low, equal.high) == (0.5, 0.5)
    with pytest.raises(ValueError, match="at least one"):
        paired_t_interval([])


@given(st.lists(st.integers(-4, 4).map(lambda value: value / 4), min_size=2, max_size=12))
@settings(deadline=None)
def test_a_higher_confidence_never_gives_a_narrower_interval(differences: list[float]) -> None:
    narrow, wide = paired_t_interval(differences, 0.9), paired_t_interval(differences, 0.99)
    assert wide.low <= narrow.low <= narrow.estimate <= narrow.high <= wide.high
