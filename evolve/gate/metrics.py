"""What a row says in a metric; a figure that nobody reported is ``None``, never 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evolve.records.kinds import ErrorKind
from evolve.records.policy import QUALITIES, Metric
from evolve.records.row import Row

CACHED_WEIGHT = 0.1


def counted(number: int, one: str, many: str) -> str:
    """Return a number with what it counts, in the singular or the plural."""
    return f"{number} {one if number == 1 else many}"


@dataclass(frozen=True)
class MetricFacts:
    """A metric: its unit, how many units make the unit shown, and what a row says in it."""

    unit: str
    scale: float
    of: Callable[[Row], float | None]


def _graded(row: Row) -> bool:
    """Whether a row came as far as its oracle; one that failed before has no share of anything."""
    return row.kind is None or row.kind is ErrorKind.ORACLE_FAILED


def _score(row: Row) -> float | None:
    if not _graded(row):
        return 0.0
    return float(row.resolved) if row.oracle is None else row.oracle.score


def _weighted_f1(row: Row) -> float | None:
    """Return the weighted F1 of a review; of a change without fault, whether nothing was found in it."""
    if not _graded(row):
        return 0.0
    review = None if row.oracle is None else row.oracle.review
    if review is None:
        return None if row.resolved else 0.0
    if review.f1 is None and review.clean_pass is not None:
        return float(review.clean_pass)
    return review.f1


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
