"""Two sides, task by task: how much each metric changed, and whether that is more than noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evolve.compare.figures import METRICS, Metric, Side, total
from evolve.errors import InputError
from evolve.stats.estimands import ESTIMANDS, Estimate, Ratio, incomparable, mean_difference
from evolve.stats.paired import sign_flip

Verdict = Literal["lower", "higher", "no difference", "not comparable"]
DEFAULT_ESTIMAND = "ratio_of_sums"
RATE_ESTIMAND = "mean_difference"
LEVEL = 0.05
_NAMED_AT_MOST = 5


@dataclass(frozen=True)
class TaskChange:
    """A task's figures on both sides, and the change from one to the other: in per cent, or in points for a rate."""

    task: str
    before: float | None
    after: float | None
    change: float | None


@dataclass(frozen=True)
class Finding:
    """What became of a metric; ``before`` and ``after`` are sums over tasks, or means for a rate."""

    metric: Metric
    estimand: str
    verdict: Verdict
    why: str
    estimate: Estimate | None
    p_value: float | None
    before: float | None
    after: float | None
    computed: tuple[str | None, str | None]
    by_task: tuple[TaskChange, ...]

    @property
    def change(self) -> float | None:
        """The change in per cent, or in points for a rate; none without a verdict."""
        return None if self.estimate is None else scaled(self.estimate, self.estimate.value)


@dataclass(frozen=True)
class Comparison:
    """Two sides and what was found of each metric over the tasks that both have."""

    before: Side
    after: Side
    tasks: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    changed: tuple[str, ...]
    findings: tuple[Finding, ...]
    caveats: tuple[str, ...]


def compare(before: Side, after: Side, metrics: Sequence[Metric] = (), estimand: str = DEFAULT_ESTIMAND) -> Comparison:
    """Compare two sides over the tasks that both have.

    Args:
        before: The side that changes are counted from.
        after: The other side.
        metrics: Which metrics, by default all.
        estimand: The name of one of ``ESTIMANDS``, for amounts; rates are compared by the mean of differences.

    Raises:
        InputError: The sides have no task in common.

    """
    both = [task for task in before.runs if task in after.runs]
    changed = [task for task in both if before.identities.get(task) != after.identities.get(task)]
    changed = changed if before.identities and after.identities else []
    tasks = [task for task in both if task not in set(changed)]
    if not tasks:
        why = f"; {listed(changed)} changed between them" if changed else ""
        raise InputError(
            f"{before.name} and {after.name} have no task in common{why}",
            hint="tasks are matched by their names",
            code="no-common-task",
        )
    return Comparison(
        before=before,
        after=after,
        tasks=tuple(tasks),
        only_before=tuple(task for task in before.runs if task not in after.runs),
        only_after=tuple(task for task in after.runs if task not in before.runs),
        changed=tuple(changed),
        findings=tuple(_finding(before, after, tasks, metric, estimand) for metric in metrics or METRICS.values()),
        caveats=tuple(_caveats(before, after, len(tasks))),
    )


def least_p_value(tasks: int) -> float:
    """Return the least two-sided p-value of an exact sign-flip test over so many tasks: 2 / 2^n."""
    return float(min(1.0, 2.0 ** (1 - tasks)))


def scaled(estimate: Estimate, value: float | None) -> float | None:
    """Return a value or a bound of an estimate in per cent of change, or in points for a difference."""
    if value is None:
        return None
    return 100 * (value - 1) if isinstance(estimate, Ratio) else 100 * value


def listed(names: Sequence[str]) -> str:
    """Return names as a list that does not run on for ever."""
    more = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


def _finding(before: Side, after: Side, tasks: Sequence[str], metric: Metric, estimand: str) -> Finding:
    old, new = before.by_task(metric, tasks), after.by_task(metric, tasks)
    estimate = None
    why = _lacking(before, after, tasks, metric, old, new)
    p_value: float | None = None
    verdict: Verdict = "not comparable"
    rate = metric.kind == "rate"
    if why is None:
        estimate = mean_difference(old, new) if rate else ESTIMANDS[estimand](old, new)
        why = estimate.reason
        if isinstance(estimate, Ratio) and estimate.value == 0:
            # A column of zeros is more often one that nobody filled than a saving of everything.
            why = f"{after.name} has nothing but zeros, which cannot be told from what was not recorded"
        if why is None:
            p_value = sign_flip(_exchangeable(estimand, old, new, rate=rate)).p_value
            verdict, why = _judged(estimate, p_value)
    share = len(tasks) if rate else 1
    sums = total(old), total(new)
    return Finding(
        metric=metric,
        estimand=RATE_ESTIMAND if rate else estimand,
        verdict=verdict,
        why=why,
        estimate=estimate if verdict != "not comparable" else None,
        p_value=p_value,
        before=None if sums[0] is None else sums[0] / share,
        after=None if sums[1] is None else sums[1] / share,
        computed=(before.computed.get(metric.name), after.computed.get(metric.name)),
        by_task=tuple(_task_change(*one, metric) for one in zip(tasks, old, new, strict=True)),
    )


def _lacking(
    before: Side,
    after: Side,
    tasks: Sequence[str],
    metric: Metric,
    old: Sequence[float | None],
    new: Sequence[float | None],
) -> str | None:
    """Return which side lacks a metric, or figures of it; ``None`` when none does."""
    sides = ((before, old), (after, new))
    without = list(dict.fromkeys(side.name for side, _ in sides if metric.name not in side.columns))
    if without:
        remedy = "; --price computes it" if metric.name == "cost_usd" else ""
        return f"{' and '.join(without)} {'lacks' if len(without) == 1 else 'lack'} the column {metric.name}{remedy}"
    gaps = [
        f"{side.name} has no {metric.name} of {_shortly(missing, tasks)}{_made_of(side, metric)}"
        for side, figures in sides
        if (missing := [task for task, figure in zip(tasks, figures, strict=True) if figure is None])
    ]
    if gaps:
        return "; ".join(gaps)
    zeros = [task for task, figure in zip(tasks, old, strict=True) if figure == 0]
    if zeros and metric.kind == "amount":
        return f"{before.name} has {metric.name} zero for {_shortly(zeros, tasks)}; nothing is a percentage of zero"
    return None


def _shortly(some: Sequence[str], tasks: Sequence[str]) -> str:
    return "any task" if len(some) == len(tasks) > 1 else listed(some)


def _made_of(side: Side, metric: Metric) -> str:
    says = side.computed.get(metric.name)
    return "" if says is None else f" (computed: {says})"


def _exchangeable(
    estimand: str, old: Sequence[float | None], new: Sequence[float | None], *, rate: bool
) -> list[float]:
    """Return a figure a task whose sign turns when the sides are exchanged, which is what a sign-flip test flips.

    The difference for rates and sums; for ratios, in which each task weighs the same, (b - a) / (b + a): it rises with
    the ratio's logarithm and is there for a figure of zero, too.
    """
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a is not None and b is not None]
    if rate or estimand == "ratio_of_sums":
        return [b - a for a, b in pairs]
    return [(b - a) / (b + a) for a, b in pairs]


def _judged(estimate: Estimate, p_value: float) -> tuple[Verdict, str]:
    """Return the verdict on an estimate, and why: both the interval and the exact test must tell the sides apart."""
    neutral = 1.0 if isinstance(estimate, Ratio) else 0.0
    value = estimate.value if estimate.value is not None else neutral
    above = estimate.low is not None and estimate.low > neutral
    below = estimate.high is not None and estimate.high < neutral
    if value == neutral:
        return "no difference", "there is no change"
    if not (above or below):
        return "no difference", f"the interval ({estimate.interval}) includes no change"
    if p_value > LEVEL:
        least = least_p_value(estimate.tasks)
        if least > LEVEL:
            return "no difference", f"so few tasks cannot tell: {estimate.tasks} give p = {least:.2g} at best"
        return "no difference", f"the sign-flip test over tasks gives p = {p_value:.2g}"
    return (
        "higher" if above else "lower"
    ), f"the interval ({estimate.interval}) is clear of no change, and p = {p_value:.2g}"


def _task_change(task: str, old: float | None, new: float | None, metric: Metric) -> TaskChange:
    change = None
    if old is not None and new is not None:
        if metric.kind == "rate":
            change = 100 * (new - old)
        elif incomparable([old], [new]) is None and new:
            change = 100 * (new / old - 1)
    return TaskChange(task, old, new, change)


def _caveats(before: Side, after: Side, tasks: int) -> list[str]:
    """Return what else differs between the sides than what is compared."""
    said = list(dict.fromkeys((*before.notes, *after.notes)))
    if before.agents and after.agents and before.agents != after.agents:
        said.append(f"different agents: {', '.join(before.agents)} and {', '.join(after.agents)}")
    if before.environments and after.environments and before.environments != after.environments:
        said.append(
            f"different sandboxes or runtimes: {'; '.join(before.environments)} and "
            f"{'; '.join(after.environments)}; times say little"
        )
    for side in dict.fromkeys((before.name, after.name)):
        one = before if side == before.name else after
        if not one.agents:
            said.append(f"{side}: imported, nobody vouches for its figures, or for which agent they are of")
    if least_p_value(tasks) > LEVEL:
        said.append(f"with {tasks} tasks no metric can differ, and a bootstrap's interval is narrower than it claims")
    return said
