"""What a row says in a metric; a figure that nobody reported is ``None``, never 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evolve.records.policy import QUALITIES, Metric
from evolve.records.row import Row

CACHED_WEIGHT = 0.1


@dataclass(frozen=True)
class MetricFacts:
    """A metric: its unit, how many units make the unit shown, and what a row says in it."""

    unit: str
    scale: float
    of: Callable[[Row], float | None]


def _score(row: Row) -> float | None:
    if row.oracle is not None:
        return row.oracle.score
    return float(row.resolved)


def _weighted_f1(row: Row) -> float | None:
    if row.oracle is None:
        return None if row.resolved else 0.0
    return row.oracle.review.f1 if row.oracle.review is not None else None


def _weighted_input(row: Row) -> float | None:
    uncached, cached = row.usage.uncached_input_tokens, row.usage.cached_input_tokens
    if uncached is None or cached is None:
        return None
    return uncached + row.usage.cache_write_tokens + CACHED_WEIGHT * cached


METRICS: dict[Metric, MetricFacts] = {
    Metric.RESOLVE_RATE: MetricFacts("percentage points", 100, lambda row: int(row.resolved)),
    Metric.SCORE: MetricFacts("points of 100", 100, _score),
    Metric.WEIGHTED_F1: MetricFacts("points of 100", 100, _weighted_f1),
    Metric.COST_USD: MetricFacts("USD", 1e-6, lambda row: row.usage.cost_usd_micros),
    Metric.INPUT_TOKENS: MetricFacts("tokens", 1, lambda row: row.usage.input_tokens),
    Metric.WEIGHTED_INPUT_TOKENS: MetricFacts("tokens, cached ones at 0.1", 1, _weighted_input),
    Metric.OUTPUT_TOKENS: MetricFacts("tokens", 1, lambda row: row.usage.output_tokens),
    Metric.DURATION_S: MetricFacts("s", 1e-3, lambda row: row.usage.session_ms),
    Metric.NUM_TURNS: MetricFacts("turns", 1, lambda row: row.usage.turns),
    Metric.TOOL_CALLS: MetricFacts("calls", 1, lambda row: row.usage.tool_calls),
}
SMALLEST_COST = 1.0
COSTS = tuple(metric for metric in METRICS if metric not in QUALITIES)
# Their figures say nothing about the text that is resident in every call.
BLIND_TO_INPUT = frozenset({Metric.OUTPUT_TOKENS, Metric.DURATION_S, Metric.NUM_TURNS, Metric.TOOL_CALLS})


def measured_of(metric: Metric, rows: Sequence[Row]) -> list[float | None]:
    """Return what rows say in a metric; a cost of nothing counts as the smallest unit, so that ratios exist."""
    values = [*map(METRICS[metric].of, rows)]
    if metric in QUALITIES:
        return values
    return [SMALLEST_COST if value is not None and value < SMALLEST_COST else value for value in values]
