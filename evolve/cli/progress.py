"""Telling what a sweep does: live lines on a terminal, plain lines elsewhere, JSON events for programs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from evolve.bench.cell import Phase
from evolve.cli.output import emit_event, plain, say
from evolve.cli.plans import duration
from evolve.cli.tally import Tally
from evolve.records.cell_spec import CellSpec
from evolve.records.kinds import ErrorKind
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.progress import TaskID

TITLES = {
    "baseline": "incumbents on train",
    "train": "candidates on train",
    "selection": "candidates on selection",
    "sealed": "candidate against incumbent on sealed",
}
HEARTBEAT_S = 60.0


def title(plan: Plan) -> str:
    """Return what a sweep is, in a few words."""
    return TITLES[plan.purpose]


GRADED = (ErrorKind.VERIFY_FAILED, ErrorKind.ORACLE_FAILED)


def outcome(row: Row, details: str | None = None) -> str:
    """Return how an attempt ended, in a few words; of a session that failed, the cause and where to read on."""
    if row.kind is None:
        return "resolved"
    how = f"{'void' if row.void else 'failed'}: {row.kind}"
    if row.kind in GRADED and not row.detail:
        failed = next((o.failed_check for o in (row.verify, row.oracle) if o is not None and o.failed_check), None)
        return f"{how}: {failed}" if failed else how
    cause = f": {row.detail}" if row.detail else ""
    return f"{how}{cause} (see {details})" if details else f"{how}{cause}"


def _cell_name(cell: PlannedCell) -> str:
    return f"{cell.identity.task} run {cell.identity.run} ({cell.arm})"


class Teller:
    """Keeps the totals, and says that it lives when nothing else was said for a minute.

    ``begins_with`` is what a running cell is said to do until its phase is told; who looks on is never told.
    """

    begins_with = "starting"

    def __init__(self) -> None:
        self.tally = Tally(0)
        self._spoke = time.monotonic()

    def spoke(self) -> None:
        """Remember that something was just said."""
        self._spoke = time.monotonic()

    def heartbeat(self) -> None:
        """Say that the sweep goes on."""

    def begin(self, to_pay: int, reused: int) -> None:
        """Begin to count a sweep."""
        self.tally = Tally(to_pay, reused)
        self.spoke()

    def catch_up(self, rows: Iterable[Row], spent: Iterable[int | None], seconds: float) -> None:
        """Count what happened before anybody looked, in so many seconds."""
        self.tally.began(seconds)
        for row in rows:
            self.tally.take(row)
        for micros in spent:
            self.tally.spend(micros)

    def sweep_grew(self, cells: int) -> None:
        """Count reused cells among those that are paid for."""
        self.tally.to_pay += cells
        self.tally.reused -= cells

    def cell_phase(self, cell: PlannedCell, phase: Phase) -> None:
        """Take what an attempt does from now on."""

    def cell_cancelled(self, spec: CellSpec) -> None:
        """Take an attempt that was given up."""

    def spent(self, why: str, cost_usd_micros: int | None) -> None:
        """Count what no row accounts for."""
        self.tally.spend(cost_usd_micros)

    def tick(self) -> None:
        """Say that the sweep goes on, when it was silent for a minute."""
        if time.monotonic() - self._spoke >= HEARTBEAT_S:
            self.heartbeat()
            self.spoke()

    def sweep_started(self, plan: Plan, to_pay: int, reused: int, workers: int) -> None:
        """Take the plan."""
        self.begin(to_pay, reused)

    def cell_started(self, spec: CellSpec) -> None:
        """Take an attempt that begins."""

    def cell_ended(self, spec: CellSpec, row: Row, details: str | None = None) -> None:
        """Count an attempt that ended."""
        self.tally.take(row)

    def sweep_ended(self) -> None:
        """Take the end."""

    def note(self, text: str) -> None:
        """Take a note."""


class EventProgress(Teller):
    """One JSON object a line on standard error; standard output is left to the result."""

    def _tell(self, event: str, **fields: Any) -> None:
        emit_event(event, **fields)
        self.spoke()

    def sweep_started(self, plan: Plan, to_pay: int, reused: int, workers: int) -> None:
        """Tell what is to be done."""
        self.begin(to_pay, reused)
        cells = len(plan.cells)
        counts = {"cells": cells, "to_pay": to_pay, "reused": reused, "workers": workers}
        self._tell("sweep-started", sweep=plan.sweep, purpose=plan.purpose, **counts)

    def _cell(self, event: str, spec: CellSpec, **fields: Any) -> None:
        identity = spec.cell.identity
        where = {"cell": spec.cell.index, "task": identity.task, "run": identity.run, "arm": spec.cell.arm}
        self._tell(event, **where, attempt=spec.attempt, **fields)

    def cell_started(self, spec: CellSpec) -> None:
        """Tell that an attempt begins."""
        self._cell("cell-started", spec)

    def cell_ended(self, spec: CellSpec, row: Row, details: str | None = None) -> None:
        """Tell what an attempt measured."""
        self.tally.take(row)
        usage = row.usage
        self._cell(
            "cell-ended",
            spec,
            resolved=row.resolved,
            void=row.void,
            kind=row.kind,
            detail=row.detail,
            details=details,
            cost_usd_micros=usage.cost_usd_micros,
            session_ms=usage.session_ms,
        )

    def cell_cancelled(self, spec: CellSpec) -> None:
        """Tell that an attempt was given up."""
        self._cell("cell-cancelled", spec)

    def spent(self, why: str, cost_usd_micros: int | None) -> None:
        """Tell what no row accounts for."""
        super().spent(why, cost_usd_micros)
        self._tell("spent", why=why, cost_usd_micros=cost_usd_micros)

    def heartbeat(self) -> None:
        """Tell the totals."""
        self._tell("heartbeat", **self.tally.value())

    def sweep_ended(self) -> None:
        """Tell the totals."""
        self._tell("sweep-ended", **self.tally.value())

    def note(self, text: str) -> None:
        """Tell a note."""
        self._tell("note", text=text)


class LineProgress(Teller):
    """One plain, flushed line an event, without control codes."""

    def _say(self, text: str) -> None:
        say(text, err=True)
        sys.stderr.flush()
        self.spoke()

    def sweep_started(self, plan: Plan, to_pay: int, reused: int, workers: int) -> None:
        """Print what is to be done."""
        self.begin(to_pay, reused)
        canaries = sum(cell.action == "canary" for cell in plan.cells)
        extra = f", {reused} reused with {canaries} paid canaries" if reused or canaries else ""
        at_once = f", {workers} at once" if workers > 1 else ""
        self._say(f"{title(plan)}: {to_pay} cells to measure{extra}{at_once} ({plan.sweep})")

    def cell_started(self, spec: CellSpec) -> None:
        """Say nothing: the line comes when the cell has ended."""

    def cell_ended(self, spec: CellSpec, row: Row, details: str | None = None) -> None:
        """Print what became of the cell."""
        self.tally.take(row)
        width = len(str(self.tally.to_pay))
        took = "" if row.usage.session_ms is None else f", {row.usage.session_ms / 1000:.1f} s"
        again = f", attempt {spec.attempt}" if spec.attempt > 1 else ""
        count = f"{self.tally.done:{width}d}/{self.tally.to_pay}"
        self._say(f"  {count}  {_cell_name(spec.cell)}: {outcome(row, details)}{took}{again}")

    def cell_cancelled(self, spec: CellSpec) -> None:
        """Print which cell was given up."""
        self._say(f"  given up: {_cell_name(spec.cell)}")

    def heartbeat(self) -> None:
        """Print the totals."""
        self._say(f"  still at it: {self.tally.text()}")

    def sweep_ended(self) -> None:
        """Print the totals."""
        if self.tally.to_pay:
            self._say(f"  {self.tally.text()}, in {duration(self.tally.elapsed_s)}")

    def note(self, text: str) -> None:
        """Print a note."""
        self._say(text)


class Board:
    """What a terminal shows while a sweep runs: a bar, the totals, and a line for each running cell."""

    def __init__(self, name: str, to_pay: int) -> None:
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.console = Console(stderr=True)
        text = TextColumn("{task.description}", markup=False)
        self._bar = Progress(text, BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn())
        self._totals = Progress(text)
        self._cells = Progress(text, TextColumn("{task.fields[phase]}", markup=False), TimeElapsedColumn())
        self._overall = self._bar.add_task(name, total=to_pay)
        self._sum = self._totals.add_task("")
        self._lines: dict[int, TaskID] = {}
        self._live = Live(Group(self._bar, self._totals, self._cells), console=self.console, refresh_per_second=4)
        self._live.start()

    @property
    def running(self) -> dict[str, str]:
        """The running cells by name, with the phase of each."""
        return {task.description.strip(): task.fields["phase"] for task in self._cells.tasks}

    def add(self, cell: PlannedCell, phase: str) -> None:
        """Add a line for a cell, and what it does for now."""
        name = plain(f"  {_cell_name(cell)}")
        self._lines[cell.index] = self._cells.add_task(name, total=None, phase=phase)

    def show_phase(self, cell: PlannedCell, phase: Phase) -> None:
        """Show what a cell does."""
        if (line := self._lines.get(cell.index)) is not None:
            self._cells.update(line, phase=phase)

    def drop(self, cell: PlannedCell) -> None:
        """Take the line of a cell away."""
        if (line := self._lines.pop(cell.index, None)) is not None:
            self._cells.remove_task(line)

    def show_totals(self, done: int, text: str) -> None:
        """Show the totals."""
        self._bar.update(self._overall, completed=done)
        self._totals.update(self._sum, description=f"  {text}")

    def grow(self, to_pay: int) -> None:
        """Make the bar longer."""
        self._bar.update(self._overall, total=to_pay)

    def close(self) -> None:
        """Leave the bar and the totals as they stand, without the cells."""
        for line in self._lines.values():
            self._cells.remove_task(line)
        self._live.stop()


class BarProgress(Teller):
    """On a terminal: one bar with the totals, and below it a line for each running cell with its phase."""

    def __init__(self) -> None:
        super().__init__()
        self.board: Board | None = None

    def sweep_started(self, plan: Plan, to_pay: int, reused: int, workers: int) -> None:
        """Show an empty bar."""
        self.begin(to_pay, reused)
        self.board = Board(title(plan), to_pay)

    def sweep_grew(self, cells: int) -> None:
        """Make the bar longer."""
        super().sweep_grew(cells)
        if self.board is not None:
            self.board.grow(self.tally.to_pay)

    def _refresh(self) -> None:
        if self.board is not None:
            self.board.show_totals(self.tally.done, self.tally.text())

    def cell_started(self, spec: CellSpec) -> None:
        """Add a line for the cell."""
        if self.board is not None:
            self.board.add(spec.cell, self.begins_with)

    def cell_phase(self, cell: PlannedCell, phase: Phase) -> None:
        """Show the phase on the cell's line."""
        if self.board is not None:
            self.board.show_phase(cell, phase)

    def _drop_line(self, spec: CellSpec) -> None:
        if self.board is not None:
            self.board.drop(spec.cell)

    def cell_ended(self, spec: CellSpec, row: Row, details: str | None = None) -> None:
        """Advance the bar; a void cell is printed above it."""
        self.tally.take(row)
        self._drop_line(spec)
        self._refresh()
        if row.void:
            self.note(f"{_cell_name(spec.cell)}: {outcome(row, details)}")

    def cell_cancelled(self, spec: CellSpec) -> None:
        """Take the cell's line away."""
        self._drop_line(spec)

    def tick(self) -> None:
        """Show how time passes."""
        self._refresh()

    def sweep_ended(self) -> None:
        """Leave the totals as they stand."""
        self._refresh()
        if self.board is not None:
            self.board.close()
            self.board = None

    def note(self, text: str) -> None:
        """Print a note, above the bar where there is one."""
        if self.board is not None:
            self.board.console.print(plain(text), markup=False, highlight=False)
        else:
            say(text, err=True)


def progress_for(*, as_json: bool) -> Teller:
    """Return the progress that fits where the output goes."""
    if as_json:
        return EventProgress()
    return BarProgress() if sys.stderr.isatty() else LineProgress()
