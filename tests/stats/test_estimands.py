"""Ratios over tasks, against a published table for which each estimand gives another answer."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.stats.estimands import (
    ESTIMANDS,
    Ratio,
    geometric_mean_ratio,
    incomparable,
    log_ratios,
    mean_difference,
    mean_ratio,
    median_ratio,
    per_task_medians,
    ratio_of_sums,
)

TABLE = Path(__file__).with_name("data") / "loc-by-arm-2026-06-18.csv"
PUBLISHED = {
    "ponytail": {
        "ratio_of_sums": "-54.2",
        "mean_ratio": "-35.4",
        "median_ratio": "-26.6",
        "geometric_mean_ratio": "-50.7",
    },
    "caveman": {
        "ratio_of_sums": "-18.2",
        "mean_ratio": "-10.3",
        "median_ratio": "-6.3",
        "geometric_mean_ratio": "-12.0",
    },
    "yagni_oneliner": {
        "ratio_of_sums": "-35.1",
        "mean_ratio": "-24.5",
        "median_ratio": "-16.3",
        "geometric_mean_ratio": "-34.0",
    },
}
CASES = [(arm, name, figure) for arm, figures in PUBLISHED.items() for name, figure in figures.items()]
NAN = math.nan
figures = st.floats(0.01, 1e6)


def lines_of(arm: str) -> list[float]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [float(row[arm]) for row in csv.DictReader(file)]


@pytest.mark.parametrize(("arm", "estimand", "published"), CASES)
def test_the_published_table_gives_four_answers(arm: str, estimand: str, published: str) -> None:
    found = ESTIMANDS[estimand](lines_of("baseline"), lines_of(arm))
    assert found.change_pct is not None
    assert f"{found.change_pct:.1f}" == published
    assert found.value is not None and found.low is not None and found.high is not None
    assert found.low < found.value < found.high
    assert (found.tasks, found.confidence, found.reason, found.comparable) == (12, 0.95, None, True)


def test_each_says_what_it_estimates_and_how_its_interval_came_about() -> None:
    found = [estimate([2, 4, 9], [1, 3, 12]) for estimate in ESTIMANDS.values()]
    assert [one.estimand for one in found] == [
        "ratio of sums",
        "geometric mean of ratios",
        "mean of ratios",
        "median of ratios",
    ]
    assert [one.interval for one in found] == [
        "BCa bootstrap over tasks",
        "t over logarithms",
        "BCa bootstrap over tasks",
        "BCa bootstrap over tasks",
    ]


def test_the_interval_of_the_geometric_mean_is_that_of_t() -> None:
    # logarithms 0, ln 2, ln 4: mean ln 2, standard error ln 2 / sqrt(3), t(0.975, 2) = 4.302652729911275
    found = geometric_mean_ratio([1, 1, 1], [1, 2, 4])
    reach = 4.302652729911275 * math.log(2) / math.sqrt(3)
    assert found.value == pytest.approx(2, rel=1e-12)
    assert found.low == pytest.approx(2 * math.exp(-reach), rel=1e-9)
    assert found.high == pytest.approx(2 * math.exp(reach), rel=1e-9)


def test_the_bootstrap_is_seeded_and_lies_within_the_tasks() -> None:
    before, after = lines_of("baseline"), lines_of("ponytail")
    assert ratio_of_sums(before, after) == ratio_of_sums(before, after)
    assert ratio_of_sums(before, after).low != ratio_of_sums(before, after, seed=1).low
    narrow, wide = (ratio_of_sums(before, after, confidence=confidence) for confidence in (0.5, 0.99))
    assert narrow.low and narrow.high and wide.low and wide.high
    assert wide.low < narrow.low < narrow.high < wide.high
    found = median_ratio(before, after)
    ratios = [new / old for old, new in zip(before, after, strict=True)]
    assert found.low is not None and found.high is not None
    assert min(ratios) <= found.low <= found.high <= max(ratios)


def test_the_bca_interval_is_that_of_scipy_on_the_pairs() -> None:
    import numpy
    from scipy.stats import bootstrap

    before, after = numpy.array(lines_of("baseline")), numpy.array(lines_of("caveman"))

    def statistic(index: numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.int64]]) -> float:
        return float(after[index].sum() / before[index].sum())

    expected = bootstrap(
        (numpy.arange(12),), statistic, vectorized=False, method="BCa", random_state=numpy.random.default_rng(3)
    ).confidence_interval
    found = ratio_of_sums(list(before), list(after))
    assert found.low == pytest.approx(float(expected.low), rel=0.02)
    assert found.high == pytest.approx(float(expected.high), rel=0.02)


def test_where_bca_gives_no_interval_the_percentiles_do_and_say_so() -> None:
    found = median_ratio([1, 1, 1, 1, 1], [1, 1, 1, 1, 2])
    assert found.interval == "percentile bootstrap over tasks"
    assert (found.value, found.low) == (1, 1)
    assert found.high is not None and found.high >= 1


@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_one_task_has_no_bounds(estimand: str) -> None:
    found = ESTIMANDS[estimand]([4], [1])
    assert (found.value, found.change_pct) == (0.25, -75)
    assert (found.low, found.high, found.interval) == (None, None, "unbounded: one task")


@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_tasks_that_agree_have_no_width(estimand: str) -> None:
    found = ESTIMANDS[estimand]([0.1, 0.3, 70], [0.3, 0.9, 210])
    assert found.value == pytest.approx(3)
    assert found.low == found.high == found.value
    assert found.interval == "no width: the tasks agree"


@pytest.mark.parametrize("estimand", ESTIMANDS)
@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ([1, None, 3], [1, 2, 3], "1 of 3 tasks have no figure before"),
        ([1, 2, 3], [None, NAN, 3], "2 of 3 tasks have no figure after"),
        ([NAN, 2], [1, 2], "1 of 2 tasks have no figure before"),
        ([1, 0, 0], [1, 2, 3], "2 of 3 tasks have a figure of zero before"),
        ([0], [0], "1 of 1 tasks have a figure of zero before"),
        ([1, -2], [1, 2], "a figure before is below zero"),
        ([1, 2], [1, -2], "a figure after is below zero"),
        ([1, math.inf], [1, 2], "a figure before is beyond what can be computed with"),
        ([1, 5e-324], [1, 2], "a figure before is beyond what can be computed with"),
        ([1, 2], [1, 1e308], "a figure after is beyond what can be computed with"),
        ([], [], "there is no task"),
    ],
)
def test_what_is_missing_is_not_comparable(
    estimand: str, before: list[float | None], after: list[float | None], reason: str
) -> None:
    found = ESTIMANDS[estimand](before, after)
    assert (found.value, found.change_pct, found.low, found.high) == (None, None, None, None)
    assert (found.reason, found.comparable, found.interval) == (reason, False, "none")


def test_a_zero_after_is_a_figure_but_has_no_logarithm() -> None:
    assert ratio_of_sums([1, 3], [0, 2]).value == 0.5
    assert mean_ratio([1, 4], [0, 2]).value == 0.25
    assert median_ratio([1, 2, 2], [0, 1, 2]).value == 0.5
    assert geometric_mean_ratio([1, 2], [0, 2]).reason == "1 of 2 tasks have a figure of zero after"


@pytest.mark.parametrize("estimate", [*ESTIMANDS.values(), mean_difference, log_ratios, incomparable])
def test_figures_of_other_tasks_are_refused(estimate: object) -> None:
    assert callable(estimate)
    with pytest.raises(ValueError, match="2 tasks before and 1 after"):
        estimate([1, 2], [1])


def test_a_wide_interval_has_no_upper_bound_rather_than_none_that_can_be_computed() -> None:
    found = geometric_mean_ratio([1, 1], [1e-100, 1e100])
    assert found.value == pytest.approx(1)
    assert (found.low, found.high) == (0, None)
    bounded = geometric_mean_ratio([1, 1], [1e-6, 1e6])
    assert bounded.high is not None and 1e70 < bounded.high < 1e80


@given(st.lists(st.tuples(figures, figures), min_size=1, max_size=8))
def test_exchanging_the_arms_inverts_the_geometric_mean_and_the_sums(pairs: list[tuple[float, float]]) -> None:
    before, after = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = geometric_mean_ratio(before, after), geometric_mean_ratio(after, before)
    assert there.value is not None and back.value is not None
    assert there.value * back.value == pytest.approx(1, rel=1e-9)
    if there.low is not None and back.high is not None:
        assert there.low * back.high == pytest.approx(1, rel=1e-6)


def test_the_mean_of_differences_has_a_paired_t_interval() -> None:
    found = mean_difference([0, 0.5, 1], [1, 0.5, 2])
    assert found.value == pytest.approx(2 / 3)
    reach = 4.302652729911275 * (1 / 3)
    assert found.low == pytest.approx(2 / 3 - reach)
    assert found.high == pytest.approx(2 / 3 + reach)
    assert (found.estimand, found.interval, found.tasks) == ("mean of differences", "paired t", 3)


def test_a_mean_of_differences_takes_zeros_and_what_is_below() -> None:
    alike = mean_difference([0, -1], [0.5, -0.5])
    assert (alike.value, alike.low, alike.high) == (0.5, 0.5, 0.5)
    assert alike.interval == "no width: the tasks agree"
    one = mean_difference([0], [0])
    assert (one.value, one.low, one.high, one.interval) == (0, None, None, "unbounded: one task")
    assert mean_difference([None], [1]).reason == "1 of 1 tasks have no figure before"
    assert mean_difference([1], [NAN]).value is None


def test_log_ratios_keep_the_place_of_what_has_none() -> None:
    found = log_ratios([1, None, 2, 0, 1, NAN, 1, math.inf], [math.e, 1, None, 1, 0, 1, NAN, 1])
    assert found[0] == pytest.approx(1)
    assert found[1:] == (None,) * 7


def test_a_median_over_runs_needs_them_all() -> None:
    runs: dict[str, list[float | None]] = {
        "odd": [3.0, 1.0, 2.0],
        "even": [1.0, 4.0],
        "gap": [1.0, None],
        "nan": [NAN, 1.0],
        "none": [],
    }
    found = per_task_medians(runs)
    assert found == {"odd": 2, "even": 2.5, "gap": None, "nan": None, "none": None}
    assert list(found) == list(runs)


def test_many_tasks_are_resampled_in_pieces() -> None:
    before = [float(1 + index % 7) for index in range(1500)]
    after = [figure * (1 + index % 3) for index, figure in enumerate(before)]
    found: Ratio = ratio_of_sums(before, after)
    assert found.value == pytest.approx(2, rel=0.01)
    assert found.low and found.high and found.high - found.low < 0.2
