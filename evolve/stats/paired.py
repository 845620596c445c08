"""Paired tests and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Alternative = Literal["two-sided", "greater"]
MAX_ENUMERATED = 20
RESAMPLES = 200_000
_RELATIVE_SLACK = 1e-9


@dataclass(frozen=True)
class PValue:
    """The p-value of a test and what it is a test of."""

    p_value: float
    test: str
    alternative: Alternative


@dataclass(frozen=True)
class Interval:
    """A confidence interval around an estimate."""

    estimate: float
    low: float
    high: float
    confidence: float
    method: str


def mcnemar_exact(wins: int, losses: int, alternative: Alternative = "two-sided") -> PValue:
    """Test wins against losses among discordant pairs; the binomial form of McNemar's test.

    Args:
        wins: Pairs in which the candidate alone succeeded.
        losses: Pairs in which the incumbent alone succeeded.
        alternative: ``greater`` asks whether wins prevail.

    Raises:
        ValueError: A count is negative.

    """
    if wins < 0 or losses < 0:
        raise ValueError("counts cannot be negative")
    if wins + losses == 0:
        return PValue(1.0, "mcnemar_exact", alternative)
    from scipy.stats import binomtest

    result = binomtest(wins, wins + losses, 0.5, alternative=alternative)
    return PValue(float(result.pvalue), "mcnemar_exact", alternative)


def sign_flip(differences: Sequence[float], alternative: Alternative = "two-sided", *, seed: int = 0) -> PValue:
    """Test paired differences by flipping their signs (Fisher's randomisation test).

    Exact by enumeration up to 20 non-zero differences; beyond, 200,000 seeded resamples with the observed one
    counted, (hits + 1) / (resamples + 1).

    Args:
        differences: One difference a cluster.
        alternative: ``greater`` asks whether the differences are above zero.
        seed: Seeds the resampling.

    Raises:
        ValueError: A difference is not finite.

    """
    if any(not math.isfinite(value) for value in differences):
        raise ValueError("differences must be finite")
    values = [value for value in differences if value != 0]
    if not values:
        return PValue(1.0, "sign_flip", alternative)
    import numpy

    magnitudes = numpy.abs(numpy.array(values, dtype=float))
    observed = float(sum(values))
    slack = _RELATIVE_SLACK * float(magnitudes.sum())
    exact = len(values) <= MAX_ENUMERATED
    if exact:
        sums = numpy.zeros(1)
        for magnitude in magnitudes:
            sums = numpy.concatenate([sums - magnitude, sums + magnitude])
    else:
        rng = numpy.random.default_rng(seed)
        sums = numpy.concatenate(
            [rng.choice((-1.0, 1.0), size=(1000, len(values))) @ magnitudes for _ in range(RESAMPLES // 1000)]
        )
    if alternative == "greater":
        hits = int((sums >= observed - slack).sum())
    else:
        hits = int((numpy.abs(sums) >= abs(observed) - slack).sum())
    p_value = hits / len(sums) if exact else (hits + 1) / (len(sums) + 1)
    return PValue(p_value, "sign_flip", alternative)


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion (Wilson 1927).

    Raises:
        ValueError: ``n`` is not positive or ``successes`` is outside 0..n.

    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError("needs 0 <= successes <= n and n >= 1")
    from scipy.stats import binomtest

    bounds = binomtest(successes, n).proportion_ci(confidence_level=confidence, method="wilson")
    return Interval(successes / n, float(bounds.low), float(bounds.high), confidence, "wilson")


def paired_t_interval(differences: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the t interval of the mean of paired differences.

    With one difference the interval is unbounded; with equal ones it has no width.

    Raises:
        ValueError: There is no difference, or one is not finite.

    """
    if not differences or any(not math.isfinite(value) for value in differences):
        raise ValueError("needs at least one finite difference")
    n = len(differences)
    mean = math.fsum(differences) / n
    if n == 1:
        return Interval(mean, -math.inf, math.inf, confidence, "paired t")
    from scipy.stats import t

    error = math.sqrt(math.fsum((value - mean) ** 2 for value in differences) / (n - 1) / n)
    reach = float(t.ppf((1 + confidence) / 2, n - 1)) * error
    return Interval(mean, mean - reach, mean + reach, confidence, "paired t")
