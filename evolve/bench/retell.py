"""Telling a sweep that somebody else runs: each event of its journal as the step that it was."""

from __future__ import annotations

from pathlib import Path

from evolve.bench.books import is_reused
from evolve.bench.follow import Follower
from evolve.bench.progress import Progress
from evolve.bench.reuse import stored_reply, stored_transcript
from evolve.records.cell_spec import CellSpec
from evolve.records.event import Event
from evolve.records.row import Row


class Retelling:
    """Follows a sweep and tells it to a progress.

    Args:
        folder: The sweep's folder.
        progress: Who is told what happens from now on.

    Raises:
        InputError: Its plan is gone or invalid.
        EvidenceFault: Its journal is damaged, or began with another plan.

    """

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.folder = folder
        self._progress = progress
        self._follower = Follower(folder)
        self._specs: dict[int, CellSpec] = {}
        self.earlier = tuple(self._follower.new_events())
        self.plan = self._follower.plan()
        self._cells = {cell.index: cell for cell in self.plan.cells}
        state = self._follower.state
        self.reused = {cell.index for cell in self.plan.cells if is_reused(cell, state)}

    @property
    def finished(self) -> bool:
        """Whether it has come to its end."""
        return self._follower.state.finished

    @property
    def why(self) -> str | None:
        """Why it stopped early, if it did."""
        return self._follower.state.stopped

    def begin(self) -> None:
        """Tell which sessions are under way already."""
        for lease in self._follower.state.leases.values():
            if lease.cell is not None:
                self._started(lease.token, lease.cell, lease.attempt)

    def go_on(self) -> int:
        """Tell what has happened since, and return how many events that were.

        Raises:
            EvidenceFault: The journal is damaged.

        """
        events = self._follower.new_events()
        for event in events:
            self._tell(event)
        self._progress.tick()
        return len(events)

    def _tell(self, event: Event) -> None:
        if event.event == "leased" and event.cell is not None:
            self._started(event.token or 0, event.cell, event.attempt)
        elif event.event in ("settled", "voided") and event.row is not None and event.cell is not None:
            spec = self._spec(event.token or 0, event.cell, event.attempt)
            self._progress.cell_ended(spec, event.row, str(self._details(event.row)))
        elif event.event == "cancelled" and event.cell is not None:
            self._progress.cell_cancelled(self._spec(event.token or 0, event.cell, event.attempt))
        elif event.event == "spent":
            self._progress.spent(event.reason or "unknown", event.cost_usd_micros)
        elif event.event == "outage":
            self._progress.note(f"outage: {event.reason}")
        elif event.event == "reuse-dropped":
            self._dropped(event)

    def _dropped(self, event: Event) -> None:
        kept = {cell.index for cell in self.plan.cells if is_reused(cell, self._follower.state)}
        gone, self.reused = self.reused - kept, kept
        self._progress.sweep_grew(len(gone))
        what = f"arm {event.arm}" if event.arm is not None else f"cell {event.cell}"
        self._progress.note(f"{what} is paid for, not reused: {event.reason}")

    def _started(self, token: int, cell: int, attempt: int | None) -> None:
        self._specs[token] = self._made(token, cell, attempt)
        self._progress.cell_started(self._specs[token])

    def _spec(self, token: int, cell: int, attempt: int | None) -> CellSpec:
        return self._specs.pop(token, None) or self._made(token, cell, attempt)

    def _made(self, token: int, cell: int, attempt: int | None) -> CellSpec:
        return CellSpec(cell=self._cells[cell], attempt=attempt or 1, token=max(1, token))

    def _details(self, row: Row) -> Path:
        if row.transcript_sha256:
            return stored_transcript(self.folder, row.transcript_sha256)
        return stored_reply(self.folder, row.reply_sha256) if row.reply_sha256 else self.folder
