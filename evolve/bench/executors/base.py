"""What an executor is: serialisable cells in, attempts out, in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from evolve.bench.cell import Attempt
from evolve.records.cell_spec import CellSpec
from evolve.records.plan import PlannedCell


@dataclass(frozen=True)
class Delivered:
    """What became of a cell that was handed to an executor; ``fault`` is a fault of ours."""

    spec: CellSpec
    attempt: Attempt | None
    fault: BaseException | None = None


Run = Callable[[CellSpec], Attempt]
Prepare = Callable[[PlannedCell], None]


class Executor(Protocol):
    """Runs cells; ``workers`` of them at once."""

    workers: int

    def submit(self, spec: CellSpec, deliver: Callable[[Delivered], None]) -> None:
        """Take a cell; ``deliver`` is called once, from any thread, when its attempt has ended."""
        ...

    def prepare(self, cell: PlannedCell) -> None:
        """Learn that a cell comes soon, so that what it needs can be made while others run; a hint, no more."""
        ...

    def close(self) -> None:
        """Take no more cells; those under way are left to end by themselves."""
        ...
