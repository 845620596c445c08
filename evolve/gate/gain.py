"""Gain: the declared estimand with its interval, and the paired test at the level of the look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from evolve.gate.metrics import METRICS, counted
from evolve.gate.table import ROUNDING, TaskFigures, TaskRuns, figures_of
from evolve.records.decision import Estimate, Reason, TestResult
from evolve.records.policy import QUALITIES, Estimand, Metric, Policy
from evolve.stats.paired import PValue, mcnemar_exact, paired_t_interval, sign_flip

Differences = Sequence[Fraction] | Sequence[float]
CONFIDENCE = 0.95
DIGITS = 6
LABELS: dict[Estimand, str] = {
    "mean_difference": "mean difference",
    "geometric_mean_ratio": "geometric mean of the tasks' ratios",
    "ratio_of_sums": "ratio of sums over tasks",
    "mean_ratio": "mean of the tasks' ratios",
    "median_ratio": "median of the tasks' ratios",
}


def fraction_of_pct(pct: float) -> Fraction:
    """Return a percentage as the fraction that was written."""
    return Fraction(pct).limit_denominator(10**6) / 100


@dataclass(frozen=True)
class Gain:
    """How much better the candidate is, and how sure that is."""

    estimate: Estimate
    test: TestResult
    reasons: tuple[Reason, ...]

    @property
    def refused(self) -> bool:
        """Whether it is too small, or not proven."""
        return any(reason.blocking for reason in self.reasons)


def differences_of(figures: Sequence[TaskFigures], metric: Metric, estimand: Estimand) -> Differences:
    """Return one difference a task, above zero where the candidate is better, symmetric when the arms are exchanged.

    Differences of a quality, log ratios of a cost; for a ratio of sums, differences of the cost. What rounding alone
    tells apart is a tie: it is no win.
    """
    if metric is Metric.RESOLVE_RATE:
        return [Fraction(figure.candidate) - Fraction(figure.incumbent) for figure in figures]
    if metric in QUALITIES:
        return [0.0 if figure.equal else float(figure.candidate - figure.incumbent) for figure in figures]
    if estimand == "ratio_of_sums":
        return [0.0 if figure.equal else float(figure.incumbent - figure.candidate) for figure in figures]
    return [0.0 if figure.equal else math.log(figure.incumbent / figure.candidate) for figure in figures]


def gain_of(tasks: Sequence[TaskRuns], policy: Policy, alpha: float) -> Gain:
    """Return the gain over tasks that can be compared.

    Args:
        tasks: At least one task.
        policy: The thresholds.
        alpha: The level of this look, one-sided.

    """
    return gain_in(tasks, policy.metric, policy.declared_estimand, policy, alpha)


def gain_in(tasks: Sequence[TaskRuns], metric: Metric, estimand: Estimand, policy: Policy, alpha: float) -> Gain:
    """Return the gain in a metric, by an estimand."""
    figures = [figures_of(task, metric) for task in tasks]
    differences = differences_of(figures, metric, estimand)
    estimate = estimate_of(figures, metric, estimand, runs=tasks[0].planned)
    test = _test(differences, metric, policy, alpha)
    return Gain(estimate, test, _reasons(figures, metric, estimate, test, policy))


def smallest_p(tasks: int) -> float:
    """Return the p-value of a win on every one of so many tasks: none is smaller."""
    return float(0.5**tasks)


def estimate_of(
    figures: Sequence[TaskFigures], metric: Metric, estimand: Estimand, *, runs: int, decides: bool = True
) -> Estimate:
    """Return an estimate over tasks with its interval."""
    if metric in QUALITIES:
        return _difference(figures, metric, runs, decides)
    from evolve.stats.estimands import ESTIMANDS

    ratio = ESTIMANDS[estimand](
        [float(figure.incumbent) for figure in figures], [float(figure.candidate) for figure in figures]
    )
    return Estimate(
        estimand=f"{LABELS[estimand]} of {metric.value}, candidate to incumbent, as a change",
        decides=decides,
        value=_change(ratio.value),
        low=_change(ratio.low),
        high=_change(ratio.high),
        confidence=CONFIDENCE,
        interval=ratio.interval,
        unit="per cent",
        tasks=len(figures),
        runs=runs,
        not_comparable=ratio.reason or None,
    )


def _change(ratio: float | None) -> float | None:
    return None if ratio is None or not math.isfinite(ratio) else round((ratio - 1) * 100, DIGITS)


def _difference(figures: Sequence[TaskFigures], metric: Metric, runs: int, decides: bool) -> Estimate:
    values = [figure.candidate - figure.incumbent for figure in figures]
    interval = paired_t_interval([float(value) for value in values], CONFIDENCE)
    facts = METRICS[metric]

    def bounded(value: float) -> float:
        return round(max(-facts.scale, min(facts.scale, value * facts.scale)), DIGITS)

    name = "the resolve rate" if metric is Metric.RESOLVE_RATE else metric.value
    return Estimate(
        estimand=f"mean difference of {name}, candidate minus incumbent",
        decides=decides,
        value=bounded(float(sum(values) / len(values))),
        low=bounded(interval.low),
        high=bounded(interval.high),
        confidence=CONFIDENCE,
        interval=f"{interval.method} over tasks",
        unit=facts.unit,
        tasks=len(values),
        runs=runs,
    )


def _test(
    differences: Sequence[Fraction] | Sequence[float], metric: Metric, policy: Policy, alpha: float
) -> TestResult:
    wins = sum(value > 0 for value in differences)
    losses = sum(value < 0 for value in differences)
    if policy.test == "mcnemar_exact" and metric is Metric.RESOLVE_RATE:
        result = mcnemar_exact(wins, losses, "greater")
    else:
        result = sign_flip(on_lattice(differences), "greater")
    return TestResult(
        name=_test_name(result),
        alternative="greater",
        p_value=result.p_value,
        alpha=alpha,
        wins=wins,
        losses=losses,
        ties=len(differences) - wins - losses,
    )


def on_lattice(differences: Differences) -> list[float]:
    """Return fractions as the whole numbers in the same proportion, for which the test is exact at any number."""
    if not all(isinstance(value, Fraction) for value in differences):
        return [float(value) for value in differences]
    scale = math.lcm(*(Fraction(value).denominator for value in differences))
    return [float(value * scale) for value in differences]


def _test_name(result: PValue) -> str:
    if result.test == "mcnemar_exact":
        return "exact McNemar test over tasks"
    return f"{'exact' if result.exact else 'resampled'} sign-flip test over tasks"


def _reasons(
    figures: Sequence[TaskFigures], metric: Metric, estimate: Estimate, test: TestResult, policy: Policy
) -> tuple[Reason, ...]:
    size = _size_reason(figures, metric, estimate, policy)
    reasons = [size]
    if test.wins <= 1:
        text = (
            f"{test.wins or 'none'} of {counted(estimate.tasks, 'task', 'tasks')} is better; one alone is never enough"
        )
        reasons.append(Reason(code="too-few-wins", text=text, blocking=True, numbers={"wins": test.wins}))
    if policy.proven:
        reasons.append(proof_reason(test))
    return tuple(reasons)


def proof_reason(test: TestResult, of: str = "look") -> Reason:
    """Return whether the test reaches its level, that of the look or of a round's share in it."""
    significant = test.p_value <= test.alpha
    return Reason(
        code="significant" if significant else "not-significant",
        text=(
            f"{test.name}: p = {test.p_value:.3g} (one-sided), this {of} has {test.alpha:.3g}; "
            f"{test.wins} tasks better, {test.losses} worse, {test.ties} equal"
        ),
        blocking=not significant,
        numbers={"p_value": test.p_value, "alpha": test.alpha},
    )


def _of(metric: Metric) -> str:
    return "" if metric is Metric.RESOLVE_RATE else f" of the {metric.value}"


def _size_reason(figures: Sequence[TaskFigures], metric: Metric, estimate: Estimate, policy: Policy) -> Reason:
    wanted = fraction_of_pct(policy.min_improvement_pct)
    if estimate.value is None:
        enough, shown = False, f"not comparable: {estimate.not_comparable}"
    elif metric in QUALITIES:
        total = sum((figure.candidate - figure.incumbent for figure in figures), start=Fraction(0))
        slack = 0 if metric is Metric.RESOLVE_RATE else ROUNDING
        enough, shown = total / len(figures) + slack >= wanted, f"{estimate.value:+.1f} points{_of(metric)}"
    else:
        enough = estimate.value <= -float(wanted) * 100
        shown = f"{metric.value.replace('_', ' ')} {estimate.value:+.1f} %"
    asked = f"{policy.min_improvement_pct:g}" if metric in QUALITIES else f"-{policy.min_improvement_pct:g} %"
    interval = (
        ""
        if estimate.low is None or estimate.high is None
        else (f" (95 % interval {estimate.low:+.1f} to {estimate.high:+.1f})")
    )
    return Reason(
        code="improvement" if enough else "improvement-too-small",
        text=f"{shown} over {estimate.tasks} tasks x {estimate.runs} runs{interval}; the policy asks for {asked}",
        blocking=not enough,
        numbers={"value": estimate.value, "min_improvement_pct": policy.min_improvement_pct},
    )
