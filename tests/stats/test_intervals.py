"""Intervals and standard errors, against values that were computed independently."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.stats.intervals import (
    Interval,
    bootstrap_bca,
    clopper_pearson_interval,
    clustered_standard_error,
    paired_t_interval,
    wilson_interval,
)
from tests.stats.reference import REFERENCE, digits

VECTOR = REFERENCE["paired_vector"]
CLUSTERED = REFERENCE["clustered_se"]
CLUSTERS = [index // CLUSTERED["cluster_size"] for index in range(len(CLUSTERED["x"]))]
SKEWED = [0.0, 0.1, 0.15, 0.2, 0.3, 0.4, 0.9, 2.5, 0.25, 0.05]


def ratio(after: Any, before: Any) -> float:
    return float(after.sum() / before.sum())


@pytest.mark.parametrize(("successes", "n", "low", "high"), REFERENCE["wilson95"])
def test_wilson_gives_the_reference_intervals(successes: int, n: int, low: float, high: float) -> None:
    interval = wilson_interval(successes, n)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5.001e-5)
    assert (interval.estimate, interval.confidence, interval.method) == (successes / n, 0.95, "wilson")


@pytest.mark.parametrize(("successes", "n"), [(17, 20), (5, 5), (0, 10), (45, 50)])
def test_clopper_pearson_leaves_half_of_the_error_on_each_side(successes: int, n: int) -> None:
    interval = clopper_pearson_interval(successes, n, 0.9)
    assert (interval.estimate, interval.confidence, interval.method) == (successes / n, 0.9, "clopper-pearson")
    at_low = scipy.stats.binom.sf(successes - 1, n, interval.low)
    at_high = scipy.stats.binom.cdf(successes, n, interval.high)
    assert at_low == pytest.approx(0.05) if successes else interval.low == 0
    assert at_high == pytest.approx(0.05) if successes < n else interval.high == 1


@pytest.mark.parametrize("interval", [wilson_interval, clopper_pearson_interval])
@pytest.mark.parametrize(("successes", "n"), [(0, 0), (-1, 3), (4, 3)])
def test_impossible_counts_are_refused(interval: Any, successes: int, n: int) -> None:
    with pytest.raises(ValueError, match="needs"):
        interval(successes, n)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, math.nan])
def test_a_confidence_outside_of_zero_to_one_is_refused(confidence: float) -> None:
    for interval in (wilson_interval, clopper_pearson_interval):
        with pytest.raises(ValueError, match="between 0 and 1"):
            interval(1, 2, confidence)
    with pytest.raises(ValueError, match="between 0 and 1"):
        paired_t_interval([0.1, 0.2], confidence)
    with pytest.raises(ValueError, match="between 0 and 1"):
        bootstrap_bca([0.1, 0.2], confidence=confidence)


def test_the_t_interval_gives_the_reference_interval() -> None:
    interval = paired_t_interval(VECTOR["d"])
    assert interval.estimate == pytest.approx(VECTOR["mean"], abs=1e-12)
    assert (interval.low, interval.high) == pytest.approx(VECTOR["ci95_t"], abs=5.001e-6)


def test_the_t_interval_of_one_difference_is_unbounded_and_of_equal_ones_has_no_width() -> None:
    one = paired_t_interval([0.25])
    assert (one.estimate, one.low, one.high) == (0.25, -math.inf, math.inf)
    for count in (3, 6, 10):
        equal = paired_t_interval([0.1] * count)
        assert (equal.low, equal.estimate, equal.high) == (0.1, 0.1, 0.1)


@pytest.mark.parametrize("values", [[], [0.1, math.nan], [0.1, math.inf], [-math.inf]])
def test_no_values_and_values_that_are_not_finite_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one finite"):
        paired_t_interval(values)
    with pytest.raises(ValueError, match=r"at least one|finite"):
        bootstrap_bca(values)
    with pytest.raises(ValueError, match=r"at least one|finite"):
        clustered_standard_error(values, list(range(len(values))))


@given(st.lists(st.integers(-4, 4).map(lambda value: value / 4), min_size=2, max_size=12))
@settings(deadline=None)
def test_a_higher_confidence_never_gives_a_narrower_interval(differences: list[float]) -> None:
    narrow, wide = paired_t_interval(differences, 0.9), paired_t_interval(differences, 0.99)
    assert wide.low <= narrow.low <= narrow.estimate <= narrow.high <= wide.high


def test_the_clustered_error_gives_the_reference_values() -> None:
    error = clustered_standard_error(CLUSTERED["x"], CLUSTERS)
    assert float(error) == error.value == pytest.approx(CLUSTERED["clustered"], abs=digits(CLUSTERED["clustered"]))
    assert (error.mean, error.clusters, error.n, error.small_sample) == (CLUSTERED["mean"], 4, 12, False)
    corrected = clustered_standard_error(CLUSTERED["x"], CLUSTERS, small_sample=True)
    expected = CLUSTERED["clustered_small_sample"]
    assert corrected.value == pytest.approx(expected, abs=digits(expected))


def test_clusters_of_one_value_each_have_the_usual_error() -> None:
    values = CLUSTERED["x"]
    naive = clustered_standard_error(values, range(len(values)), small_sample=True).value
    assert naive == pytest.approx(CLUSTERED["naive_sd"], abs=digits(CLUSTERED["naive_sd"]))
    naive = clustered_standard_error(values, range(len(values))).value
    assert naive == pytest.approx(CLUSTERED["naive_binomial"], abs=digits(CLUSTERED["naive_binomial"]))


def test_one_cluster_tells_nothing_and_equal_values_do_not_vary() -> None:
    assert clustered_standard_error([0.1, 0.4], ["a", "a"]).value == math.inf
    assert clustered_standard_error([0.1], ["a"], small_sample=True).value == math.inf
    assert clustered_standard_error([0.1] * 6, "aabbcc").value == 0
    with pytest.raises(ValueError, match="a cluster for each"):
        clustered_standard_error([0.1], ["a", "b"])


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_the_bootstrap_interval_is_that_of_scipy(statistic: Any) -> None:
    import numpy

    interval = bootstrap_bca(SKEWED, statistic, 0.9, seed=5, resamples=2000)
    function: Any = {"mean": numpy.mean, "median": numpy.median}[statistic]
    rng = numpy.random.default_rng(5)
    expected: Any = scipy.stats.bootstrap(
        (numpy.array(SKEWED),), function, confidence_level=0.9, n_resamples=2000, random_state=rng
    ).confidence_interval
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    assert interval.estimate == pytest.approx(float(function(SKEWED)))
    assert (interval.confidence, interval.method) == (0.9, "bootstrap BCa")


def test_the_bootstrap_is_seeded_and_leans_towards_the_long_tail() -> None:
    interval = bootstrap_bca(SKEWED)
    assert interval == bootstrap_bca(SKEWED) != bootstrap_bca(SKEWED, seed=1)
    assert interval.high - interval.estimate > 1.5 * (interval.estimate - interval.low) > 0


def test_several_sequences_are_resampled_together() -> None:
    before = [float(number) for number in range(1, 31)]
    after = [value * (0.8 + 0.01 * (number % 3)) for number, value in enumerate(before)]
    interval = bootstrap_bca((after, before), ratio, resamples=1000)
    assert interval.method == "bootstrap BCa"
    assert interval.estimate == pytest.approx(sum(after) / sum(before))
    assert 0.8 < interval.low < interval.estimate < interval.high < 0.82
    exactly = bootstrap_bca(([value / 2 for value in before], before), ratio, resamples=200)
    assert (exactly.low, exactly.high) == pytest.approx((0.5, 0.5))


def test_several_sequences_need_a_function_and_one_length() -> None:
    with pytest.raises(ValueError, match="function of them all"):
        bootstrap_bca(([0.1, 0.2], [0.3, 0.4]))
    with pytest.raises(ValueError, match="as many in each"):
        bootstrap_bca(([0.1, 0.2], [0.3]), ratio)


def test_the_bootstrap_of_one_task_is_unbounded_and_of_equal_ones_has_no_width() -> None:
    assert bootstrap_bca([0.3]) == Interval(0.3, -math.inf, math.inf, 0.95, "bootstrap BCa")
    equal = bootstrap_bca([0.3] * 7)
    assert (equal.low, equal.high) == pytest.approx((0.3, 0.3))
    assert bootstrap_bca(([2.0] * 4, [4.0] * 4), ratio).low == 0.5


def test_where_the_correction_is_undefined_the_percentiles_stand_in_and_say_so() -> None:
    interval = bootstrap_bca([0.0] * 9 + [1.0], "median")
    assert interval.method == "bootstrap percentile"
    assert (interval.low, interval.high) == (0, 0)


@pytest.mark.parametrize("before", [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
def test_a_statistic_that_is_not_finite_is_refused(before: Sequence[float]) -> None:
    with pytest.raises(ValueError, match=r"statistic of .* must be finite"):
        bootstrap_bca(([0.1, 0.2, 0.3], before), ratio)
