"""Whether chance alone explains that one group of runs is below another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from evolve.stats.paired import PValue

MAX_ENUMERATED = 20_000
RESAMPLES = 20_000
_RELATIVE_SLACK = 1e-9


def fisher_exact_fewer(successes: int, n: int, of_other: int, n_other: int) -> PValue:
    """Test whether a group has fewer successes than another: Fisher's exact test, one-sided (Fisher 1934).

    Args:
        successes: Successes of the group.
        n: Its size.
        of_other: Successes of the other group.
        n_other: Its size.

    Raises:
        ValueError: A count is outside of its group.

    """
    if not (0 <= successes <= n and 0 <= of_other <= n_other):
        raise ValueError("needs 0 <= successes <= n for both groups")
    total = successes + of_other
    ways = sum(math.comb(n, k) * math.comb(n_other, total - k) for k in range(max(0, total - n_other), successes + 1))
    return PValue(float(Fraction(ways, math.comb(n + n_other, total))), "fisher_exact", "greater")


def permutation_lower(values: Sequence[float], of_other: Sequence[float], *, seed: int = 0) -> PValue:
    """Test whether the values of a group are lower than those of another, by exchanging their labels.

    The statistic is the sum of the group. Exact by enumeration up to 20,000 ways to choose the group; beyond, 20,000
    seeded resamples with the observed one counted (Fisher 1935; Phipson and Smyth 2010).

    Raises:
        ValueError: A group is empty, or a value is not finite.

    """
    pooled = [*values, *of_other]
    if not values or not of_other or any(not math.isfinite(value) for value in pooled):
        raise ValueError("needs finite values in both groups")
    size, observed = len(values), math.fsum(values)
    slack = _RELATIVE_SLACK * math.fsum(abs(value) for value in pooled)
    ways = math.comb(len(pooled), size)
    if ways <= MAX_ENUMERATED:
        hits = sum(math.fsum(chosen) <= observed + slack for chosen in combinations(pooled, size))
        return PValue(hits / ways, "permutation", "greater")
    import numpy

    rng = numpy.random.default_rng(seed)
    shuffled = rng.permuted(numpy.tile(numpy.array(pooled), (RESAMPLES, 1)), axis=1)
    hits = int((shuffled[:, :size].sum(axis=1) <= observed + slack).sum())
    return PValue((hits + 1) / (RESAMPLES + 1), "permutation", "greater")
