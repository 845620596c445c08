"""How many tasks and runs it takes to see an effect, and how much chance alone promises."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evolve.stats.paired import Alternative
from evolve.stats.signs import require_finite

BETWEEN_VARIANCE = 1 / 9
WITHIN_VARIANCE = 1 / 6


@dataclass(frozen=True)
class DetectableEffect:
    """The smallest mean difference that so many tasks and runs detect with the given power."""

    effect: float
    tasks: int
    runs: int | None
    alpha: float
    power: float
    between_variance: float
    within_variance: float
    one_sided: bool

    def __float__(self) -> float:
        return self.effect


@dataclass(frozen=True)
class SampleSize:
    """How many tasks detect an effect with the given power; ``unrounded`` is the formula's value."""

    tasks: int
    unrounded: float
    effect: float
    runs: int | None
    alpha: float
    power: float
    between_variance: float
    within_variance: float
    one_sided: bool

    def __float__(self) -> float:
        return float(self.tasks)


@dataclass(frozen=True)
class McNemarPower:
    """How often the exact McNemar test over so many tasks rejects."""

    power: float
    tasks: int
    p_win: float
    p_loss: float
    alpha: float
    alternative: Alternative

    def __float__(self) -> float:
        return self.power


@dataclass(frozen=True)
class McNemarSampleSize:
    """How many tasks give the exact McNemar test its power; ``achieved`` is the power that they give."""

    tasks: int
    achieved: float
    p_win: float
    p_loss: float
    alpha: float
    power: float
    alternative: Alternative

    def __float__(self) -> float:
        return float(self.tasks)


@dataclass(frozen=True)
class ExpectedMaximum:
    """The expected maximum of independent standard normal variables."""

    value: float
    k: int

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class WinnersCurse:
    """By how much the best of several equal candidates is expected to look better than it is."""

    bias: float
    k: int
    standard_error: float

    def __float__(self) -> float:
        return self.bias


@dataclass(frozen=True)
class VarianceComponents:
    """The variance of the tasks' true differences, and that of a difference between two runs within a task."""

    between: float
    within: float
    tasks: int
    runs: int

    def __iter__(self) -> Iterator[float]:
        return iter((self.between, self.within))

    @property
    def within_variance(self) -> float:
        """The variance of one run within a task, as ``sample_size`` takes it: half of that of a difference."""
        return self.within / 2


def minimum_detectable_effect(
    tasks: int,
    runs: int | None,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    between_variance: float = BETWEEN_VARIANCE,
    within_variance: float = WITHIN_VARIANCE,
    one_sided: bool = False,
) -> DetectableEffect:
    """Return the smallest mean difference that is detected with the given power (Miller 2024, arXiv 2411.00640).

    (z(1 - alpha/2) + z(power)) sqrt((omega^2 + 2 sigma^2 / K) / n) for n tasks and K runs an arm.

    Args:
        tasks: The number of tasks.
        runs: The runs of a task in each arm; ``None`` for so many that their noise vanishes.
        alpha: The level of the test.
        power: How often the effect is to be detected.
        between_variance: omega^2, the variance of the true differences between tasks.
        within_variance: sigma^2, the variance of a run within a task.
        one_sided: Whether the test is one-sided.

    Raises:
        ValueError: There is no task or run, ``alpha`` or ``power`` is outside 0..1 or a variance is negative.

    """
    if tasks < 1:
        raise ValueError("needs at least one task")
    variance = _difference_variance(runs, between_variance, within_variance)
    effect = _detectable_deviations(alpha, power, one_sided) * math.sqrt(variance / tasks)
    return DetectableEffect(effect, tasks, runs, alpha, power, between_variance, within_variance, one_sided)


def sample_size(
    effect: float,
    runs: int | None = 1,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    between_variance: float = BETWEEN_VARIANCE,
    within_variance: float = WITHIN_VARIANCE,
    one_sided: bool = False,
) -> SampleSize:
    """Return how many tasks detect a mean difference with the given power (Miller 2024, arXiv 2411.00640).

    (z(1 - alpha/2) + z(power))^2 (omega^2 + 2 sigma^2 / K) / delta^2, rounded up: fewer would miss the power.

    Args:
        effect: delta, the mean difference to detect.
        runs: K, the runs of a task in each arm; ``None`` for so many that their noise vanishes.
        alpha: The level of the test.
        power: How often the effect is to be detected.
        between_variance: omega^2, the variance of the true differences between tasks.
        within_variance: sigma^2, the variance of a run within a task.
        one_sided: Whether the test is one-sided.

    Raises:
        ValueError: ``effect`` is zero or not finite, there is no run, ``alpha`` or ``power`` is outside 0..1 or a
            variance is negative.

    """
    if effect == 0 or not math.isfinite(effect):
        raise ValueError("the effect must be finite and not zero")
    variance = _difference_variance(runs, between_variance, within_variance)
    unrounded = _detectable_deviations(alpha, power, one_sided) ** 2 * variance / effect**2
    tasks = max(1, math.ceil(unrounded))
    return SampleSize(tasks, unrounded, effect, runs, alpha, power, between_variance, within_variance, one_sided)


def _difference_variance(runs: int | None, between_variance: float, within_variance: float) -> float:
    if runs is not None and runs < 1:
        raise ValueError("needs at least one run")
    if not (0 <= between_variance < math.inf and 0 <= within_variance < math.inf):
        raise ValueError("variances must be finite and not negative")
    return between_variance + (2 * within_variance / runs if runs else 0.0)


def _detectable_deviations(alpha: float, power: float, one_sided: bool) -> float:
    _require_rates(alpha, power)
    from scipy.stats import norm

    deviations = float(norm.isf(alpha if one_sided else alpha / 2) + norm.ppf(power))
    if deviations <= 0:
        raise ValueError("the power must exceed that of a test without an effect")
    return deviations


def mcnemar_power(
    n: int, p_win: float, p_loss: float, alpha: float = 0.05, alternative: Alternative = "two-sided"
) -> McNemarPower:
    """Return the exact power of the exact McNemar test, summed over the number of discordant pairs.

    Args:
        n: The number of tasks.
        p_win: The probability that the candidate alone succeeds.
        p_loss: The probability that the incumbent alone succeeds.
        alpha: The level of the test.
        alternative: What is asked; two-sided rejections in either direction count.

    Raises:
        ValueError: ``n`` is negative, the probabilities do not fit into 0..1 or ``alpha`` is outside 0..1.

    """
    _require_cells(p_win, p_loss)
    _require_rates(alpha, 0.5)
    if n < 0:
        raise ValueError("the number of tasks cannot be negative")
    discordant = p_win + p_loss
    if discordant == 0:
        return McNemarPower(0.0, n, p_win, p_loss, alpha, alternative)
    import numpy
    from scipy.stats import binom

    pairs = numpy.arange(n + 1)
    tail = alpha / 2 if alternative == "two-sided" else alpha
    most = binom.isf(tail, pairs, 0.5)
    # The quantile may be one off where a tail probability equals the level.
    most = numpy.where(binom.sf(most - 1, pairs, 0.5) <= tail, most - 1, most)
    most = numpy.where(binom.sf(most, pairs, 0.5) > tail, most + 1, most)
    rejected = numpy.zeros(n + 1)
    if alternative != "less":
        rejected += binom.sf(most, pairs, p_win / discordant)
    if alternative != "greater":
        rejected += binom.sf(most, pairs, p_loss / discordant)
    power = float((binom.pmf(pairs, n, min(1.0, discordant)) * rejected).sum())
    return McNemarPower(min(1.0, power), n, p_win, p_loss, alpha, alternative)


def mcnemar_sample_size(
    p_win: float,
    p_loss: float,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: Alternative = "two-sided",
) -> McNemarSampleSize:
    """Return how many tasks give the exact McNemar test its power.

    The search begins at the approximation of Connor (1987). As the exact power falls a little between jumps, the
    answer is a number of tasks that has the power while one task fewer has not; some larger number may miss it again.

    Args:
        p_win: The probability that the candidate alone succeeds.
        p_loss: The probability that the incumbent alone succeeds.
        alpha: The level of the test.
        power: How often the test is to reject.
        alternative: What is asked; the probabilities must differ in that direction.

    Raises:
        ValueError: The probabilities do not fit into 0..1 or do not differ in the direction that is asked, or
            ``alpha`` or ``power`` is outside 0..1.

    """
    _require_cells(p_win, p_loss)
    _require_rates(alpha, power)
    difference = p_loss - p_win if alternative == "less" else p_win - p_loss
    if difference == 0 or (difference < 0 and alternative != "two-sided"):
        raise ValueError("the probabilities must differ in the direction that is asked")

    def achieved(n: int) -> float:
        return mcnemar_power(n, p_win, p_loss, alpha, alternative).power

    high = _connor(p_win + p_loss, difference, alpha / 2 if alternative == "two-sided" else alpha, power)
    low = 0
    while achieved(high) < power:
        low, high = high, math.ceil(high * 1.2) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if achieved(middle) >= power else (middle, high)
    return McNemarSampleSize(high, achieved(high), p_win, p_loss, alpha, power, alternative)


def _connor(discordant: float, difference: float, tail: float, power: float) -> int:
    from scipy.stats import norm

    level, wanted = float(norm.isf(tail)), float(norm.ppf(power))
    spread = math.sqrt(max(0.0, discordant - difference**2))
    return max(1, math.ceil(((level * math.sqrt(discordant) + wanted * spread) / difference) ** 2))


def expected_maximum(k: int) -> ExpectedMaximum:
    """Return the expected maximum of k independent standard normal variables (Tippett 1925).

    The integral of 1 - Phi(x)^k over x > 0, less that of Phi(x)^k over x < 0.

    Raises:
        ValueError: ``k`` is below 1.

    """
    if k < 1:
        raise ValueError("needs at least one variable")
    from scipy.integrate import quad
    from scipy.special import log_ndtr

    # Beyond 40 deviations either integrand is below the smallest number.
    above, _ = quad(lambda x: -math.expm1(k * float(log_ndtr(x))), 0, 40, limit=200)
    below, _ = quad(lambda x: math.exp(k * float(log_ndtr(-x))), 0, 40, limit=200)
    return ExpectedMaximum(float(above - below), k)


def winners_curse(k: int, standard_error: float = 1.0) -> WinnersCurse:
    """Return by how much the best of k equally good candidates looks better than it is.

    Args:
        k: The number of candidates among which the best was chosen.
        standard_error: The standard error of each estimate; they are taken as independent and normal.

    Raises:
        ValueError: ``k`` is below 1, or ``standard_error`` is negative or not finite.

    """
    if not 0 <= standard_error < math.inf:
        raise ValueError("the standard error must be finite and not negative")
    return WinnersCurse(expected_maximum(k).value * standard_error, k, standard_error)


def variance_components(differences_by_task: Sequence[Sequence[float]]) -> VarianceComponents:
    """Estimate the variance of differences between and within tasks by the method of moments (Searle et al. 1992).

    Each is at least 0. With one run a task the variance within is 0, and that between tasks holds both; with one task
    the variance between is 0.

    Args:
        differences_by_task: For each task, the difference between the arms in each run; the numbers may differ.

    Raises:
        ValueError: There is no task, a task has no run, or a difference is not finite.

    """
    if not differences_by_task or not all(len(runs) for runs in differences_by_task):
        raise ValueError("needs at least one task, and a run in each")
    for runs in differences_by_task:
        require_finite(runs)
    tasks = len(differences_by_task)
    total = sum(map(len, differences_by_task))
    means = [math.fsum(runs) / len(runs) for runs in differences_by_task]
    squares = math.fsum((d - mean) ** 2 for runs, mean in zip(differences_by_task, means, strict=True) for d in runs)
    within = squares / (total - tasks) if total > tasks else 0.0
    if tasks == 1:
        return VarianceComponents(0.0, within, tasks, total)
    grand = math.fsum(d for runs in differences_by_task for d in runs) / total
    weighted = zip(differences_by_task, means, strict=True)
    mean_square = math.fsum(len(runs) * (mean - grand) ** 2 for runs, mean in weighted) / (tasks - 1)
    typical_runs = (total - sum(len(runs) ** 2 for runs in differences_by_task) / total) / (tasks - 1)
    return VarianceComponents(max(0.0, (mean_square - within) / typical_runs), within, tasks, total)


def _require_cells(p_win: float, p_loss: float) -> None:
    if not (p_win >= 0 and p_loss >= 0 and p_win + p_loss <= 1 + 1e-12):
        raise ValueError("probabilities must not be negative, nor together exceed 1")


def _require_rates(alpha: float, power: float) -> None:
    if not (0 < alpha < 1 and 0 < power < 1):
        raise ValueError("alpha and power must lie between 0 and 1")
