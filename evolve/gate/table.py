"""The table that is decided on: the runs of each task, incumbent beside candidate."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from evolve.gate.inputs import GateInput
from evolve.gate.metrics import measured
from evolve.records.kinds import ErrorKind, Role
from evolve.records.policy import QUALITIES, Metric
from evolve.records.row import Row

Side = Literal["incumbent", "candidate"]
# Figures that differ by less than this, or by less than this share of them, differ by rounding alone.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Run:
    """One run: whether it resolved, its figure in the metric, and whether the skill was invoked."""

    resolved: bool
    value: float
    invoked: bool = True


@dataclass(frozen=True)
class TaskRuns:
    """The planned runs of a task in both arms, in order, and what was measured beyond them for its regression."""

    task: str
    incumbent: tuple[Run, ...]
    candidate: tuple[Run, ...]
    extra: tuple[tuple[Run, Run], ...] = ()
    tier: str = "tight"

    @property
    def planned(self) -> int:
        """Runs that both arms have."""
        return min(len(self.incumbent), len(self.candidate))

    def first(self, runs: int) -> TaskRuns:
        """Return the same with its first runs alone."""
        return TaskRuns(self.task, self.incumbent[:runs], self.candidate[:runs], (), self.tier)

    def with_extra(self, count: int) -> TaskRuns:
        """Return the same with so many of the extra runs counted among the others."""
        extra = self.extra[:count]
        incumbent = (*self.incumbent, *(before for before, _ in extra))
        return TaskRuns(self.task, incumbent, (*self.candidate, *(after for _, after in extra)), (), self.tier)

    def resolved(self, side: Side) -> int:
        """Return how many planned runs of an arm resolved."""
        return sum(run.resolved for run in getattr(self, side))

    @property
    def comparable_cost(self) -> bool:
        """Whether costs can be compared: what it costs to fail says nothing about what it costs to work."""
        return any(run.resolved for run in self.incumbent)


@dataclass(frozen=True)
class TaskFigures:
    """A task in the metric: runs averaged first (the mean of a quality, the median of a cost)."""

    task: str
    incumbent: float | Fraction
    candidate: float | Fraction

    @property
    def equal(self) -> bool:
        """Whether the arms are equal but for rounding."""
        largest = max(1.0, float(self.incumbent), float(self.candidate))
        return abs(float(self.candidate) - float(self.incumbent)) <= ROUNDING * largest


def run_values(task: TaskRuns, metric: Metric) -> tuple[list[float], list[float]]:
    """Return the figures of the incumbent's and of the candidate's runs.

    A failed run never makes an arm cheaper: it costs at least what the dearest of the arm's runs of the task did, in
    the candidate at least what counts for the incumbent, too. (Neither arm's dearest run is held against the other: a
    dearer candidate would make its rival dearer, and a cheaper incumbent would make its rival cheaper.)
    """
    if metric in QUALITIES:
        return [run.value for run in task.incumbent], [run.value for run in task.candidate]
    before = _with_failures_at(max(run.value for run in task.incumbent), task.incumbent)
    dearest = max(run.value for run in task.candidate)
    return before, _with_failures_at(max(dearest, statistics.median(before)), task.candidate)


def _with_failures_at(cost: float, runs: Sequence[Run]) -> list[float]:
    return [run.value if run.resolved else cost for run in runs]


def figures_of(task: TaskRuns, metric: Metric) -> TaskFigures:
    """Return a task in the metric: the mean of a quality over runs, the median of a cost."""
    if metric is Metric.RESOLVE_RATE:
        before = Fraction(task.resolved("incumbent"), len(task.incumbent))
        return TaskFigures(task.task, before, Fraction(task.resolved("candidate"), len(task.candidate)))
    average = statistics.fmean if metric in QUALITIES else statistics.median
    before_values, after_values = run_values(task, metric)
    return TaskFigures(task.task, average(before_values), average(after_values))


def unmeasured(given: GateInput, metric: Metric) -> tuple[str, ...]:
    """Return the tasks in which a valid row has no figure in a metric."""
    missing = {row.identity.task for row in given.rows if not row.void and measured(metric, row) is None}
    return tuple(sorted(missing))


def tables_of(given: GateInput, metric: Metric) -> tuple[TaskRuns, ...]:
    """Return the table of the valid rows, sorted by task; every row has a figure in the metric."""
    found: dict[tuple[str, Role], dict[int, Run]] = defaultdict(dict)
    for row in given.rows:
        if not row.void:
            found[(row.identity.task, row.role)][row.identity.run] = _run(row, metric)
    return tuple(_task_runs(given, task, found) for task in sorted(given.tasks))


def _run(row: Row, metric: Metric) -> Run:
    value = measured(metric, row)
    return Run(row.resolved, 0.0 if value is None else value, row.kind is not ErrorKind.SKILL_NOT_INVOKED)


def _task_runs(given: GateInput, task: str, found: dict[tuple[str, Role], dict[int, Run]]) -> TaskRuns:
    before, after = found[(task, Role.INCUMBENT)], found[(task, Role.CANDIDATE)]
    beyond = sorted(run for run in before if run >= given.runs and run in after)
    return TaskRuns(
        task=task,
        incumbent=tuple(before[run] for run in sorted(before) if run < given.runs),
        candidate=tuple(after[run] for run in sorted(after) if run < given.runs),
        extra=tuple((before[run], after[run]) for run in beyond),
        tier=given.tiers.get(task, "tight"),
    )


def invoked_only(tasks: Sequence[TaskRuns]) -> tuple[TaskRuns, ...]:
    """Return the runs in which the skill was invoked; a task that has none in one of the arms falls out."""
    kept = (
        TaskRuns(
            task.task,
            tuple(run for run in task.incumbent if run.invoked),
            tuple(run for run in task.candidate if run.invoked),
            (),
            task.tier,
        )
        for task in tasks
    )
    return tuple(task for task in kept if task.incumbent and task.candidate)
