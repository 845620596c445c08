"""The paired matrix: each task and run, incumbent beside candidate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from evolve.gate.metrics import METRICS
from evolve.records.decision import TaskResult
from evolve.records.kinds import Role
from evolve.records.policy import QUALITIES, Metric
from evolve.records.row import Row
from evolve.report.page.visible import shown, visible

Standing = Literal["win", "loss", "equal", "open"]
SIGNS: Final[dict[Standing, str]] = {"win": "+", "loss": "\u2212", "equal": "=", "open": "?"}
MEANINGS: Final[dict[Standing, str]] = {
    "win": "win: the candidate did better",
    "loss": "loss: the candidate did worse",
    "equal": "equal",
    "open": "not compared: a run of either arm is missing or void",
}
RESOLVED, FAILED, VOID, MISSING = "\u2713", "\u2717", "\u2205", "\u2013"
MARKS: Final = {
    RESOLVED: "resolved",
    FAILED: "not resolved",
    VOID: "void, it says nothing about its arm",
    MISSING: "not measured",
}
MOST_RUNS: Final = 100

Href = Callable[[Row], str]


def nowhere(row: Row) -> str:
    """Return that nothing tells more of a row."""
    return ""


@dataclass(frozen=True)
class PairCell:
    """One run of a task in both arms."""

    standing: Standing
    incumbent: str
    candidate: str
    words: str
    hrefs: tuple[str, str] = ("", "")

    @property
    def sign(self) -> str:
        """The standing as a sign."""
        return SIGNS[self.standing]


@dataclass(frozen=True)
class MatrixRow:
    """A task: how many runs each arm resolved, how that changed, and its runs."""

    task: str
    tier: str
    incumbent: str
    candidate: str
    change: int
    standing: Standing
    note: str
    cells: tuple[PairCell, ...]
    regressed: bool

    @property
    def sign(self) -> str:
        """The standing of the whole task as a sign."""
        return SIGNS[self.standing]


@dataclass(frozen=True)
class Matrix:
    """The tasks of one pair of arms, beside each other."""

    name: str
    title: str
    caption: str
    runs: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


@dataclass(frozen=True)
class PairOfArms:
    """What a matrix is made of: the rows of two arms, the tasks and runs that were planned, and what was decided."""

    name: str
    title: str
    incumbent: str
    candidate: str
    rows: Sequence[Row]
    tasks: Sequence[str]
    runs: int
    metric: Metric
    results: Sequence[TaskResult] = ()
    first_run: int = 0
    href: Href = nowhere

    @property
    def planned(self) -> range:
        """The runs that were planned."""
        return range(self.first_run, self.first_run + self.runs)


def matrix(pair: PairOfArms) -> Matrix:
    """Return the matrix of a pair of arms."""
    table: dict[tuple[str, int, str], Row] = {}
    for row in pair.rows:
        table[row.identity.task, row.identity.run, row.arm] = row
    measured = {run for _, run, arm in table if arm in (pair.incumbent, pair.candidate)}
    every = len(pair.planned) + sum(run not in pair.planned for run in measured)
    runs = sorted({*pair.planned[:MOST_RUNS], *measured})[:MOST_RUNS]
    results = {result.task: result for result in pair.results}
    rows = tuple(_row(pair, task, runs, table, results.get(task)) for task in pair.tasks)
    counts = {kind: sum(cell.standing == kind for row in rows for cell in row.cells) for kind in SIGNS}
    told = ", ".join(f"{count:,} {name}" for name, count in zip(_NAMES, counts.values(), strict=True))
    cut = f" Only the first {MOST_RUNS} of {every:,} runs are shown." if every > len(runs) else ""
    caption = (
        f"{shown(pair.title)}: {len(rows):,} tasks \u00d7 {len(runs)} runs, the incumbent's run first; pairs share "
        f"task and seed. Of the pairs of runs: {told}. Compared by {_compared_by(pair.metric)}.{cut}"
    )
    heads = tuple(f"run {run}" + (" (further)" if run not in pair.planned else "") for run in runs)
    return Matrix(pair.name, shown(pair.title), caption, heads, rows)


_NAMES = ("won", "lost", "equal", "not compared")


def _compared_by(metric: Metric) -> str:
    if metric in QUALITIES and metric is not Metric.RESOLVE_RATE:
        return f"{metric.value}, in points of 100"
    return "whether every check passed"


def _row(
    pair: PairOfArms, task: str, runs: Sequence[int], table: Mapping[tuple[str, int, str], Row], told: TaskResult | None
) -> MatrixRow:
    both = [(table.get((task, run, pair.incumbent)), table.get((task, run, pair.candidate))) for run in runs]
    cells = tuple(_cell(before, after, pair) for before, after in both)
    planned = [found for run, found in zip(runs, both, strict=True) if run in pair.planned]
    change, standing = _change(told, planned, pair.metric)
    return MatrixRow(
        task=visible(task),
        tier="" if told is None else shown(told.tier, 40),
        incumbent=_resolved(told, told.incumbent_resolved if told else 0, [before for before, _ in planned]),
        candidate=_resolved(told, told.candidate_resolved if told else 0, [after for _, after in planned]),
        change=change,
        standing=standing,
        note="" if told is None else _note(told, pair.metric),
        cells=cells,
        regressed=standing == "loss",
    )


def _resolved(told: TaskResult | None, count: int, rows: Sequence[Row | None]) -> str:
    if told is not None:
        return f"{count}/{told.runs}"
    valid = [row for row in rows if row is not None and not row.void]
    return f"{sum(row.resolved for row in valid)}/{len(valid)}" if valid else "not measured"


def _change(
    told: TaskResult | None, both: Sequence[tuple[Row | None, Row | None]], metric: Metric
) -> tuple[int, Standing]:
    if told is not None:
        before: float = told.incumbent_resolved
        after: float = told.candidate_resolved
        resolved = told.candidate_resolved - told.incumbent_resolved
        if metric in QUALITIES and not resolved and told.incumbent is not None and told.candidate is not None:
            before, after = told.incumbent, told.candidate
        return resolved, _standing(before, after)
    pairs = [(a.resolved, b.resolved) for a, b in both if a is not None and b is not None and not (a.void or b.void)]
    if not pairs:
        return 0, "open"
    before, after = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    return int(after - before), _standing(before, after)


def _standing(before: float, after: float) -> Standing:
    return "win" if after > before else "loss" if after < before else "equal"


def _note(told: TaskResult, metric: Metric) -> str:
    parts = []
    if told.incumbent is not None and told.candidate is not None:
        not_counted = "" if told.counted else " (not counted: the incumbent never resolves it)"
        unit = METRICS[metric].unit if metric not in QUALITIES else "share"
        parts.append(f"{metric.value} {told.incumbent:,.6g} to {told.candidate:,.6g} {unit}{not_counted}")
    if told.extra_runs:
        parts.append(f"its regression was looked at in {told.extra_runs} more runs of each arm")
    return "; ".join(parts)


def _cell(before: Row | None, after: Row | None, pair: PairOfArms) -> PairCell:
    metric = pair.metric
    scored = metric in QUALITIES and metric is not Metric.RESOLVE_RATE
    figures = [_figure(row, metric if scored else Metric.RESOLVE_RATE) for row in (before, after)]
    first, second = figures
    standing: Standing = "open" if first is None or second is None else _standing(first, second)
    marks = [_mark(row) for row in (before, after)]
    told = [
        f"{mark} {100 * value:.0f}" if scored and value is not None else mark
        for mark, value in zip(marks, figures, strict=True)
    ]
    said = [MARKS[mark] for mark in marks]
    why = [f" ({row.kind.value})" if row is not None and row.kind is not None else "" for row in (before, after)]
    words = f"{SIGNS_IN_WORDS[standing]}: incumbent {said[0]}{why[0]}, candidate {said[1]}{why[1]}"
    hrefs = ("" if before is None else pair.href(before), "" if after is None else pair.href(after))
    return PairCell(standing, told[0], told[1], words, hrefs)


SIGNS_IN_WORDS: Final[dict[Standing, str]] = {"win": "win", "loss": "loss", "equal": "equal", "open": "not compared"}


def _figure(row: Row | None, metric: Metric) -> float | None:
    return None if row is None or row.void else METRICS[metric].of(row)


def _mark(row: Row | None) -> str:
    if row is None:
        return MISSING
    return VOID if row.void else RESOLVED if row.resolved else FAILED


def pair_of_roles(rows: Sequence[Row]) -> tuple[str, str] | None:
    """Return the names of the first incumbent and the first candidate among rows, if there are both."""
    found = {role: sorted({row.arm for row in rows if row.role is role}) for role in (Role.INCUMBENT, Role.CANDIDATE)}
    if not all(found.values()):
        return None
    return found[Role.INCUMBENT][0], found[Role.CANDIDATE][0]
