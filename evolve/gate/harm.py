"""No harm: whether a task gets worse by more than is allowed, and whether its own noise explains it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from evolve.gate.gain import fraction_of_pct, on_lattice
from evolve.gate.metrics import counted
from evolve.gate.table import ROUNDING, TaskRuns, figures_of
from evolve.records.decision import Numbers, Reason
from evolve.records.policy import QUALITIES, Metric, Policy
from evolve.stats.two_sample import fisher_exact_fewer, permutation_lower


class Regression(StrEnum):
    """What a task's runs say about its regression."""

    NONE = "none"
    PERHAPS = "perhaps"
    REAL = "real"


@dataclass(frozen=True)
class Verdict:
    """A task's regression, after how many extra runs of each arm it is settled or open, and how many it then wants."""

    task: str
    regression: Regression
    extra_runs: int
    wanted_runs: int = 0


def verdict_on(task: TaskRuns, policy: Policy) -> Verdict:
    """Return what is to be said about a task.

    The preset ``thresholds`` takes the point estimate. ``proven`` asks after the planned runs, and after each further
    round of ``min_runs``: within the limit, the task is clear; beyond it, an exact test at ``harm_alpha`` says whether
    chance could have done it; when it could and ``extra_runs`` are used up, the regression counts.
    """
    if not policy.proven:
        beyond = is_beyond(task, policy)
        return Verdict(task.task, Regression.REAL if beyond else Regression.NONE, 0)
    extra = 0
    while True:
        measured = task.with_extra(extra)
        if not is_beyond(measured, policy):
            return Verdict(task.task, Regression.NONE, extra)
        if extra >= policy.extra_runs or chance(measured, policy) <= policy.harm_alpha:
            return Verdict(task.task, Regression.REAL, extra)
        wanted = next_extra(extra, policy)
        if wanted > len(task.extra):
            return Verdict(task.task, Regression.PERHAPS, extra, wanted)
        extra = wanted


def next_extra(extra: int, policy: Policy) -> int:
    """Return how many extra runs a task in doubt has after one more round."""
    return min(policy.extra_runs, extra + policy.min_runs)


def is_beyond(task: TaskRuns, policy: Policy) -> bool:
    """Whether a task is worse by more than ``max_task_regression_pct``."""
    limit = fraction_of_pct(policy.max_task_regression_pct)
    figures = figures_of(task, policy.metric)
    if policy.of_quality:
        slack = 0 if policy.metric is Metric.RESOLVE_RATE else ROUNDING
        return figures.incumbent - figures.candidate > limit + slack
    return _cost_matters(task) and figures.candidate > figures.incumbent * float(1 + limit) * (1 + ROUNDING)


def _cost_matters(task: TaskRuns) -> bool:
    """Whether a higher cost is harm: not where the candidate solves what the incumbent never does."""
    return task.comparable_cost or not any(run.resolved for run in task.candidate)


def chance(task: TaskRuns, policy: Policy) -> float:
    """Return how often exchanging the labels of a task's runs makes the candidate as bad as it is, or worse.

    Of a cost, as it was measured: what failures are made to cost depends on the labels, and is no noise.
    """
    if policy.metric is Metric.RESOLVE_RATE:
        found = (task.resolved("candidate"), len(task.candidate), task.resolved("incumbent"), len(task.incumbent))
        return fisher_exact_fewer(*found).p_value
    before, after = [run.value for run in task.incumbent], [run.value for run in task.candidate]
    if policy.metric in QUALITIES:
        return permutation_lower(after, before).p_value
    return permutation_lower([-math.log(v) for v in after], [-math.log(v) for v in before]).p_value


@dataclass(frozen=True)
class Harm:
    """What stands against a candidate task by task, and the tasks whose regression may be noise."""

    reasons: tuple[Reason, ...]
    perhaps: tuple[Verdict, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def wanted_runs(self) -> dict[str, int]:
        """How many extra runs of each arm the tasks still in doubt should have in all."""
        return {verdict.task: verdict.wanted_runs for verdict in self.perhaps}

    def joined(self, other: Harm) -> Harm:
        """Return both together: of a quality, and of the cost that breaks its tie."""
        return Harm((*self.reasons, *other.reasons), (*self.perhaps, *other.perhaps), (*self.verdicts, *other.verdicts))


def harm_of(tasks: Sequence[TaskRuns], policy: Policy) -> Harm:
    """Return what stands against a candidate task by task."""
    verdicts = tuple(verdict_on(task, policy) for task in tasks)
    settled = [task.with_extra(verdict.extra_runs) for task, verdict in zip(tasks, verdicts, strict=True)]
    reasons = [*_lost(settled, policy), *_worse(verdicts, policy)]
    perhaps = tuple(verdict for verdict in verdicts if verdict.regression is Regression.PERHAPS)
    return Harm(tuple(reasons), perhaps, verdicts)


def _lost(tasks: Sequence[TaskRuns], policy: Policy) -> list[Reason]:
    if not policy.proven:
        return []
    lost = tuple(
        task.task
        for task in tasks
        if task.planned >= policy.min_runs
        and all(run.resolved for run in task.incumbent)
        and not any(run.resolved for run in task.candidate)
    )
    if not lost:
        return []
    text = f"{counted(len(lost), 'task', 'tasks')} that the incumbent resolves in every run lost"
    return [Reason(code="task-lost", text=text, blocking=True, tasks=lost)]


def _worse(verdicts: Sequence[Verdict], policy: Policy) -> list[Reason]:
    worse = [verdict for verdict in verdicts if verdict.regression is Regression.REAL]
    if not worse:
        return []
    limit = f"{policy.max_task_regression_pct:g}"
    verb = "loses" if len(worse) == 1 else "lose"
    what = f"{verb} more than {limit} points of the {_named(policy.metric)}"
    if not policy.of_quality:
        what = f"at a {_named(policy.metric)} more than {limit} % higher"
    numbers: Numbers = {"max_task_regression_pct": policy.max_task_regression_pct}
    text = f"{counted(len(worse), 'task', 'tasks')} {what}"
    if policy.proven:
        numbers |= {"harm_alpha": policy.harm_alpha, "extra_runs": max(verdict.extra_runs for verdict in worse)}
        text += f", beyond what their noise explains or after {policy.extra_runs} extra runs"
    tasks = tuple(verdict.task for verdict in worse)
    return [Reason(code="task-regression", text=text, blocking=True, tasks=tasks, numbers=numbers)]


def explained(harm: Harm, policy: Policy) -> tuple[Reason, ...]:
    """Return the tasks that looked worse, were measured again, and are within the limit now."""
    cleared = [v for v in harm.verdicts if v.regression is Regression.NONE and v.extra_runs]
    if not cleared:
        return ()
    most = max(verdict.extra_runs for verdict in cleared)
    text = (
        f"{counted(len(cleared), 'task', 'tasks')} looked worse than is allowed and, with up to {most} more runs of "
        f"both arms, {'is' if len(cleared) == 1 else 'are'} not"
    )
    numbers: Numbers = {"extra_runs": most, "max_task_regression_pct": policy.max_task_regression_pct}
    tasks = tuple(verdict.task for verdict in cleared)
    return (Reason(code="regression-explained", text=text, blocking=False, tasks=tasks, numbers=numbers),)


def _named(metric: Metric) -> str:
    return metric.value.replace("_", " ")


def lower_quality(tasks: Sequence[TaskRuns], policy: Policy, alpha: float) -> tuple[Reason, ...]:
    """Return whether a cheaper candidate may have lost more of the resolve rate than the margin.

    ``proven`` asks the exact one-sided sign-flip test of the differences plus the margin; ``thresholds`` the point
    estimate. A quality that must be better need not be shown to be no worse.
    """
    if policy.of_quality and policy.metric is Metric.RESOLVE_RATE:
        return ()
    from evolve.stats.paired import sign_flip

    figures = [figures_of(task, Metric.RESOLVE_RATE) for task in tasks]
    margin = Fraction(policy.noninferiority_margin).limit_denominator(10**6)
    differences = [Fraction(f.candidate) - Fraction(f.incumbent) for f in figures]
    mean = sum(differences) / len(differences)
    numbers: Numbers = {"mean_difference": round(float(mean), 6), "margin": policy.noninferiority_margin}
    points = f"{100 * float(mean):+.1f} points of the resolve rate; at most {100 * float(margin):g} may be lost"
    if not policy.proven:
        held, text = mean >= -margin, points
    else:
        p_value = sign_flip(on_lattice([value + margin for value in differences]), "greater").p_value
        held, numbers["p_value"] = p_value <= alpha, p_value
        text = f"{points}; that no more is lost: p = {p_value:.3g}, this look has {alpha:.3g}"
    code = "quality-held" if held else "quality-in-doubt"
    return (Reason(code=code, text=text, blocking=not held, numbers=numbers),)
