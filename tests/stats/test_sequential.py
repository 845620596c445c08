"""Evidence that may be looked at at any time."""

from __future__ import annotations

import itertools
import math
import sys

import numpy
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.stats.paired import sign_flip
from evolve.stats.sequential import (
    BettingProcess,
    conditional_power,
    confidence_sequence,
    mixture_e_value,
    sign_symmetric_e_value,
)
from tests.stats.reference import REFERENCE, digits

bounded = st.lists(st.integers(-4, 4).map(lambda value: value / 4), min_size=1, max_size=30)


@pytest.mark.parametrize(("wins", "losses", "e_value"), REFERENCE["e_value_mixture"]["values"])
def test_the_mixture_gives_the_reference_values(wins: int, losses: int, e_value: float) -> None:
    result = mixture_e_value(wins, losses)
    assert float(result) == result.e_value == pytest.approx(e_value, abs=digits(e_value))
    assert result.log_e_value == pytest.approx(math.log(result.e_value))
    assert (result.wins, result.losses, result.method) == (wins, losses, "beta mixture")


@given(st.integers(0, 30), st.integers(0, 30))
@settings(deadline=None)
def test_the_mixture_is_the_formula_of_the_reference(wins: int, losses: int) -> None:
    posterior = scipy.stats.beta.sf(0.5, wins + 1, losses + 1)
    expected = 2.0 ** (wins + losses + 1) * scipy.special.beta(wins + 1, losses + 1) * posterior
    assert mixture_e_value(wins, losses).e_value == pytest.approx(float(expected))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 12])
def test_the_mixture_has_a_mean_of_one_over_all_sign_patterns(n: int) -> None:
    mean = sum(math.comb(n, wins) * mixture_e_value(wins, n - wins).e_value for wins in range(n + 1)) / 2**n
    assert mean == pytest.approx(1)


def test_ten_thousand_wins_or_losses_neither_overflow_nor_vanish() -> None:
    won, lost = mixture_e_value(10_000, 0), mixture_e_value(0, 10_000)
    assert won.e_value == sys.float_info.max
    assert won.log_e_value == pytest.approx(10_001 * math.log(2) - math.log(10_001))
    assert lost.e_value == pytest.approx(1 / 10_001)
    assert sign_symmetric_e_value([1.0] * 5000).e_value == sys.float_info.max
    assert BettingProcess.of([1.0] * 5000).e_value == BettingProcess.of([1.0] * 5000).peak == sys.float_info.max


@pytest.mark.parametrize(("wins", "losses"), [(-1, 0), (0, -1)])
def test_negative_counts_are_refused(wins: int, losses: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        mixture_e_value(wins, losses)


@pytest.mark.parametrize("magnitudes", [[1.0], [0.2, 1.0, 0.5], [1.0, 0.1, 0.1, 3.0, 0.7, 40.0], [0.0, 1.0]])
def test_the_sign_symmetric_value_has_a_mean_of_one_given_the_magnitudes(magnitudes: list[float]) -> None:
    for seen in range(len(magnitudes) + 1):
        patterns = list(itertools.product(*[(-m, m) for m in magnitudes[:seen]]))
        assert sum(sign_symmetric_e_value(p).e_value for p in patterns) / len(patterns) == pytest.approx(1)


def test_the_sign_symmetric_value_is_the_mixture_of_the_formula() -> None:
    differences = [0.5, -0.25, 1.0, 0.0]
    grid = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8]
    expected = sum(math.prod(math.exp(x * d) / math.cosh(x * d) for d in differences) for x in grid) / 8
    result = sign_symmetric_e_value(differences)
    assert float(result) == pytest.approx(expected)
    assert (result.wins, result.losses, result.method) == (2, 1, "sign-symmetric mixture")
    assert sign_symmetric_e_value([]).e_value == 1
    assert sign_symmetric_e_value([1e300, -1e300]).e_value == pytest.approx(0)
    with pytest.raises(ValueError, match="finite"):
        sign_symmetric_e_value([math.nan])


@pytest.mark.parametrize("support", [(-1, 1), (-1, 0, 1), (-0.5, 0.25, 0.25)])
def test_wealth_has_a_mean_of_one_at_every_time_when_the_mean_is_zero(support: tuple[float, ...]) -> None:
    for n in range(7):
        wealth = [BettingProcess.of(values).e_value for values in itertools.product(support, repeat=n)]
        assert sum(wealth) / len(wealth) == pytest.approx(1)


def test_wealth_shrinks_on_average_when_the_mean_is_below_zero() -> None:
    outcomes = itertools.product((-1, -1, 1), repeat=6)
    wealth = [BettingProcess.of(values).e_value for values in outcomes]
    assert sum(wealth) / len(wealth) < 0.95


@given(bounded)
def test_wealth_stays_positive_and_the_peak_is_its_maximum(differences: list[float]) -> None:
    process, wealth = BettingProcess(), [1.0]
    for difference in differences:
        assert 0 <= process.stake <= 0.75
        process = process.update(difference)
        wealth.append(process.e_value)
    assert min(wealth) > 0
    assert process.peak == max(wealth)
    assert process == BettingProcess.of(differences)
    assert process.n == len(differences)


def test_the_stake_is_that_of_the_paper() -> None:
    """After 1 and 0: mean 1/3; variance (1 + (1 - 1/2)^2 + (0 - 1/3)^2) / 3; stake mean / (variance + mean^2)."""
    variance = (1 + 1 / 4 + 1 / 9) / 3
    assert BettingProcess.of([1, 0]).stake == pytest.approx((1 / 3) / (variance + 1 / 9))
    assert BettingProcess().stake == BettingProcess.of([-1]).stake == 0
    assert BettingProcess.of([1] * 50).stake == 0.75
    first = (1 / 2) / (5 / 8 + 1 / 4)
    assert BettingProcess.of([1, 0.5]).e_value == pytest.approx(1 + 0.5 * first)


def test_wealth_grows_when_the_candidate_is_better() -> None:
    assert BettingProcess.of([1, 0, 1, -1, 1, 1] * 6).e_value > 20


@pytest.mark.parametrize("value", [1.01, -2, math.nan, math.inf])
def test_differences_that_are_not_within_bounds_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="within -1"):
        BettingProcess().update(value)
    with pytest.raises(ValueError, match="within -1"):
        confidence_sequence([0.5, value])


def test_under_the_null_hypothesis_few_processes_ever_reach_one_over_alpha() -> None:
    """Ville: at most alpha of them, however often one looks."""
    rng = numpy.random.default_rng(11)
    streams = rng.choice((-1.0, 0.0, 1.0), size=(1000, 80)).tolist()
    level, slack = 0.1, 2 * math.sqrt(0.1 * 0.9 / 1000)
    betting = sum(BettingProcess.of(stream).peak >= 1 / level for stream in streams)
    assert 0.005 < betting / len(streams) <= level + slack
    symmetric = sum(
        any(sign_symmetric_e_value(stream[:seen]).e_value >= 1 / level for seen in range(2, 81, 2))
        for stream in streams[:300]
    )
    assert 0.005 < symmetric / 300 <= level + 2 * math.sqrt(0.1 * 0.9 / 300)
    mixture = 0
    for stream in streams[:300]:
        signs = [value for value in stream if value]
        wins = numpy.cumsum([value > 0 for value in signs]).tolist()
        mixture += any(mixture_e_value(won, n - won).e_value >= 1 / level for n, won in enumerate(wins, start=1))
    assert 0.005 < mixture / 300 <= level + 2 * math.sqrt(0.1 * 0.9 / 300)


@pytest.mark.parametrize("mean", [0.0, 0.4, -0.9])
def test_the_confidence_sequence_covers_the_mean_at_all_times_together(mean: float) -> None:
    rng = numpy.random.default_rng(5)
    missed = 0
    for _ in range(200):
        stream = numpy.where(rng.random(60) < (1 + mean) / 2, 1.0, -1.0).tolist()
        interval = confidence_sequence(stream, 0.8)
        # What was refuted once stays so, hence the last interval tells of all times.
        missed += not interval.low <= mean <= interval.high
    assert missed / 200 <= 0.2


@given(bounded)
@settings(deadline=None, max_examples=40)
def test_the_confidence_sequence_never_widens_and_mirrors(differences: list[float]) -> None:
    before, after = confidence_sequence(differences[:-1] or differences), confidence_sequence(differences)
    assert -1 <= before.low <= after.low < after.high <= before.high <= 1
    mirrored = confidence_sequence([-value for value in differences])
    assert (-mirrored.high, -mirrored.low) == pytest.approx((after.low, after.high))
    narrower = confidence_sequence(differences, 0.5)
    assert (narrower.estimate, narrower.confidence) == (after.estimate, 0.5)


def test_the_confidence_sequence_closes_in_and_tells_its_method() -> None:
    interval = confidence_sequence([1, 0, 0, 1, 0, -1, 1, 0] * 60)
    assert interval.estimate == pytest.approx(0.25)
    assert 0.1 < interval.low < 0.25 < interval.high < 0.4
    assert interval.method == "hedged betting"
    drifting = confidence_sequence([1.0] * 50 + [-1.0] * 2000)
    assert drifting.low < drifting.high
    with pytest.raises(ValueError, match="at least one"):
        confidence_sequence([])
    with pytest.raises(ValueError, match="between 0 and 1"):
        confidence_sequence([0.1], 1.0)


def capital(differences: list[float], mean: float, level: float) -> float:
    """Return the greatest hedged capital against one mean, as the paper writes it for values within 0..1."""
    values, m = [(d + 1) / 2 for d in differences], (mean + 1) / 2
    above = below = greatest = 1.0
    estimates = [(0.5 + sum(values[:i])) / (i + 1) for i in range(len(values) + 1)]
    for t in range(1, len(values) + 1):
        variance = (0.25 + sum((values[i - 1] - estimates[i]) ** 2 for i in range(1, t))) / t
        stake = math.sqrt(2 * math.log(2 / level) / (variance * t * math.log(t + 1)))
        above *= 1 + min(stake, 0.5 / m) * (values[t - 1] - m)
        below *= 1 - min(stake, 0.5 / (1 - m)) * (values[t - 1] - m)
        greatest = max(greatest, above / 2, below / 2)
    return greatest


def test_the_means_outside_are_those_that_the_bets_of_the_paper_refute() -> None:
    differences = [1.0, 0.0, 0.5, 1.0, -0.25, 0.75] * 5
    interval = confidence_sequence(differences, 0.9)
    assert capital(differences, interval.low, 0.1) >= 10 > capital(differences, interval.low + 0.001, 0.1)
    assert capital(differences, interval.high, 0.1) >= 10 > capital(differences, interval.high - 0.001, 0.1)


def test_with_nothing_remaining_the_conditional_power_is_the_decision() -> None:
    assert float(conditional_power([1.0] * 5, 0)) == 1
    assert float(conditional_power([1.0] * 4, 0)) == 0
    assert conditional_power([], 0).power == 0
    assert conditional_power([1.0] * 5, 0, 1 / 32).power == 1


def test_the_conditional_power_is_the_formula() -> None:
    """S = 2, V = 3, and s^2 = (3 - 4/5 + 4/9) / 5."""
    result = conditional_power([1, 0, 1, -1, 1], 10, 0.025, 0.2)
    variance = (3 + 1 - 4 / 5 + 4 / 9) / 5
    needed = 1.959963984540054 * math.sqrt(4 + 10 * (variance + 0.04))
    assert result.power == pytest.approx(scipy.stats.norm.cdf((2 + 2 - needed) / math.sqrt(10 * variance)))
    assert (result.seen, result.remaining, result.alpha, result.effect) == (5, 10, 0.025, 0.2)


def test_the_conditional_power_is_about_the_share_of_continuations_that_reject() -> None:
    rng = numpy.random.default_rng(2)
    seen = [1.0, 0.0, 1.0, -1.0, 1.0, 0.0, 1.0, 0.0, -1.0, 1.0]
    for effect in (0.1, 0.3):
        chances = [0.3 - effect / 2, 0.4, 0.3 + effect / 2]
        later = rng.choice((-1.0, 0.0, 1.0), size=(400, 30), p=chances).tolist()
        share = sum(sign_flip([*seen, *rest], "greater").p_value <= 0.05 for rest in later) / len(later)
        assert conditional_power(seen, 30, 0.05, effect).power == pytest.approx(share, abs=0.1)


def test_the_conditional_power_is_defined_for_nothing_seen_and_for_ties_and_rises_with_the_effect() -> None:
    powers = [conditional_power([], 20, effect=effect).power for effect in (-0.5, 0.0, 0.3, 0.9)]
    assert powers == sorted(powers) and powers[0] < 0.01 < powers[1] < 0.1 and powers[3] > 0.95
    assert 0 < conditional_power([0.0] * 30, 5).power < 1


@pytest.mark.parametrize(
    ("differences", "remaining", "alpha", "effect", "message"),
    [
        ([], -1, 0.05, 0.0, "negative"),
        ([], 1, 0.0, 0.0, "alpha"),
        ([math.nan], 1, 0.05, 0.0, "finite"),
        ([], 1, 0.05, math.inf, "finite"),
    ],
)
def test_impossible_plans_are_refused(
    differences: list[float], remaining: int, alpha: float, effect: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        conditional_power(differences, remaining, alpha, effect)
