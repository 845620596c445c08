"""What stands beside a decision and decides nothing: other figures, and caveats."""

from __future__ import annotations

from collections.abc import Sequence

from evolve.gate.gain import LABELS, estimate_of
from evolve.gate.inputs import GateInput
from evolve.gate.metrics import BLIND_TO_INPUT, counted
from evolve.gate.table import RowsByTask, TaskRuns, figures_of, invoked_only
from evolve.records.decision import Estimate, Numbers, Reason
from evolve.records.policy import QUALITIES, Estimand, Metric, Policy

# No durations: the same cells take another time each time, and a decision is to be the same.
SHOWN_BESIDE = (
    Metric.RESOLVE_RATE,
    Metric.COST_USD,
    Metric.INPUT_TOKENS,
    Metric.OUTPUT_TOKENS,
    Metric.NUM_TURNS,
)


def beside(given: GateInput, rows: RowsByTask, tasks: Sequence[TaskRuns]) -> tuple[Estimate, ...]:
    """Return the figures beside the one that decides, each labelled."""
    found = [_whole(given, rows, metric) for metric in SHOWN_BESIDE if metric is not given.policy.metric]
    found += _without_ties(tasks, given.policy)
    found += _triggered(tasks, given.policy)
    return tuple(found)


def _whole(given: GateInput, rows: RowsByTask, metric: Metric) -> Estimate:
    estimand: Estimand = "mean_difference" if metric in QUALITIES else "geometric_mean_ratio"
    if metric in QUALITIES:
        figures = [figures_of(task, metric) for task in rows.measured(metric).tasks]
        return estimate_of(figures, metric, estimand, runs=given.runs, decides=False)
    found = rows.cost_figures(metric)
    if found.missing:
        return _not_comparable(given, metric, f"{len(found.missing)} of {len(given.tasks)} tasks have rows without it")
    if not found.tasks:
        return _not_comparable(given, metric, "the incumbent resolves no task")
    return estimate_of(found.tasks, metric, estimand, runs=given.runs, decides=False)


def _not_comparable(given: GateInput, metric: Metric, why: str) -> Estimate:
    return Estimate(
        estimand=f"{LABELS['geometric_mean_ratio']} of {metric.value}, candidate to incumbent, as a change",
        decides=False,
        value=None,
        low=None,
        high=None,
        confidence=0.95,
        interval="none",
        unit="per cent",
        tasks=len(given.tasks),
        runs=given.runs,
        not_comparable=why,
    )


def _without_ties(tasks: Sequence[TaskRuns], policy: Policy) -> list[Estimate]:
    apart = [task for task in tasks if not (_floor(task) or _ceiling(task))]
    if policy.metric is not Metric.RESOLVE_RATE or not apart or len(apart) == len(tasks):
        return []
    figures = [figures_of(task, policy.metric) for task in apart]
    estimate = estimate_of(figures, policy.metric, "mean_difference", runs=apart[0].planned, decides=False)
    label = f"{estimate.estimand}, without tasks that no arm or every arm resolves in every run"
    return [estimate.model_copy(update={"estimand": label})]


def _triggered(tasks: Sequence[TaskRuns], policy: Policy) -> list[Estimate]:
    if policy.metric not in QUALITIES or all(run.invoked for t in tasks for run in (*t.incumbent, *t.candidate)):
        return []
    kept = invoked_only(tasks)
    if not kept:
        return []
    figures = [figures_of(task, policy.metric) for task in kept]
    estimate = estimate_of(figures, policy.metric, "mean_difference", runs=tasks[0].planned, decides=False)
    label = f"{estimate.estimand}, in runs in which the skill was invoked"
    return [estimate.model_copy(update={"estimand": label})]


def _floor(task: TaskRuns) -> bool:
    return task.resolved("incumbent") == task.resolved("candidate") == 0


def _ceiling(task: TaskRuns) -> bool:
    return all(run.resolved for run in (*task.incumbent, *task.candidate))


def caveats(tasks: Sequence[TaskRuns], policy: Policy, others: Sequence[Estimate]) -> list[Reason]:
    """Return what a reader must know beside the verdict; none of it blocks."""
    return [*_tier_flips(tasks, policy), *_unlike(tasks), *_not_invoked(tasks), *_input_grew(policy, others)]


def _unlike(tasks: Sequence[TaskRuns]) -> list[Reason]:
    floor = tuple(task.task for task in tasks if _floor(task))
    ceiling = tuple(task.task for task in tasks if _ceiling(task))
    found = []
    if floor:
        which = counted(
            len(floor), "task is resolved by neither arm; it tells", "tasks are resolved by neither arm; they tell"
        )
        text = f"{which} the arms not apart"
        found.append(Reason(code="floor-tasks", text=text, blocking=False, tasks=floor))
    if ceiling:
        text = f"{counted(len(ceiling), 'task is', 'tasks are')} resolved by both arms in every run"
        found.append(Reason(code="ceiling-tasks", text=text, blocking=False, tasks=ceiling))
    return found


def _tier_flips(tasks: Sequence[TaskRuns], policy: Policy) -> list[Reason]:
    """Return whether the gain reverses from one tier of tasks to another."""
    means: dict[str, float] = {}
    better = 1 if policy.of_quality else -1
    for tier in sorted({task.tier for task in tasks}):
        own = [task for task in tasks if task.tier == tier and (policy.of_quality or task.comparable_cost)]
        if own:
            estimate = estimate_of(
                [figures_of(task, policy.metric) for task in own],
                policy.metric,
                policy.declared_estimand,
                runs=own[0].planned,
            )
            means[tier] = better * (estimate.value or 0.0)
    if len(means) < 2 or not (max(means.values()) > 0 > min(means.values())):
        return []
    numbers: Numbers = {tier: better * mean for tier, mean in means.items()}
    shown = ", ".join(f"{tier} {value:+.1f}" for tier, value in numbers.items())
    text = f"the sign differs between tiers of tasks: {shown}; the figure over all tasks hides it"
    return [Reason(code="tier-sign-flip", text=text, blocking=False, numbers=numbers)]


def _not_invoked(tasks: Sequence[TaskRuns]) -> list[Reason]:
    counts = {
        "incumbent": sum(not run.invoked for task in tasks for run in task.incumbent),
        "candidate": sum(not run.invoked for task in tasks for run in task.candidate),
    }
    if not any(counts.values()):
        return []
    names = tuple(t.task for t in tasks if not all(run.invoked for run in (*t.incumbent, *t.candidate)))
    text = (
        f"the skill was never invoked in {counts['incumbent']} runs of the incumbent and {counts['candidate']} of the "
        "candidate; they count as failures"
    )
    return [Reason(code="skill-not-invoked", text=text, blocking=False, tasks=names, numbers=dict(counts))]


def _input_grew(policy: Policy, others: Sequence[Estimate]) -> list[Reason]:
    """Return whether a gain in a cost that is blind to input was bought with input: resident text is paid each call."""
    if policy.metric not in BLIND_TO_INPUT:
        return []
    for estimate in others:
        if f" of {Metric.INPUT_TOKENS.value}," in estimate.estimand and (estimate.value or 0) > 0:
            text = f"input tokens change by {estimate.value:+.1f} %, which {policy.metric.value} does not show"
            return [Reason(code="input-grew", text=text, blocking=False, numbers={"input_pct": estimate.value})]
    return []
