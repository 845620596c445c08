"""Paired tests; the intervals of ``evolve.stats.intervals`` are offered here too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evolve.stats.intervals import (
    Interval,
    StandardError,
    bootstrap_bca,
    clopper_pearson_interval,
    clustered_standard_error,
    mean_and_error,
    paired_t_interval,
    wilson_interval,
)
from evolve.stats.signs import RELATIVE_SLACK, lattice_tails, require_counts, require_finite, whole_numbers

__all__ = [
    "MAX_ENUMERATED",
    "RESAMPLES",
    "Alternative",
    "Interval",
    "PValue",
    "PairedT",
    "StandardError",
    "bootstrap_bca",
    "clopper_pearson_interval",
    "clustered_standard_error",
    "mcnemar_exact",
    "mcnemar_midp",
    "paired_t",
    "paired_t_interval",
    "sign_flip",
    "wilcoxon",
    "wilson_interval",
]

Alternative = Literal["two-sided", "greater", "less"]
MAX_ENUMERATED = 20
RESAMPLES = 200_000


@dataclass(frozen=True)
class PValue:
    """The p-value of a test and what it is a test of."""

    p_value: float
    test: str
    alternative: Alternative
    exact: bool = True


@dataclass(frozen=True)
class PairedT:
    """The paired t test: its statistic and p-value, and the mean it is a test of."""

    statistic: float
    p_value: float
    mean: float
    standard_error: float
    degrees_of_freedom: int
    alternative: Alternative


def mcnemar_exact(wins: int, losses: int, alternative: Alternative = "two-sided") -> PValue:
    """Test wins against losses among discordant pairs; the binomial form of McNemar's test.

    Args:
        wins: Pairs in which the candidate alone succeeded.
        losses: Pairs in which the incumbent alone succeeded.
        alternative: ``greater`` asks whether wins prevail, ``less`` whether losses do.

    Raises:
        ValueError: A count is negative.

    """
    require_counts(wins, losses)
    if wins + losses == 0:
        return PValue(1.0, "mcnemar_exact", alternative)
    from scipy.stats import binomtest

    result = binomtest(wins, wins + losses, 0.5, alternative=alternative)
    return PValue(float(result.pvalue), "mcnemar_exact", alternative)


def mcnemar_midp(wins: int, losses: int, alternative: Alternative = "two-sided") -> PValue:
    """Test wins against losses, counting half of the probability of what was observed (Fagerland et al. 2013).

    The mid-p-value is less conservative than the exact one and may exceed the stated error by a little, so it is not
    marked as exact. Without discordant pairs it is 1.

    Args:
        wins: Pairs in which the candidate alone succeeded.
        losses: Pairs in which the incumbent alone succeeded.
        alternative: ``greater`` asks whether wins prevail, ``less`` whether losses do.

    Raises:
        ValueError: A count is negative.

    """
    require_counts(wins, losses)
    n = wins + losses
    if n == 0:
        return PValue(1.0, "mcnemar_midp", alternative, exact=False)
    from scipy.stats import binom

    if alternative == "two-sided":
        fewer = min(wins, losses)
        observed = float(binom.pmf(fewer, n, 0.5)) * (1 if wins == losses else 2)
        more_extreme = 2 * float(binom.cdf(fewer - 1, n, 0.5))
    else:
        prevailing = wins if alternative == "greater" else losses
        observed = float(binom.pmf(prevailing, n, 0.5))
        more_extreme = float(binom.sf(prevailing, n, 0.5))
    return PValue(more_extreme + observed / 2, "mcnemar_midp", alternative, exact=False)


def sign_flip(differences: Sequence[float], alternative: Alternative = "two-sided", *, seed: int = 0) -> PValue:
    """Test paired differences by flipping their signs (Fisher's randomisation test).

    Exact for any number of integers whose magnitudes add up to 200,000 at most (Pagano and Tritchler 1983), and by
    enumeration up to 20 non-zero differences; beyond, 200,000 seeded resamples with the observed one counted,
    (hits + 1) / (resamples + 1).

    Args:
        differences: One difference a cluster; multiply rates over k runs by k to have integers.
        alternative: ``greater`` asks whether the differences are above zero, ``less`` whether they are below.
        seed: Seeds the resampling.

    Raises:
        ValueError: A difference is not finite.

    """
    require_finite(differences)
    values = [value for value in differences if value != 0]
    if not values:
        return PValue(1.0, "sign_flip", alternative)
    whole = whole_numbers(values)
    if whole is not None:
        greater, less, both = lattice_tails(whole)
        p_value = {"greater": greater, "less": less, "two-sided": both}[alternative]
        return PValue(p_value, "sign_flip", alternative)
    exact = len(values) <= MAX_ENUMERATED
    # Zeros are kept where signs are drawn, so that a difference that becomes one changes no other's sign.
    hits, sums = _hits(values if exact else list(differences), alternative, exact, seed)
    return PValue(hits / sums if exact else (hits + 1) / (sums + 1), "sign_flip", alternative, exact)


def _hits(values: list[float], alternative: Alternative, exact: bool, seed: int) -> tuple[int, int]:
    import numpy

    # Sums of huge magnitudes would overflow.
    scaled = numpy.array(values, dtype=float) / max(map(abs, values))
    magnitudes = numpy.abs(scaled)
    observed = float(scaled.sum())
    slack = RELATIVE_SLACK * float(magnitudes.sum())
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
        extreme = sums >= observed - slack
    elif alternative == "less":
        extreme = sums <= observed + slack
    else:
        extreme = numpy.abs(sums) >= abs(observed) - slack
    return int(extreme.sum()), len(sums)


def wilcoxon(differences: Sequence[float], alternative: Alternative = "two-sided") -> PValue:
    """Test paired differences by the ranks of their magnitudes (Wilcoxon 1945; Pratt 1959 on ties).

    Zeros are dropped. The signs of the midranks are flipped exactly, ties included, up to 446 differences; beyond, the
    rank sum is taken as normal, with the variance that the tied ranks give it.

    Args:
        differences: One difference a cluster.
        alternative: ``greater`` asks whether the differences are above zero, ``less`` whether they are below.

    Raises:
        ValueError: A difference is not finite.

    """
    require_finite(differences)
    ranks = _doubled_signed_midranks([value for value in differences if value != 0])
    whole = whole_numbers(ranks)
    if whole is not None:
        greater, less, both = lattice_tails(whole)
    else:
        deviation = math.sqrt(sum(rank * rank for rank in ranks))
        score = sum(ranks) / deviation / math.sqrt(2)
        greater, less, both = math.erfc(score) / 2, math.erfc(-score) / 2, math.erfc(abs(score))
    p_value = {"greater": greater, "less": less, "two-sided": both}[alternative]
    return PValue(p_value, "wilcoxon", alternative, exact=whole is not None)


def _doubled_signed_midranks(values: list[float]) -> list[int]:
    order = sorted(range(len(values)), key=lambda index: abs(values[index]))
    ranks = [0] * len(values)
    start = 0
    for position in range(1, len(order) + 1):
        # Differences of rates that are equal on paper may differ in the last digit.
        first = abs(values[order[start]])
        if position < len(order) and abs(values[order[position]]) - first <= RELATIVE_SLACK * first:
            continue
        for index in order[start:position]:
            ranks[index] = (start + 1 + position) * (1 if values[index] > 0 else -1)
        start = position
    return ranks


def paired_t(differences: Sequence[float], alternative: Alternative = "two-sided") -> PairedT:
    """Test the mean of paired differences by Student's t (Student 1908).

    Equal differences other than zero have an infinite statistic, and a p-value of 0 or, on the other side, of 1; zeros
    alone have p = 1. One difference says nothing: p = 1 and an infinite standard error.

    Args:
        differences: One difference a cluster.
        alternative: ``greater`` asks whether the mean is above zero, ``less`` whether it is below.

    Raises:
        ValueError: There is no difference, or one is not finite.

    """
    if not differences or any(not math.isfinite(value) for value in differences):
        raise ValueError("needs at least one finite difference")
    freedom = len(differences) - 1
    mean, error = mean_and_error(differences)
    if freedom == 0 or mean == error == 0:
        return PairedT(0.0, 1.0, mean, error, freedom, alternative)
    from scipy.stats import t

    statistic = mean / error if error else math.copysign(math.inf, mean)
    greater, less = float(t.sf(statistic, freedom)), float(t.cdf(statistic, freedom))
    p_value = {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}[alternative]
    return PairedT(statistic, p_value, mean, error, freedom, alternative)
