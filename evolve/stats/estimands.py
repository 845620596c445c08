"""Ratios and differences of paired figures, one a task: what is estimated has a name, and what is missing a reason."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evolve.stats.paired import paired_t_interval

CONFIDENCE = 0.95
RESAMPLES = 9_999
NO_INTERVAL = "none"
UNBOUNDED = "unbounded: one task"
NO_WIDTH = "no width: the tasks agree"
# Beyond these a sum or a quotient of finite figures may be none.
_SMALLEST, _LARGEST = 1e-150, 1e150
_EQUAL = 1e-12
_BATCH_FIGURES = 2_000_000

Figures = Sequence[float | None]
Estimator = Callable[..., "Ratio"]


@dataclass(frozen=True)
class Estimate:
    """What two arms' figures say of one another; without a value there is a reason, without a bound it is infinite."""

    estimand: str
    value: float | None
    low: float | None
    high: float | None
    tasks: int
    confidence: float
    interval: str
    reason: str | None = None

    @property
    def comparable(self) -> bool:
        """Whether there is a value."""
        return self.value is not None


@dataclass(frozen=True)
class Ratio(Estimate):
    """After over before."""

    @property
    def change_pct(self) -> float | None:
        """The change from before to after in per cent of before."""
        return None if self.value is None else 100 * (self.value - 1)


@dataclass(frozen=True)
class Difference(Estimate):
    """After less before."""


def geometric_mean_ratio(before: Figures, after: Figures, *, confidence: float = CONFIDENCE, seed: int = 0) -> Ratio:
    """Return the geometric mean of the tasks' ratios, with the t interval of its logarithm.

    exp(mean(ln(after / before))): Fleming and Wallace, How not to lie with statistics, CACM 29(3), 1986.

    Args:
        before: A figure a task; ``None`` or NaN where there is none.
        after: The same tasks' figures, in the same order.
        confidence: Of the interval.
        seed: Unused; every estimand takes it.

    Raises:
        ValueError: The figures are not of the same tasks.

    """
    empty = Ratio("geometric mean of ratios", None, None, None, len(before), confidence, NO_INTERVAL)
    if reason := incomparable(before, after, logarithms=True):
        return replace(empty, reason=reason)
    logs = [value for value in log_ratios(before, after) if value is not None]
    value = math.exp(math.fsum(logs) / len(logs))
    if len(logs) == 1:
        return replace(empty, value=value, interval=UNBOUNDED)
    if max(logs) - min(logs) <= _EQUAL:
        return replace(empty, value=value, low=value, high=value, interval=NO_WIDTH)
    found = paired_t_interval(logs, confidence)
    return replace(empty, value=value, low=_exp(found.low), high=_exp(found.high), interval="t over logarithms")


def ratio_of_sums(before: Figures, after: Figures, *, confidence: float = CONFIDENCE, seed: int = 0) -> Ratio:
    """Return the sum of all tasks after over the sum before, so that a large task weighs more than a small one.

    Args:
        before: A figure a task; ``None`` or NaN where there is none.
        after: The same tasks' figures, in the same order.
        confidence: Of the bootstrap's interval.
        seed: Seeds the bootstrap.

    Raises:
        ValueError: The figures are not of the same tasks.

    """

    def statistic(old: Any, new: Any, axis: int) -> Any:
        return new.sum(axis=axis) / old.sum(axis=axis)

    return _resampled("ratio of sums", statistic, before, after, confidence, seed)


def mean_ratio(before: Figures, after: Figures, *, confidence: float = CONFIDENCE, seed: int = 0) -> Ratio:
    """Return the arithmetic mean of the tasks' ratios; one task that multiplied outweighs many that halved.

    Args:
        before: A figure a task; ``None`` or NaN where there is none.
        after: The same tasks' figures, in the same order.
        confidence: Of the bootstrap's interval.
        seed: Seeds the bootstrap.

    Raises:
        ValueError: The figures are not of the same tasks.

    """

    def statistic(old: Any, new: Any, axis: int) -> Any:
        return (new / old).mean(axis=axis)

    return _resampled("mean of ratios", statistic, before, after, confidence, seed)


def median_ratio(before: Figures, after: Figures, *, confidence: float = CONFIDENCE, seed: int = 0) -> Ratio:
    """Return the median of the tasks' ratios.

    Args:
        before: A figure a task; ``None`` or NaN where there is none.
        after: The same tasks' figures, in the same order.
        confidence: Of the bootstrap's interval.
        seed: Seeds the bootstrap.

    Raises:
        ValueError: The figures are not of the same tasks.

    """

    def statistic(old: Any, new: Any, axis: int) -> Any:
        import numpy

        return numpy.median(new / old, axis=axis)

    return _resampled("median of ratios", statistic, before, after, confidence, seed)


ESTIMANDS: Mapping[str, Estimator] = {
    "ratio_of_sums": ratio_of_sums,
    "geometric_mean_ratio": geometric_mean_ratio,
    "mean_ratio": mean_ratio,
    "median_ratio": median_ratio,
}


def mean_difference(before: Figures, after: Figures, *, confidence: float = CONFIDENCE) -> Difference:
    """Return the mean of the tasks' differences, with its paired t interval.

    Args:
        before: A figure a task; ``None`` or NaN where there is none.
        after: The same tasks' figures, in the same order.
        confidence: Of the interval.

    Raises:
        ValueError: The figures are not of the same tasks.

    """
    empty = Difference("mean of differences", None, None, None, len(before), confidence, NO_INTERVAL)
    if reason := incomparable(before, after, ratios=False):
        return replace(empty, reason=reason)
    differences = [new - old for old, new in zip(before, after, strict=True) if new is not None and old is not None]
    found = paired_t_interval(differences, confidence)
    if len(differences) == 1:
        return replace(empty, value=found.estimate, interval=UNBOUNDED)
    if max(differences) == min(differences):
        value = differences[0]
        return replace(empty, value=value, low=value, high=value, interval=NO_WIDTH)
    return replace(empty, value=found.estimate, low=found.low, high=found.high, interval=found.method)


def log_ratios(before: Figures, after: Figures) -> tuple[float | None, ...]:
    """Return ln(after / before) of each task; ``None`` where a figure is missing or not above zero.

    Raises:
        ValueError: The figures are not of the same tasks.

    """
    _same_tasks(before, after)
    return tuple(
        math.log(new) - math.log(old)
        if old is not None and new is not None and 0 < old < math.inf and 0 < new < math.inf
        else None
        for old, new in zip(before, after, strict=True)
    )


def per_task_medians(runs_by_task: Mapping[str, Figures]) -> dict[str, float | None]:
    """Return the median over the runs of each task; ``None`` for a task of which a run has no figure, or no run is."""
    return {
        task: statistics.median(known)
        if (known := [run for run in runs if run is not None and not math.isnan(run)]) and len(known) == len(runs)
        else None
        for task, runs in runs_by_task.items()
    }


def incomparable(before: Figures, after: Figures, *, ratios: bool = True, logarithms: bool = False) -> str | None:
    """Return why two arms' figures cannot be compared; ``None`` when they can.

    Args:
        before: A figure a task.
        after: The same tasks' figures, in the same order.
        ratios: Whether a ratio is asked for, which needs figures above zero before and none below zero after.
        logarithms: Whether the ratio's logarithm is asked for, which needs figures above zero after, too.

    Raises:
        ValueError: The figures are not of the same tasks.

    """
    _same_tasks(before, after)
    if not before:
        return "there is no task"
    for name, figures in (("before", before), ("after", after)):
        if missing := sum(figure is None or math.isnan(figure) for figure in figures):
            return f"{missing} of {len(figures)} tasks have no figure {name}"
        known = [figure for figure in figures if figure is not None]
        if any(figure != 0 and not _SMALLEST <= abs(figure) <= _LARGEST for figure in known):
            return f"a figure {name} is beyond what can be computed with"
        if ratios and any(figure < 0 for figure in known):
            return f"a figure {name} is below zero"
        if (zeros := known.count(0)) and ratios and (name == "before" or logarithms):
            return f"{zeros} of {len(known)} tasks have a figure of zero {name}"
    return None


def _same_tasks(before: Figures, after: Figures) -> None:
    if len(before) != len(after):
        raise ValueError(f"{len(before)} tasks before and {len(after)} after; needs the same tasks")


def _exp(value: float) -> float | None:
    return None if value > math.log(_LARGEST) else math.exp(value)


def _resampled(
    estimand: str,
    statistic: Callable[[Any, Any, int], Any],
    before: Figures,
    after: Figures,
    confidence: float,
    seed: int,
) -> Ratio:
    """Return a ratio with its bootstrap interval over tasks."""
    empty = Ratio(estimand, None, None, None, len(before), confidence, NO_INTERVAL)
    if reason := incomparable(before, after):
        return replace(empty, reason=reason)
    import numpy

    old, new = numpy.array(before, dtype=float), numpy.array(after, dtype=float)
    value = float(statistic(old, new, -1))
    if len(old) == 1:
        return replace(empty, value=value, interval=UNBOUNDED)
    ratios = new / old
    if float(numpy.ptp(ratios)) <= _EQUAL * float(ratios.max()):
        return replace(empty, value=value, low=value, high=value, interval=NO_WIDTH)
    for method in ("BCa", "percentile"):
        low, high = _bounds(statistic, old, new, confidence, seed, method)
        if math.isfinite(low) and math.isfinite(high):
            return replace(empty, value=value, low=low, high=high, interval=f"{method} bootstrap over tasks")
    return replace(empty, value=value, interval="unbounded: no resample has a figure")


def _bounds(
    statistic: Callable[[Any, Any, int], Any], old: Any, new: Any, confidence: float, seed: int, method: Any
) -> tuple[float, float]:
    """Return the bounds of a bootstrap over tasks (Efron 1987 for BCa); NaN where the method gives none."""
    import numpy
    from scipy.stats import bootstrap

    def of_sample(one: Any, other: Any, axis: int = -1) -> Any:
        return statistic(one, other, axis)

    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        # The acceleration of BCa is 0/0 where leaving out a task changes nothing, as with many a median.
        warnings.simplefilter("ignore")
        found = bootstrap(
            (old, new),
            of_sample,
            paired=True,
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=max(1, _BATCH_FIGURES // len(old)),
            confidence_level=confidence,
            method=method,
            random_state=numpy.random.default_rng(seed),
        ).confidence_interval
    return float(found.low), float(found.high)
