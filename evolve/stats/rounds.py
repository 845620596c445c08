"""Testing after each round of runs, at one error level for all rounds together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MAX_ENUMERATED = 14
MAX_KEPT = 64
RESAMPLES = 100_000
_CHUNK = 20_000
_RELATIVE_SLACK = 1e-9


@dataclass(frozen=True)
class RoundTest:
    """A round's test: its p-value among what had not crossed before, and the level that it may spend."""

    round: int
    p_value: float
    level: float
    crossed: bool
    exact: bool


def rounds_sign_flip(
    rounds: Sequence[Sequence[float]], planned: int, alpha: float, *, seed: int = 0
) -> list[RoundTest]:
    """Test cumulative paired differences after each round by flipping the signs of whole tasks.

    The level is spent in equal parts, one a round (Lan and DeMets 1983, with a linear spending function). A round's
    boundary is set among the sign flips that crossed none before it (Slud and Wei 1982), so that, given the magnitudes,
    all rounds together reject with probability alpha at the most. Enumerated up to 14 tasks, else by 100,000 seeded
    sign vectors with the observed one counted.

    Args:
        rounds: After each round so far, the sum of each task's differences, the tasks in one order.
        planned: Rounds in all.
        alpha: One-sided, over all rounds.
        seed: Seeds the sign vectors.

    Returns:
        One test a round, up to the first that crosses.

    Raises:
        ValueError: There are more rounds than planned, no task, or a difference that is not finite.

    """
    if not rounds or not rounds[0] or len(rounds) > planned:
        raise ValueError("needs 1 to the planned number of rounds, each of one task or more")
    if any(not math.isfinite(value) for found in rounds for value in found):
        raise ValueError("differences must be finite")
    import numpy

    tasks = len(rounds[0])
    exact = tasks <= MAX_ENUMERATED
    sums = _flipped_sums(rounds, seed)
    total = sums.shape[1] + (0 if exact else 1)
    open_flips = numpy.ones(sums.shape[1], dtype=bool)
    observed_in = 0 if exact else 1
    spent = 0
    found: list[RoundTest] = []
    for number, values in enumerate(rounds, start=1):
        slack = _RELATIVE_SLACK * sum(abs(value) for value in values)
        budget = math.floor(alpha * number / planned * total + _RELATIVE_SLACK) - spent
        reached = sums[number - 1]
        hits = int((open_flips & (reached >= math.fsum(values) - slack)).sum()) + observed_in
        crossed = hits <= budget
        found.append(RoundTest(number, hits / total, budget / total, crossed, exact))
        if crossed:
            break
        boundary = _boundary(reached[open_flips], budget - observed_in, slack)
        crossing = open_flips & (reached > boundary)
        spent += int(crossing.sum())
        open_flips &= ~crossing
    return found


def _boundary(values: Any, budget: int, slack: float) -> float:
    """Return the smallest value that at most ``budget`` of the flips are above."""
    import numpy

    if budget <= 0 or not len(values):
        return math.inf
    if budget >= len(values):
        return -math.inf
    ordered = numpy.sort(values)[::-1]
    return float(ordered[budget]) + slack


def _flipped_sums(rounds: Sequence[Sequence[float]], seed: int) -> Any:
    import numpy

    table = numpy.array(rounds, dtype=float).T
    tasks = len(rounds[0])
    if tasks <= MAX_KEPT:
        return (_kept_signs(tasks, seed) @ table).T
    rng = numpy.random.default_rng(seed)
    chunks = (_signs(rng, _CHUNK, tasks) @ table for _ in range(RESAMPLES // _CHUNK))
    return numpy.concatenate([chunk.T for chunk in chunks], axis=1)


@lru_cache(maxsize=2)
def _kept_signs(tasks: int, seed: int) -> Any:
    import numpy

    if tasks <= MAX_ENUMERATED:
        numbers = numpy.arange(2**tasks)[:, None]
        return ((numbers >> numpy.arange(tasks)) & 1) * 2.0 - 1
    return _signs(numpy.random.default_rng(seed), RESAMPLES, tasks)


def _signs(rng: Any, vectors: int, tasks: int) -> Any:
    return rng.integers(0, 2, size=(vectors, tasks)) * 2.0 - 1


def conditional_power_of_rest(
    done: Sequence[float], variance: float, runs_left: int, effect: float, alpha: float
) -> float:
    """Return the probability that the rest of the runs makes the one-sided sign-flip test over tasks significant.

    By its normal approximation: the sum so far plus what the rest adds, against z(1 - alpha) times the root of the
    expected sum of squares of the tasks' sums (Lachin 2005, A review of methods for futility stopping).

    Args:
        done: The sum of each task's paired differences so far.
        variance: Of one paired difference about its mean.
        runs_left: Paired runs a task that are not measured.
        effect: The mean of a paired difference that is assumed for the rest.
        alpha: The level of the test.

    """
    from scipy.stats import norm

    tasks = len(done)
    mean = math.fsum(done) + tasks * runs_left * effect
    squares = math.fsum((value + runs_left * effect) ** 2 for value in done) + tasks * runs_left * variance
    needed = float(norm.isf(alpha)) * math.sqrt(squares)
    deviation = math.sqrt(tasks * runs_left * variance)
    if deviation == 0:
        return 1.0 if mean >= needed and mean > 0 else 0.0
    return float(norm.sf((needed - mean) / deviation))
