"""The table that is decided on: the runs of each task, incumbent beside candidate."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from evolve.gate.inputs import GateInput
from evolve.gate.metrics import measured_of
from evolve.records.kinds import ErrorKind, Role
from evolve.records.policy import QUALITIES, Metric
from evolve.records.row import Row

Side = Literal["incumbent", "candidate"]
# Figures that differ by less than this, or by less than this share of them, differ by rounding alone.
ROUNDING = 1e-9


class Run(NamedTuple):
    """One run: whether it resolved, its figure in the metric, and whether the skill was invoked."""

    resolved: bool
    value: float
    invoked: bool = True


# Most runs are one of these: a table of pass and fail then holds next to nothing.
RESOLVED, FAILED = Run(resolved=True, value=1), Run(resolved=False, value=0)
_UNINVOKED = Run(resolved=False, value=0, invoked=False)
_UNUSED = ErrorKind.SKILL_NOT_INVOKED


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

    def rounds(self, runs: int) -> TaskRuns:
        """Return the same with its first runs, and what was measured beyond the plan."""
        return TaskRuns(self.task, self.incumbent[:runs], self.candidate[:runs], self.extra, self.tier)

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
    before, after = _costs(task.incumbent), _costs(task.candidate)
    return _with_failures(before, after)


def _costs(runs: Sequence[Run]) -> _Costs:
    return _Costs([run.value for run in runs], [run.resolved for run in runs])


def _with_failures(before: _Costs, after: _Costs) -> tuple[list[float], list[float]]:
    floored = before.with_failures_at(max(before.values))
    return floored, after.with_failures_at(max(*after.values, statistics.median(floored)))


def figures_of(task: TaskRuns, metric: Metric) -> TaskFigures:
    """Return a task in the metric: the mean of a quality over runs, the median of a cost."""
    if metric is Metric.RESOLVE_RATE:
        before = Fraction(task.resolved("incumbent"), len(task.incumbent))
        return TaskFigures(task.task, before, Fraction(task.resolved("candidate"), len(task.candidate)))
    average = statistics.fmean if metric in QUALITIES else statistics.median
    before_values, after_values = run_values(task, metric)
    return TaskFigures(task.task, average(before_values), average(after_values))


@dataclass(frozen=True)
class Measured:
    """A table in a metric, and the tasks in which a valid row has no figure in it; those runs have the figure 0."""

    tasks: tuple[TaskRuns, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """Tasks in a metric, and those in which a valid row has no figure in it."""

    tasks: tuple[TaskFigures, ...]
    missing: tuple[str, ...]


class _Costs(NamedTuple):
    values: list[float]
    resolved: list[bool]

    def with_failures_at(self, least: float) -> list[float]:
        return [
            value if resolved else max(value, least) for value, resolved in zip(self.values, self.resolved, strict=True)
        ]


def _compared(task: str, before: _Costs, after: _Costs) -> TaskFigures:
    floored, floored_after = _with_failures(before, after)
    return TaskFigures(task, statistics.median(floored), statistics.median(floored_after))


class RowsByTask:
    """The valid rows of a pair by task and role, in the order of their runs: read once, for every metric."""

    def __init__(self, given: GateInput) -> None:
        self._given = given
        self._found: dict[Metric, Measured] = {}
        self._rows: dict[tuple[str, Role], list[Row]] = defaultdict(list)
        for row in given.rows:
            if row.kind is None or not row.void:
                self._rows[(row.identity.task, row.role)].append(row)
        for rows in self._rows.values():
            rows.sort(key=lambda row: row.identity.run)

    def measured(self, metric: Metric) -> Measured:
        """Return the table in a metric, sorted by task."""
        if metric not in self._found:
            self._found[metric] = self._measure(metric)
        return self._found[metric]

    def _measure(self, metric: Metric) -> Measured:
        missing: set[str] = set()
        tables = []
        for task in sorted(self._given.tasks):
            before, after = (
                self._of(task, Role.INCUMBENT, metric, missing),
                self._of(task, Role.CANDIDATE, metric, missing),
            )
            tables.append(self._task_runs(task, before, after))
        return Measured(tuple(tables), tuple(sorted(missing)))

    def _of(self, task: str, role: Role, metric: Metric, missing: set[str]) -> tuple[Run, ...]:
        rows = self._rows[(task, role)]
        values = measured_of(metric, rows)
        if None in values:
            missing.add(task)
        figures = [0.0 if value is None else value for value in values]
        kinds = [row.kind for row in rows]
        if metric is Metric.RESOLVE_RATE:
            return tuple(RESOLVED if kind is None else _UNINVOKED if kind is _UNUSED else FAILED for kind in kinds)
        return tuple(
            Run(kind is None, figure, kind is not _UNUSED) for kind, figure in zip(kinds, figures, strict=True)
        )

    def _task_runs(self, task: str, before: tuple[Run, ...], after: tuple[Run, ...]) -> TaskRuns:
        """Return a task's runs; beyond the plan, those that both arms have."""
        first, other = self._planned(task, Role.INCUMBENT), self._planned(task, Role.CANDIDATE)
        beyond: dict[int, Run] = {}
        if len(after) > other:
            rows = self._rows[(task, Role.CANDIDATE)][other:]
            beyond = {row.identity.run: run for row, run in zip(rows, after[other:], strict=True)}
        further = zip(self._rows[(task, Role.INCUMBENT)][first:], before[first:], strict=True)
        extra = [(run, beyond[row.identity.run]) for row, run in further if row.identity.run in beyond]
        tier = self._given.tiers.get(task, "tight")
        return TaskRuns(task, before[:first], after[:other], tuple(extra), tier)

    def cost_figures(self, metric: Metric) -> Figures:
        """Return the planned runs of each task that the incumbent ever resolves, in a cost: quicker than a table."""
        missing: list[str] = []
        found = []
        for task in sorted(self._given.tasks):
            before, after = self._cost_of(task, Role.INCUMBENT, metric), self._cost_of(task, Role.CANDIDATE, metric)
            if before is None or after is None:
                missing.append(task)
            elif any(before.resolved):
                found.append(_compared(task, before, after))
        return Figures(tuple(found), tuple(missing))

    def _cost_of(self, task: str, role: Role, metric: Metric) -> _Costs | None:
        rows = self._rows[(task, role)][: self._planned(task, role)]
        values = measured_of(metric, rows)
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        return _Costs(known, [row.kind is None for row in rows])

    def _planned(self, task: str, role: Role) -> int:
        """Return how many of a task's rows are of planned runs; they are the first."""
        rows = self._rows[(task, role)]
        if not rows or rows[-1].identity.run < self._given.runs:
            return len(rows)
        return sum(row.identity.run < self._given.runs for row in rows)


def tables_of(given: GateInput, metric: Metric) -> tuple[TaskRuns, ...]:
    """Return the table of the valid rows, sorted by task."""
    return RowsByTask(given).measured(metric).tasks


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
