"""Paired tests, against values that were computed independently."""

from __future__ import annotations

import itertools
import math

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.stats import intervals, paired
from evolve.stats.paired import Alternative, mcnemar_exact, mcnemar_midp, paired_t, sign_flip, wilcoxon
from tests.stats.reference import REFERENCE, digits

ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")

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
    assert mcnemar_exact(losses, wins, "less").p_value == pytest.approx(result.p_value)


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
    differences = [0.1] * 14 + [-0.1] * 8
    exact = mcnemar_exact(14, 8, "greater").p_value
    result = sign_flip(differences, "greater", seed=1)
    assert result == sign_flip(differences, "greater", seed=1)
    assert result != sign_flip(differences, "greater", seed=2)
    assert result.p_value == pytest.approx(exact, abs=0.005)
    assert sign_flip(differences).p_value == pytest.approx(mcnemar_exact(14, 8).p_value, abs=0.005)
    assert sign_flip(differences, "less").p_value == pytest.approx(mcnemar_exact(14, 8, "less").p_value, abs=0.005)
    assert 0 < sign_flip([0.1] * 40, "greater").p_value < 1e-4
    assert not result.exact and sign_flip(differences[:20]).exact


@pytest.mark.parametrize(("wins", "losses"), [(14, 8), (30, 31), (120, 80), (0, 60), (900, 700)])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_sign_flip_of_any_number_of_passes_and_failures_is_mcnemars_test(
    wins: int, losses: int, alternative: Alternative
) -> None:
    result = sign_flip([3] * wins + [-3.0] * losses, alternative)
    assert result.exact
    assert result.p_value == pytest.approx(mcnemar_exact(wins, losses, alternative).p_value, rel=1e-9)


def test_a_p_value_too_small_to_be_written_is_not_zero() -> None:
    assert 0 < sign_flip([1.0] * 3000, "greater").p_value < 1e-300


def test_integers_beyond_the_lattice_are_resampled() -> None:
    spread = [10_000 + number for number in range(21)]
    assert not sign_flip(spread, "greater").exact
    assert sign_flip([10_000] * 21, "greater").p_value == 0.5**21


@given(st.lists(st.integers(-9, 9), max_size=12), st.sampled_from(ALTERNATIVES))
@settings(deadline=None)
def test_the_distribution_over_sums_agrees_with_enumeration(values: list[int], alternative: Alternative) -> None:
    exact = sign_flip(values, alternative)
    assert exact.exact
    assert exact.p_value == pytest.approx(sign_flip([value / 7 for value in values], alternative).p_value, abs=1e-12)


@given(st.lists(st.integers(-5, 5), max_size=30), st.integers(1, 9), st.sampled_from(ALTERNATIVES))
@settings(deadline=None)
def test_scaling_integers_changes_nothing(values: list[int], factor: int, alternative: Alternative) -> None:
    assert sign_flip([factor * value for value in values], alternative) == sign_flip(values, alternative)


@given(st.lists(st.integers(-5, 5), max_size=30))
@settings(deadline=None)
def test_both_sides_together_are_certain_and_mirror_each_other(values: list[int]) -> None:
    for test in (sign_flip, wilcoxon):
        greater, less = test(values, "greater").p_value, test(values, "less").p_value
        assert greater + less >= 1 - 1e-12
        assert less == test([-value for value in values], "greater").p_value
        assert test(values).p_value == pytest.approx(min(1, 2 * min(greater, less)), rel=1e-9)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=16), st.data(), st.sampled_from([1.0, 0.3]))
@settings(deadline=None)
def test_raising_a_difference_never_raises_the_p_value(values: list[int], data: st.DataObject, unit: float) -> None:
    index = data.draw(st.integers(0, len(values) - 1))
    raised = [value + data.draw(st.integers(1, 4)) * (position == index) for position, value in enumerate(values)]
    before, after = ([unit * value for value in given] for given in (values, raised))
    assert sign_flip(after, "greater").p_value <= sign_flip(before, "greater").p_value + 1e-12


def test_huge_and_tiny_differences_give_no_overflow() -> None:
    assert sign_flip([1.7e308, 1.6e308, 1.5e308], "greater").p_value == 0.125
    assert sign_flip([5e-324, 1e-323, 2e-323], "greater").p_value == 0.125


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    for test in (sign_flip, wilcoxon, paired_t):
        with pytest.raises(ValueError, match="finite"):
            test([0.1, value])


@pytest.mark.parametrize(("wins", "losses"), [(0, 4), (1, 8), (8, 1), (5, 12), (6, 6)])
def test_the_mid_p_value_counts_half_of_what_is_as_extreme(wins: int, losses: int) -> None:
    n = wins + losses
    chance = [math.comb(n, count) / 2**n for count in range(n + 1)]
    greater = sum(chance[wins + 1 :]) + chance[wins] / 2
    assert mcnemar_midp(wins, losses, "greater").p_value == pytest.approx(greater)
    assert mcnemar_midp(wins, losses, "less").p_value == pytest.approx(1 - greater)
    far = abs(wins - n / 2)
    both = sum(p * (0.5 if abs(k - n / 2) == far else abs(k - n / 2) > far) for k, p in enumerate(chance))
    result = mcnemar_midp(wins, losses)
    assert result.p_value == pytest.approx(both)
    assert (result.test, result.alternative, result.exact) == ("mcnemar_midp", "two-sided", False)


def test_the_mid_p_value_of_ties_says_nothing_and_negative_counts_are_refused() -> None:
    assert mcnemar_midp(0, 0).p_value == mcnemar_midp(0, 0, "greater").p_value == 1
    with pytest.raises(ValueError, match="negative"):
        mcnemar_midp(-1, 2)


def test_wilcoxon_gives_the_reference_value() -> None:
    result = wilcoxon(VECTOR["d"])
    assert (result.p_value, result.exact, result.test) == (VECTOR["wilcoxon_p"], True, "wilcoxon")


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=12, unique_by=abs), st.sampled_from(ALTERNATIVES))
@settings(deadline=None)
def test_wilcoxon_without_ties_is_the_test_of_scipy(values: list[int], alternative: Alternative) -> None:
    values = [value for value in values if value]
    if values:
        expected = scipy.stats.wilcoxon(values, alternative=alternative, method="exact").pvalue
        assert wilcoxon(values, alternative).p_value == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(-3, 3), max_size=9))
def test_wilcoxon_enumerates_the_signs_of_tied_ranks(values: list[int]) -> None:
    values = [value for value in values if value]
    ranks = scipy.stats.rankdata([abs(value) for value in values])
    observed = sum(rank for rank, value in zip(ranks, values, strict=True) if value > 0)
    sums = [sum(itertools.compress(ranks, signs)) for signs in itertools.product([0, 1], repeat=len(values))]
    expected = sum(value >= observed for value in sums) / len(sums)
    assert wilcoxon([0.1 * value for value in [*values, 0]], "greater").p_value == pytest.approx(expected, abs=1e-12)


def test_magnitudes_that_differ_in_the_last_digit_alone_are_tied() -> None:
    assert 0.1 * 3 != 0.3
    noisy = [0.1 * 3, 0.3, -0.3, 0.5, -(0.1 * 3), 0.7]
    assert wilcoxon(noisy, "greater") == wilcoxon([3, 3, -3, 5, -3, 7], "greater")
    assert wilcoxon([0.1 * 3, -0.3], "greater").p_value == wilcoxon([-(0.1 * 3), 0.3], "greater").p_value == 0.75


def test_wilcoxon_of_very_many_differences_is_the_normal_approximation() -> None:
    values = [(-1) ** (number % 3 == 0) * (number % 50 + 1) for number in range(600)]
    for alternative in ALTERNATIVES:
        expected = scipy.stats.wilcoxon(values, alternative=alternative, method="approx").pvalue
        result = wilcoxon(values, alternative)
        assert not result.exact
        assert result.p_value == pytest.approx(expected, rel=1e-9)


def test_ties_alone_give_a_p_value_of_one() -> None:
    for zeros in ([], [0.0], [0.0] * 30):
        assert wilcoxon(zeros).p_value == wilcoxon(zeros, "less").p_value == 1
        assert sign_flip(zeros, "less").p_value == 1
    assert paired_t([0.0, 0.0]).p_value == paired_t([0.0] * 5, "greater").p_value == 1


def test_the_t_test_gives_the_reference_values() -> None:
    result = paired_t(VECTOR["d"])
    assert result.statistic == pytest.approx(VECTOR["t"], abs=digits(VECTOR["t"]))
    assert result.p_value == pytest.approx(VECTOR["p_t_two_sided"], abs=digits(VECTOR["p_t_two_sided"]))
    assert result.mean == pytest.approx(VECTOR["mean"], abs=1e-12)
    assert result.standard_error == pytest.approx(VECTOR["se"], abs=digits(VECTOR["se"]))
    assert (result.degrees_of_freedom, result.alternative) == (9, "two-sided")
    assert paired_t(VECTOR["d"], "greater").p_value == pytest.approx(result.p_value / 2)
    assert paired_t(VECTOR["d"], "less").p_value == pytest.approx(1 - result.p_value / 2)


def test_the_t_test_of_equal_differences_is_certain_and_of_one_says_nothing() -> None:
    for equal in ([0.1] * 3, [0.1] * 10):
        result = paired_t(equal)
        assert (result.statistic, result.p_value, result.mean, result.standard_error) == (math.inf, 0, 0.1, 0)
        assert (paired_t(equal, "greater").p_value, paired_t(equal, "less").p_value) == (0, 1)
    one = paired_t([0.3], "greater")
    assert (one.statistic, one.p_value, one.mean, one.standard_error) == (0, 1, 0.3, math.inf)
    with pytest.raises(ValueError, match="at least one"):
        paired_t([])


def test_the_intervals_are_offered_beside_the_tests() -> None:
    assert set(paired.__all__) == {name for name in vars(paired) if name in paired.__all__}
    for name in ("Interval", "wilson_interval", "clopper_pearson_interval", "paired_t_interval", "bootstrap_bca"):
        assert getattr(paired, name) is getattr(intervals, name)
