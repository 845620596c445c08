"""What is told while a sweep runs."""

from __future__ import annotations

from typing import Protocol

from evolve.bench.cell import Phase
from evolve.records.cell_spec import CellSpec
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row


class Progress(Protocol):
    """Told what a sweep does, as it does it; phases are told from the threads that run cells."""

    def sweep_started(self, plan: Plan, to_pay: int, reused: int, workers: int) -> None:
        """Take the plan, how many cells will be paid for and how many are reused, and how many run at once."""
        ...

    def sweep_grew(self, cells: int) -> None:
        """Learn that so many reused cells will be paid for after all."""
        ...

    def cell_started(self, spec: CellSpec) -> None:
        """Take an attempt that begins."""
        ...

    def cell_phase(self, cell: PlannedCell, phase: Phase) -> None:
        """Take what an attempt at a cell does from now on."""
        ...

    def cell_ended(self, spec: CellSpec, row: Row, details: str | None = None) -> None:
        """Take what an attempt measured, and the file that tells more of it."""
        ...

    def cell_cancelled(self, spec: CellSpec) -> None:
        """Take an attempt that was given up."""
        ...

    def spent(self, why: str, cost_usd_micros: int | None) -> None:
        """Take money that no row accounts for."""
        ...

    def tick(self) -> None:
        """Learn that time passes."""
        ...

    def sweep_ended(self) -> None:
        """Learn that no more cells of this sweep follow."""
        ...

    def note(self, text: str) -> None:
        """Take a sentence that the user should read."""
        ...
