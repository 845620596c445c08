"""What the cells of a batch are worth to a search, by what the policy puts first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean, median

from evolve.gate.metrics import measured_of
from evolve.records.policy import Metric, Policy
from evolve.records.row import Row

EVEN = 0.5
TIE_BREAK_WEIGHT = 0.05
"""How much of a quality a cost that only breaks ties is worth, at the most."""


def values_of(rows: Mapping[str, Sequence[Row]], incumbent: str, policy: Policy) -> dict[str, float | None]:
    """Return what each arm's cells of one task are worth; ``None`` where they could not be measured.

    A quality is worth its mean. A cost is worth the logarithm of what is saved against the incumbent beside it, less
    what is lost of the resolve rate; a cost that breaks ties adds a little to the quality.

    Args:
        rows: The rows of one task by arm.
        incumbent: The arm to compare costs with.
        policy: The policy.

    """
    valid = {arm: [row for row in found if not row.void] for arm, found in rows.items()}
    beside = valid.get(incumbent, [])
    if policy.of_quality:
        quality = {arm: _mean(measured_of(policy.metric, found)) for arm, found in valid.items()}
        if policy.tie_break is None:
            return dict(quality)
        return {
            arm: None if value is None else value + TIE_BREAK_WEIGHT * _saved(valid[arm], beside, policy.tie_break)
            for arm, value in quality.items()
        }
    before = _mean(measured_of(Metric.RESOLVE_RATE, beside))
    return {arm: _of_cost(found, beside, before, policy.metric) for arm, found in valid.items()}


def _of_cost(rows: Sequence[Row], beside: Sequence[Row], before: float | None, metric: Metric) -> float | None:
    resolved = _mean(measured_of(Metric.RESOLVE_RATE, rows))
    if resolved is None or before is None:
        return None
    return EVEN + EVEN * _saved(rows, beside, metric) - max(0.0, before - resolved)


def _saved(rows: Sequence[Row], beside: Sequence[Row], metric: Metric) -> float:
    """Return the logarithm of what is saved, from -1 to 1; nothing where a figure is missing."""
    mine, theirs = ([value for value in measured_of(metric, found) if value is not None] for found in (rows, beside))
    if not mine or not theirs:
        return 0.0
    return max(-1.0, min(1.0, -math.log(median(mine) / median(theirs))))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None
