"""Evidence that may be looked at at any time."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evolve.stats.intervals import Interval
from evolve.stats.paired import sign_flip
from evolve.stats.signs import require_counts, require_finite

__all__ = [
    "BettingProcess",
    "ConditionalPower",
    "EValue",
    "conditional_power",
    "confidence_sequence",
    "mixture_e_value",
    "sign_symmetric_e_value",
]

# At most this share of the wealth is staked, so that no difference within -1..1 can take it all.
_LARGEST_STAKE = 0.75
# The share that the confidence sequence stakes, as in the paper.
_HEDGED_STAKE = 0.5
_MEANS = 2001
# Fixed ahead of the data: from bets for which many small differences are needed to bets that signs do not alternate.
_EXPONENTS = tuple(2.0**power for power in range(-4, 4))
# The variance of a task's difference with one run an arm, 1/9 between tasks and twice 1/6 within (Miller 2024).
_PRIOR_VARIANCE = 4 / 9


@dataclass(frozen=True)
class EValue:
    """Evidence against a null hypothesis under which its expectation is at most 1; reject at 1 / alpha.

    ``e_value`` is at most the largest float; ``log_e_value`` is not bounded.
    """

    e_value: float
    log_e_value: float
    wins: int
    losses: int
    method: str

    def __float__(self) -> float:
        return self.e_value


@dataclass(frozen=True)
class ConditionalPower:
    """The probability that a test will reject in the end, given what was seen and the effect that is assumed."""

    power: float
    seen: int
    remaining: int
    alpha: float
    effect: float

    def __float__(self) -> float:
        return self.power


def mixture_e_value(wins: int, losses: int) -> EValue:
    """Return the evidence that the candidate wins more than half of the discordant pairs, at any time.

    2^(W+L+1) B(W+1, L+1) P(Beta(W+1, L+1) > 1/2): the likelihood ratio against one half, averaged over a uniform
    prior above it (Ville 1939; Robbins 1970). Equal to B(W+1, L+1) times the sum of C(W+L+1, k) over k <= W.

    Args:
        wins: Pairs in which the candidate alone succeeded.
        losses: Pairs in which the incumbent alone succeeded.

    Raises:
        ValueError: A count is negative.

    """
    require_counts(wins, losses)
    import numpy
    from scipy.special import betaln, gammaln, logsumexp

    n = wins + losses + 1
    k = numpy.arange(wins + 1)
    log_sum = float(logsumexp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)))
    log_e = float(betaln(wins + 1, losses + 1)) + log_sum
    return EValue(_bounded_exp(log_e), log_e, wins, losses, "beta mixture")


def sign_symmetric_e_value(differences: Sequence[float]) -> EValue:
    """Return the evidence that differences are above zero, when under the null each sign is a fair coin's.

    The average over a fixed grid of lambda of the product of exp(lambda d) / cosh(lambda d), which is valid at any time
    given the magnitudes (de la Pena 1999). The grid, 1/16 to 8, suits magnitudes up to 1. Without differences it is 1.

    Args:
        differences: One difference a cluster, in any unit that was fixed ahead.

    Raises:
        ValueError: A difference is not finite.

    """
    require_finite(differences)
    logs = [math.fsum(_log_tilt(exponent * value) for value in differences) for exponent in _EXPONENTS]
    top = max(logs)
    log_e = top + math.log(math.fsum(math.exp(value - top) for value in logs) / len(logs))
    wins, losses = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    return EValue(_bounded_exp(log_e), log_e, wins, losses, "sign-symmetric mixture")


def _log_tilt(x: float) -> float:
    # exp(x) / cosh(x) = 2 / (1 + exp(-2 x)), where the exponential must not overflow.
    return math.log(2) - math.log1p(math.exp(-2 * abs(x))) + (2 * x if x < 0 else 0.0)


@dataclass(frozen=True)
class BettingProcess:
    """The wealth of bets that differences within -1..1 have a mean above 0, which is evidence at any time.

    Each bet stakes what the differences before it suggest, mean / (variance + mean^2), by the approximate GRAPA rule
    (Waudby-Smith and Ramdas 2024, section B.3), never less than nothing and never more than three quarters. When each
    difference has a mean of at most 0 given the earlier ones, wealth is expected not to grow.
    """

    n: int = 0
    total: float = 0.0
    squared_deviations: float = 0.0
    log_wealth: float = 0.0
    log_peak: float = 0.0

    @classmethod
    def of(cls, differences: Iterable[float]) -> BettingProcess:
        """Return the process after these differences, in their order.

        Raises:
            ValueError: A difference is not within -1..1.

        """
        process = cls()
        for difference in differences:
            process = process.update(difference)
        return process

    @property
    def e_value(self) -> float:
        """The wealth now, at most the largest float."""
        return _bounded_exp(self.log_wealth)

    @property
    def peak(self) -> float:
        """The greatest wealth so far, at least 1; a mean of at most 0 lets it reach 1 / alpha with probability alpha.

        It is not an e-value: only a rejection at 1 / alpha is licensed by it.
        """
        return _bounded_exp(self.log_peak)

    @property
    def stake(self) -> float:
        """The share of the wealth that is staked on the next difference."""
        mean = self.total / (self.n + 1)
        variance = (1 + self.squared_deviations) / (self.n + 1)
        return min(max(mean / (variance + mean**2), 0.0), _LARGEST_STAKE)

    def update(self, difference: float) -> BettingProcess:
        """Return the process after one more difference.

        Raises:
            ValueError: The difference is not within -1..1.

        """
        _require_bounded([difference])
        log_wealth = self.log_wealth + math.log1p(self.stake * difference)
        total = self.total + difference
        deviation = difference - total / (self.n + 2)
        squared = self.squared_deviations + deviation**2
        return BettingProcess(self.n + 1, total, squared, log_wealth, max(self.log_peak, log_wealth))


def confidence_sequence(differences: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return an interval of the mean of differences within -1..1 that covers at all times together.

    The means against which hedged bets have not won 1 / (1 - confidence) by now (Waudby-Smith and Ramdas 2024,
    theorem 3), on a grid of 0.001 and rounded outwards. It never widens as differences are added. Should every mean
    have been refuted, as may happen when the mean drifts, the least refuted one stands for them.

    Args:
        differences: The differences in the order observed.
        confidence: How often the mean is to stay within at all times.

    Raises:
        ValueError: There is no difference, one is not within -1..1, or ``confidence`` is outside 0..1.

    """
    if not differences:
        raise ValueError("needs at least one difference")
    if not 0 < confidence < 1:
        raise ValueError("confidence must lie between 0 and 1")
    _require_bounded(differences)
    import numpy

    means = numpy.linspace(0, 1, _MEANS)
    with numpy.errstate(divide="ignore"):
        most_above, most_below = _HEDGED_STAKE / means, _HEDGED_STAKE / (1 - means)
    above, below = numpy.zeros(_MEANS), numpy.zeros(_MEANS)
    peak = numpy.zeros(_MEANS)
    total, spread = 0.5, 0.25
    for t, x in enumerate(((value + 1) / 2 for value in differences), start=1):
        stake = math.sqrt(2 * math.log(2 / (1 - confidence)) / (spread * math.log(t + 1)))
        above += numpy.log1p(numpy.minimum(stake, most_above) * (x - means))
        below += numpy.log1p(-numpy.minimum(stake, most_below) * (x - means))
        peak = numpy.maximum(peak, numpy.maximum(above, below) - math.log(2))
        total += x
        spread += (x - total / (t + 1)) ** 2
    kept = numpy.flatnonzero(peak < max(-math.log(1 - confidence), math.nextafter(float(peak.min()), math.inf)))
    low, high = max(0, int(kept[0]) - 1), min(_MEANS - 1, int(kept[-1]) + 1)
    estimate = math.fsum(differences) / len(differences)
    return Interval(estimate, 2 * float(means[low]) - 1, 2 * float(means[high]) - 1, confidence, "hedged betting")


def conditional_power(
    differences: Sequence[float], remaining: int, alpha: float = 0.05, effect: float = 0.0
) -> ConditionalPower:
    """Return how likely the one-sided sign-flip test is to reject in the end (Lan, Simon and Halperin 1982).

    By the test's normal approximation: with S the sum and V the sum of squares of what was seen and s^2 its variance,
    the final sum is N(S + r effect, r s^2) and must reach z(1 - alpha) sqrt(V + r (s^2 + effect^2)). The variance is
    pooled with one degree of freedom of 4/9, so that it is never 0. With nothing remaining it is 1 or 0, by the test.

    Args:
        differences: The differences seen so far, each within -1..1 or about so.
        remaining: r, how many are still to come.
        alpha: The level of the test.
        effect: The mean of those to come.

    Raises:
        ValueError: ``remaining`` is negative, ``alpha`` is outside 0..1, or a number is not finite.

    """
    if remaining < 0:
        raise ValueError("the number of remaining differences cannot be negative")
    if not 0 < alpha < 1:
        raise ValueError("alpha must lie between 0 and 1")
    require_finite([*differences, effect])
    seen = len(differences)
    if remaining == 0:
        rejects = sign_flip(differences, "greater").p_value <= alpha
        return ConditionalPower(float(rejects), seen, 0, alpha, effect)
    from scipy.stats import norm

    total = math.fsum(differences)
    squares = math.fsum(value**2 for value in differences)
    deviations = math.fsum((value - total / seen) ** 2 for value in differences)
    variance = (deviations + _PRIOR_VARIANCE) / max(seen, 1)
    needed = float(norm.isf(alpha)) * math.sqrt(squares + remaining * (variance + effect**2))
    score = (total + remaining * effect - needed) / math.sqrt(remaining * variance)
    return ConditionalPower(float(norm.cdf(score)), seen, remaining, alpha, effect)


def _bounded_exp(log_value: float) -> float:
    return math.exp(log_value) if log_value < math.log(sys.float_info.max) else sys.float_info.max


def _require_bounded(differences: Sequence[float]) -> None:
    if not all(-1 <= value <= 1 for value in differences):
        raise ValueError("differences must be finite and lie within -1..1")
