"""Telling what a sweep does: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from evolve.cli.output import plain, say
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

TITLES = {
    "baseline": "incumbents on train",
    "train": "candidates on train",
    "selection": "candidates on selection",
    "sealed": "candidate against incumbent on sealed",
}
HEARTBEAT_S = 30.0


def title(plan: Plan) -> str:
    """Return what a sweep is, in a few words."""
    return TITLES[plan.purpose]


class SilentProgress:
    """Says only what the user must know, on standard error."""

    def sweep_started(self, plan: Plan, to_pay: int) -> None:
        """Say nothing."""

    def cell_started(self, cell: PlannedCell) -> None:
        """Say nothing."""

    def cell_ended(self, row: Row) -> None:
        """Say nothing."""

    def sweep_ended(self) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Print a note."""
        say(text, err=True)


class LineProgress:
    """One plain, flushed line an event, without control codes; a sign of life every half minute."""

    def __init__(self) -> None:
        self._done = 0
        self._resolved = 0
        self._to_pay = 0
        self._spoke = 0.0

    def _say(self, text: str) -> None:
        say(text, err=True)
        sys.stderr.flush()
        self._spoke = time.monotonic()

    def sweep_started(self, plan: Plan, to_pay: int) -> None:
        """Print what is to be done."""
        self._done, self._resolved, self._to_pay = 0, 0, to_pay
        reused = sum(cell.action == "reuse" for cell in plan.cells)
        canaries = sum(cell.action == "canary" for cell in plan.cells)
        extra = f", {reused} reused with {canaries} paid canaries" if reused or canaries else ""
        self._say(f"{title(plan)}: {to_pay} cells to measure{extra} ({plan.sweep})")

    def cell_started(self, cell: PlannedCell) -> None:
        """Say nothing yet."""

    def cell_ended(self, row: Row) -> None:
        """Print void cells at once, and a sign of life now and then."""
        self._done += 1
        self._resolved += row.resolved
        if row.void:
            self._say(f"  void: {row.identity.task} ({row.arm}): {row.kind}: {row.detail}")
        elif time.monotonic() - self._spoke >= HEARTBEAT_S:
            self._say(f"  {self._done} of {self._to_pay} measured, {self._resolved} resolved")

    def sweep_ended(self) -> None:
        """Print the count."""
        if self._to_pay:
            self._say(f"  {self._done} measured, {self._resolved} resolved")

    def note(self, text: str) -> None:
        """Print a note."""
        self._say(text)


class BarProgress:
    """One bar a sweep, on a terminal."""

    def __init__(self) -> None:
        self._bar: RichProgress | None = None
        self._task: Any = None
        self._resolved = 0

    def sweep_started(self, plan: Plan, to_pay: int) -> None:
        """Show an empty bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        reused = sum(cell.action == "reuse" for cell in plan.cells)
        note = f", {reused} reused" if reused else ""
        self._resolved = 0
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("{task.fields[resolved]} resolved" + note),
            TimeRemainingColumn(),
            TextColumn("{task.fields[current]}"),
            console=Console(stderr=True),
        )
        self._bar.start()
        self._task = self._bar.add_task(title(plan), total=to_pay, resolved=0, current="")

    def cell_started(self, cell: PlannedCell) -> None:
        """Show which task is under way."""
        if self._bar is not None:
            self._bar.update(self._task, current=f"{cell.identity.task} ({cell.arm})")

    def cell_ended(self, row: Row) -> None:
        """Advance the bar; a void cell is printed above it."""
        if self._bar is None:
            return
        self._resolved += row.resolved
        self._bar.update(self._task, advance=0 if row.void else 1, resolved=self._resolved)
        if row.void:
            text = plain(f"void: {row.identity.task} ({row.arm}): {row.kind}: {row.detail}")
            self._bar.console.print(text, markup=False, highlight=False)

    def sweep_ended(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def note(self, text: str) -> None:
        """Print a note, above the bar where there is one."""
        if self._bar is not None:
            self._bar.console.print(plain(text), markup=False, highlight=False)
        else:
            say(text, err=True)


def progress_for(*, as_json: bool) -> SilentProgress | LineProgress | BarProgress:
    """Return the progress that fits where the output goes."""
    if as_json:
        return SilentProgress()
    return BarProgress() if sys.stderr.isatty() else LineProgress()
