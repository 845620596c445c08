"""A sign-flip test in stages that may stop at each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from evolve.stats.signs import RELATIVE_SLACK, add_signs, require_finite, whole_numbers

SIGN_VECTORS = 100_000

Spending = Literal["linear", "obrien_fleming"]


@dataclass(frozen=True)
class Stage:
    """One stage: the sign-flip p-value of its differences, the level it must reach, and what was spent by then."""

    differences: int
    p_value: float
    level: float
    spent: float
    rejected: bool


@dataclass(frozen=True)
class GroupSequential:
    """The stages that were reached, and the first that rejects, counted from 1, or ``None``."""

    rejected_at: int | None
    stages: tuple[Stage, ...]
    alpha: float
    spending: Spending
    exact: bool


def group_sequential_sign_flip(
    differences: Sequence[float],
    stages: Sequence[int],
    alpha: float = 0.05,
    spending: Spending = "linear",
    seed: int = 0,
) -> GroupSequential:
    """Test in stages whether differences are above zero, spending alpha over the stages (Slud and Wei 1982).

    At each stage the boundary is the lowest one at which the sign flips that cross it, and have crossed none before,
    stay within what the spending function grants by then (Lan and DeMets 1983). Conditional on the magnitudes the
    error over all stages is at most alpha: exactly for integers, and for others as the observed signs are counted
    among 100,000 seeded sign vectors. Zeros have no sign and decide nothing.

    Args:
        differences: One difference a cluster, in the order observed; later stages may still be out.
        stages: After how many differences each planned stage looks, rising; the last one is the planned total.
        alpha: The level of all stages together.
        spending: ``linear`` grants alpha t at the share t of the planned total; ``obrien_fleming`` grants
            2 - 2 Phi(z(1 - alpha/2) / sqrt(t)), which leaves nearly all for the last stage.
        seed: Seeds the sign vectors.

    Raises:
        ValueError: ``stages`` do not rise from at least 1, there are more differences than planned, a difference is
            not finite, or ``alpha`` is outside 0..1.

    """
    if not stages or stages[0] < 1 or any(after <= before for before, after in pairwise(stages)):
        raise ValueError("stages must rise, from at least one difference")
    if len(differences) > stages[-1]:
        raise ValueError("there are more differences than the last stage looks at")
    if not 0 < alpha < 1:
        raise ValueError("alpha must lie between 0 and 1")
    require_finite(differences)
    reached = [size for size in stages if size <= len(differences)]
    granted = [_granted(size / stages[-1], alpha, spending) for size in reached]
    whole = whole_numbers(differences)
    if whole is not None:
        results = tuple(_exact_stages(whole, reached, granted))
    else:
        results = tuple(_resampled_stages(differences, reached, granted, seed))
    first = next((number for number, stage in enumerate(results, start=1) if stage.rejected), None)
    return GroupSequential(first, results, alpha, spending, whole is not None)


def _granted(share: float, alpha: float, spending: Spending) -> float:
    # What is granted in the end is alpha itself, without the rounding of a quantile and back.
    if spending == "linear" or share == 1:
        return alpha * share
    from scipy.stats import norm

    return float(2 * norm.sf(norm.isf(alpha / 2) / math.sqrt(share)))


def _exact_stages(whole: Sequence[int], reached: Sequence[int], granted: Sequence[float]) -> Iterator[Stage]:
    import numpy

    # By the sum of the positive parts: over all sign flips, and over those that have crossed no boundary.
    everything, going_on = numpy.ones(1), numpy.ones(1)
    spent, start, positive, stopped = 0.0, 0, 0, False
    for size, allowance in zip(reached, granted, strict=True):
        block = [value for value in whole[start:size] if value]
        magnitudes = [abs(value) for value in block]
        everything, going_on = add_signs(everything, magnitudes), add_signs(going_on, magnitudes)
        positive += sum(value for value in block if value > 0)
        tails = numpy.append(numpy.cumsum(going_on[::-1])[::-1], 0.0)
        boundary = int(numpy.flatnonzero(tails <= allowance - spent)[0]) if allowance > spent else len(going_on)
        spent += float(tails[boundary])
        going_on[boundary:] = 0.0
        rejected = positive >= boundary and not stopped
        stopped |= rejected
        p_value, level = (min(1.0, math.fsum(everything[least:])) for least in (positive, boundary))
        yield Stage(size, p_value, level, spent, rejected)
        start = size


def _resampled_stages(
    differences: Sequence[float], reached: Sequence[int], granted: Sequence[float], seed: int
) -> Iterator[Stage]:
    import numpy

    rng = numpy.random.default_rng(seed)
    scale = max(map(abs, differences))
    # The observed signs come first and count like any other, so that a resampled boundary keeps the error as well.
    sums = numpy.zeros(SIGN_VECTORS + 1)
    going_on = numpy.ones(SIGN_VECTORS + 1, dtype=bool)
    crossed, start, magnitude = 0, 0, 0.0
    for size, allowance in zip(reached, granted, strict=True):
        # Drawn by difference, so that the earlier stages stay as they were when later differences arrive.
        for value in (value / scale for value in differences[start:size]):
            sums[0] += value
            sums[1:] += (2.0 * rng.integers(0, 2, SIGN_VECTORS) - 1.0) * abs(value)
            magnitude += abs(value)
        slack = RELATIVE_SLACK * magnitude
        room = math.floor(allowance * len(sums)) - crossed
        candidates = numpy.sort(sums[going_on])[::-1]
        threshold = math.inf if room <= 0 else -math.inf
        if 0 < room < len(candidates):
            threshold = float(candidates[room]) + slack
        crossing = going_on & (sums > threshold)
        crossed += int(crossing.sum())
        going_on &= ~crossing
        p_value = float((sums >= sums[0] - slack).mean())
        yield Stage(size, p_value, float((sums > threshold).mean()), crossed / len(sums), bool(crossing[0]))
        start = size
