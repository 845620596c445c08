"""Intervals and standard errors of estimates over tasks."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from evolve.stats.signs import require_finite

if TYPE_CHECKING:
    import numpy

    Vector = numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]]

# How many numbers a batch of resamples may hold: 8 MB.
_BATCHED_NUMBERS = 1_000_000

Statistic = Literal["mean", "median"] | Callable[..., float]


@dataclass(frozen=True)
class Interval:
    """A confidence interval around an estimate."""

    estimate: float
    low: float
    high: float
    confidence: float
    method: str


@dataclass(frozen=True)
class StandardError:
    """The standard error of a mean over clusters of values."""

    value: float
    mean: float
    clusters: int
    n: int
    small_sample: bool

    def __float__(self) -> float:
        return self.value


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion (Wilson 1927).

    Raises:
        ValueError: ``n`` is not positive, ``successes`` is outside 0..n or ``confidence`` outside 0..1.

    """
    return _proportion_interval(successes, n, confidence, "wilson")


def clopper_pearson_interval(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Return the exact interval of a proportion, which covers at least as often as stated (Clopper and Pearson 1934).

    Raises:
        ValueError: ``n`` is not positive, ``successes`` is outside 0..n or ``confidence`` outside 0..1.

    """
    return _proportion_interval(successes, n, confidence, "clopper-pearson")


def _proportion_interval(
    successes: int, n: int, confidence: float, method: Literal["wilson", "clopper-pearson"]
) -> Interval:
    if n < 1 or not 0 <= successes <= n:
        raise ValueError("needs 0 <= successes <= n and n >= 1")
    _require_confidence(confidence)
    from scipy.stats import binomtest

    of_scipy: Literal["wilson", "exact"] = "wilson" if method == "wilson" else "exact"
    bounds = binomtest(successes, n).proportion_ci(confidence_level=confidence, method=of_scipy)
    return Interval(successes / n, float(bounds.low), float(bounds.high), confidence, method)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, which is infinite for a single value and 0 for equal ones.

    Args:
        values: At least one finite value.

    """
    n = len(values)
    # The mean of equal values may differ from them in the last digit, and they would seem to vary.
    if len(set(values)) == 1:
        return float(values[0]), 0.0 if n > 1 else math.inf
    mean = math.fsum(values) / n
    # hypot keeps squares of tiny or huge deviations from under- or overflowing.
    return mean, math.hypot(*(value - mean for value in values)) / math.sqrt((n - 1) * n)


def paired_t_interval(differences: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the t interval of the mean of paired differences (Student 1908).

    With one difference the interval is unbounded; with equal ones it has no width.

    Raises:
        ValueError: There is no difference, one is not finite, or ``confidence`` is outside 0..1.

    """
    if not differences or any(not math.isfinite(value) for value in differences):
        raise ValueError("needs at least one finite difference")
    _require_confidence(confidence)
    mean, error = mean_and_error(differences)
    if len(differences) == 1:
        return Interval(mean, -math.inf, math.inf, confidence, "paired t")
    # scipy.stats' own t quantile, without the second that importing all of scipy.stats takes.
    from scipy.special import stdtrit

    reach = float(stdtrit(len(differences) - 1, (1 + confidence) / 2)) * error
    return Interval(mean, mean - reach, mean + reach, confidence, "paired t")


def clustered_standard_error(
    values: Sequence[float], clusters: Sequence[Hashable], small_sample: bool = False
) -> StandardError:
    """Return the standard error of a mean whose values are correlated within clusters (Liang and Zeger 1986).

    sqrt(sum over clusters of (sum of the cluster's deviations from the mean)^2) / n; the correction for few clusters
    multiplies it by sqrt(G / (G - 1)) for G clusters. With one cluster it is infinite, as nothing tells how clusters
    differ.

    Args:
        values: One value a run.
        clusters: The cluster of each value, such as its task.
        small_sample: Whether to correct for few clusters.

    Raises:
        ValueError: There is no value, one is not finite, or values and clusters differ in number.

    """
    if not values or len(values) != len(clusters):
        raise ValueError("needs at least one value, and a cluster for each")
    require_finite(values, "values")
    n = len(values)
    mean = math.fsum(values) / n
    deviations: defaultdict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        deviations[cluster].append(value - mean)
    count = len(deviations)
    error = math.inf
    if count > 1:
        equal = len(set(values)) == 1
        error = 0.0 if equal else math.hypot(*(math.fsum(found) for found in deviations.values())) / n
        error *= math.sqrt(count / (count - 1)) if small_sample else 1.0
    return StandardError(error, mean, count, n, small_sample)


def bootstrap_bca(
    values: Sequence[float] | Sequence[Sequence[float]],
    statistic: Statistic = "mean",
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 9999,
) -> Interval:
    """Return the bias-corrected and accelerated bootstrap interval of a statistic over tasks (Efron 1987).

    Where the correction is undefined, as when leaving out any one task changes nothing, it is the percentile interval,
    and ``method`` says so. One task gives an unbounded interval, tasks that are all equal one without width.

    Args:
        values: One value a task; or several such sequences, in which a position is one task, resampled together.
        statistic: ``mean``, ``median``, or a function of as many arrays as there are sequences.
        confidence: How often the interval is to cover.
        seed: Seeds the resampling.
        resamples: How many resamples to draw.

    Raises:
        ValueError: There is no task, the sequences differ in length, a value, or the statistic of the tasks or of a
            resample, is not finite, or ``confidence`` is outside 0..1.

    """
    import numpy

    sequences = _sequences(values)
    _require_confidence(confidence)
    function: Callable[..., float] = statistic if callable(statistic) else _NAMED[statistic]
    data = [numpy.array(sequence, dtype=float) for sequence in sequences]
    if isinstance(statistic, str) and len(data) > 1:
        raise ValueError("several sequences need a statistic that is a function of them all")
    with numpy.errstate(all="ignore"):
        estimate = float(function(*data))
    if not math.isfinite(estimate):
        raise ValueError("the statistic of the tasks must be finite")
    if len(data[0]) == 1:
        return Interval(estimate, -math.inf, math.inf, confidence, "bootstrap BCa")
    if all(len(set(sequence)) == 1 for sequence in sequences):
        return Interval(estimate, estimate, estimate, confidence, "bootstrap BCa")
    low, high, method = _bootstrap(data, function, confidence, seed, resamples)
    return Interval(estimate, low, high, confidence, method)


def _bootstrap(
    data: list[Vector], function: Callable[..., float], confidence: float, seed: int, resamples: int
) -> tuple[float, float, str]:
    import numpy
    from scipy.stats import bootstrap

    vectorised = function in _NAMED.values()
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        # scipy warns where the correction is undefined, which is answered below.
        warnings.simplefilter("ignore")
        result = bootstrap(
            data,
            function,
            n_resamples=resamples,
            batch=max(1, _BATCHED_NUMBERS // len(data[0])),
            vectorized=vectorised,
            paired=len(data) > 1,
            confidence_level=confidence,
            method="BCa",
            random_state=numpy.random.default_rng(seed),
        )
    if not numpy.isfinite(result.bootstrap_distribution).all():
        raise ValueError("the statistic of a resample must be finite")
    low, high = float(result.confidence_interval.low), float(result.confidence_interval.high)
    if math.isfinite(low) and math.isfinite(high):
        return low, high, "bootstrap BCa"
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = (float(bound) for bound in numpy.quantile(result.bootstrap_distribution, tails))
    return low, high, "bootstrap percentile"


def _sequences(values: Sequence[float] | Sequence[Sequence[float]]) -> list[Sequence[float]]:
    several = len(values) > 0 and isinstance(values[0], Sequence)
    sequences = list(cast(Sequence[Sequence[float]], values)) if several else [cast(Sequence[float], values)]
    if not sequences[0] or any(len(sequence) != len(sequences[0]) for sequence in sequences):
        raise ValueError("needs at least one task, and as many in each sequence")
    for sequence in sequences:
        require_finite(sequence, "values")
    return sequences


def _mean(values: Vector, axis: int = -1) -> float:
    return cast(float, values.mean(axis=axis))


def _median(values: Vector, axis: int = -1) -> float:
    import numpy

    return cast(float, numpy.median(values, axis=axis))


_NAMED: dict[str, Callable[..., float]] = {"mean": _mean, "median": _median}


def _require_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError("confidence must lie between 0 and 1")
