"""Error rates over several tests."""

from __future__ import annotations

import math

import numpy
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from evolve.stats.multiplicity import alpha_at, benjamini_hochberg, holm, lord_alpha, spent
from tests.stats.reference import REFERENCE, digits

SPENDING = REFERENCE["alpha_spending_6_over_pi2_j2"]


def test_holm_gives_the_reference_values_in_the_order_given() -> None:
    assert holm(REFERENCE["holm"]["p"]) == pytest.approx(REFERENCE["holm"]["adjusted"])
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_value_and_keeps_their_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(raw <= new <= 1 for raw, new in zip(values, adjusted, strict=True))
    order = sorted(range(len(values)), key=lambda index: values[index])
    assert [adjusted[index] for index in order] == sorted(adjusted)


@pytest.mark.parametrize(("look", "level"), list(enumerate(SPENDING["values"], start=1)))
def test_each_look_is_granted_the_reference_level(look: int, level: float) -> None:
    assert alpha_at(look, SPENDING["alpha"]) == pytest.approx(level, abs=digits(level))


def test_all_looks_together_never_spend_more_than_alpha() -> None:
    spent = sum(alpha_at(look, 0.05) for look in range(1, 20_000))
    assert 0.0499 < spent < 0.05


@pytest.mark.parametrize("look", [0, -1])
def test_looks_are_counted_from_one(look: int) -> None:
    with pytest.raises(ValueError, match="from 1"):
        alpha_at(look, 0.05)


def test_what_is_spent_is_the_sum_of_the_levels() -> None:
    assert spent(0, 0.05) == 0
    assert spent(5, 0.05) == pytest.approx(sum(SPENDING["values"]), abs=1e-4)
    assert spent(52, 0.05) == pytest.approx(sum(alpha_at(look, 0.05) for look in range(1, 53)))
    assert spent(10_000, 0.05) < 0.05
    with pytest.raises(ValueError, match="negative"):
        spent(-1, 0.05)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_benjamini_hochberg_gives_the_values_of_scipy_in_the_order_given(values: list[float]) -> None:
    expected = list(scipy.stats.false_discovery_control(values)) if values else []
    adjusted = benjamini_hochberg(values)
    assert adjusted == pytest.approx(expected)
    assert all(raw <= new <= 1 for raw, new in zip(values, adjusted, strict=True))


def gamma(j: int) -> float:
    return lord_alpha(j, 0.5) / 0.25


def test_the_levels_without_a_rejection_add_up_to_half_of_alpha_and_not_more() -> None:
    """The tail of the sum is bounded by the integral of u exp(-sqrt(u)) from u = log n on."""
    looks = 20_000
    begun = math.fsum(lord_alpha(look, 0.05) for look in range(1, looks + 1))
    root = math.sqrt(math.log(looks))
    tail = 2 * math.exp(-root) * (root**3 + 3 * root**2 + 6 * root + 6)
    whole = begun + lord_alpha(1, 0.05) / math.log(2) * tail
    assert begun < 0.025
    assert whole == pytest.approx(0.025, rel=1e-5)


def test_the_share_of_a_look_falls_as_in_the_paper() -> None:
    for j in (1, 2, 3, 10, 52):
        expected = math.log(max(j, 2)) / (j * math.exp(math.sqrt(math.log(j))))
        assert gamma(j) / gamma(1) == pytest.approx(expected / math.log(2))


def test_a_rejection_pays_for_later_looks_and_the_first_one_pays_half() -> None:
    assert lord_alpha(7, 0.1, [3]) == pytest.approx(0.05 * gamma(7) + 0.05 * gamma(4))
    later = 0.05 * gamma(7) + 0.05 * gamma(4) + 0.1 * gamma(2) + 0.1 * gamma(1)
    assert lord_alpha(7, 0.1, [6, 3, 5]) == pytest.approx(later)


@pytest.mark.parametrize("promotions", [[0], [4], [5], [2, 2]])
def test_rejections_that_are_no_earlier_looks_are_refused(promotions: list[int]) -> None:
    with pytest.raises(ValueError, match="look of its own before"):
        lord_alpha(4, 0.05, promotions)


@pytest.mark.parametrize(("look", "alpha"), [(0, 0.05), (-1, 0.05), (1, 0.0), (1, 1.0)])
def test_a_look_below_one_and_an_impossible_level_are_refused(look: int, alpha: float) -> None:
    with pytest.raises(ValueError, match="from 1"):
        lord_alpha(look, alpha)


@pytest.mark.parametrize("better", [0.0, 0.3, 0.7])
def test_over_a_year_of_weekly_looks_few_of_the_promotions_are_false(better: float) -> None:
    rng = numpy.random.default_rng(7)
    effective = rng.random((1000, 52)) < better
    p_values = scipy.stats.norm.sf(rng.standard_normal((1000, 52)) + 3.0 * effective)
    shares, promoted = [], 0
    for stream, real in zip(p_values.tolist(), effective.tolist(), strict=True):
        promotions: list[int] = []
        for look, p_value in enumerate(stream, start=1):
            if p_value <= lord_alpha(look, 0.1, promotions):
                promotions.append(look)
        false = sum(not real[look - 1] for look in promotions)
        shares.append(false / max(1, len(promotions)))
        promoted += len(promotions) - false
    error = float(numpy.std(shares)) / math.sqrt(len(shares))
    assert sum(shares) / len(shares) <= 0.1 - 2 * error
    assert not better or promoted > 0.2 * effective.sum()
