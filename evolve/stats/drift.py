"""Whether canaries still vouch for the rows that are reused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

LEVEL = 0.05
COST_FLOOR = math.log(1.05)


@dataclass(frozen=True)
class Measure:
    """What one run gave: whether it resolved, and what it cost in any one unit, or ``None``."""

    resolved: bool
    cost: float | None = None


@dataclass(frozen=True)
class Canary:
    """A reused run beside the fresh one of the same task and run."""

    task: str
    reused: Measure
    fresh: Measure


def drift(
    canaries: Sequence[Canary], reused: Mapping[str, Sequence[Measure]], *, repeatable: bool, level: float = LEVEL
) -> str | None:
    """Return why the canaries of an arm do not vouch for its reused runs; ``None`` when they do.

    Args:
        canaries: The canaries of the arm.
        reused: The reused runs of the arm by task, those with a canary included.
        repeatable: Whether the agent gives the same outcome for the same cell each time.
        level: How often, at the most, either test may see drift where there is none.

    """
    rate = 0.0 if repeatable else run_to_run_disagreement([[m.resolved for m in runs] for runs in reused.values()])
    disagree = sum(canary.reused.resolved != canary.fresh.resolved for canary in canaries)
    if disagree and (p := at_least(disagree, len(canaries), rate or 0.0)) <= level:
        usual = "never" if not rate else f"in {rate:.0%} of pairs"
        return f"{disagree} of {len(canaries)} canaries came out otherwise, runs of a task do {usual} (p = {p:.2g})"
    return _cost_drift(canaries, reused, level)


def run_to_run_disagreement(outcomes: Sequence[Sequence[bool]]) -> float | None:
    """Return how often two runs of one task come out differently: unbiased within a task, averaged over tasks.

    Args:
        outcomes: The outcomes of each task's runs; a task with a single run says nothing.

    """
    rates = []
    for runs in outcomes:
        if (n := len(runs)) >= 2:
            rates.append(2 * sum(runs) * (n - sum(runs)) / (n * (n - 1)))
    return fmean(rates) if rates else None


def at_least(successes: int, trials: int, rate: float) -> float:
    """Return the exact binomial probability of so many successes or more; the rate is a probability."""
    from scipy.stats import binom

    return float(binom.sf(successes - 1, trials, rate))


def _cost_drift(canaries: Sequence[Canary], reused: Mapping[str, Sequence[Measure]], level: float) -> str | None:
    logs = {task: [math.log1p(m.cost) for m in runs if m.cost is not None] for task, runs in reused.items()}
    logs = {task: found for task, found in logs.items() if found}
    freedom = sum(len(found) - 1 for found in logs.values())
    fresh = [(c.task, c.fresh.cost) for c in canaries if c.fresh.cost is not None and c.task in logs]
    if freedom < 2 or not fresh:
        return None
    within = sum((value - fmean(found)) ** 2 for found in logs.values() for value in found)
    for task, cost in fresh:
        low, high = prediction_interval(logs[task], math.sqrt(within / freedom), freedom, level / len(fresh))
        if not low <= math.log1p(cost) <= high:
            usual = f"{math.expm1(low):.4g} to {math.expm1(high):.4g}"
            return f"a canary of {task} cost {cost:.4g}, where its reused runs predict {usual}"
    return None


def prediction_interval(values: Sequence[float], deviation: float, freedom: int, level: float) -> tuple[float, float]:
    """Return the two-sided interval in which one more value is expected, never narrower than 5 % on a log scale.

    mean ± t(freedom, 1 - level/2) · deviation · √(1 + 1/n): the normal-theory prediction interval with a standard
    deviation that is pooled over groups (Hahn and Meeker, Statistical Intervals, 1991, section 4.8).

    Args:
        values: The values of the group, on a log scale.
        deviation: The pooled standard deviation within groups.
        freedom: Its degrees of freedom.
        level: How often one more value may lie outside.

    """
    from scipy.stats import t

    width = float(t.ppf(1 - level / 2, freedom)) * deviation * math.sqrt(1 + 1 / len(values))
    width = max(width, COST_FLOOR)
    centre = fmean(values)
    return centre - width, centre + width
