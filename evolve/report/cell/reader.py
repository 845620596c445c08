"""Reading cells of a workspace, one after the other: tasks and plans are read once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from evolve.bench.books import PLAN_FILE
from evolve.corpus.loading import LoadedTask, load_task
from evolve.errors import EvolveError
from evolve.records.base import read_json
from evolve.records.plan import Plan
from evolve.records.row import Row
from evolve.report.cell.kept import kept_of
from evolve.report.cell.view import CellView, cell_view


class CellReader:
    """Reads cells of the sweeps of a workspace.

    Args:
        corpus: The folder of its tasks; one that cannot be read is as one that is gone.
        sweeps: The folders of the sweeps in which something of the cells may be kept.

    """

    def __init__(self, corpus: Path, sweeps: Sequence[Path]) -> None:
        self._corpus = corpus
        self._sweeps = tuple(sweeps)

    def view(self, row: Row) -> CellView:
        """Return the page of a cell."""
        task = self._tasks.get(row.identity.task)
        return cell_view(row, kept_of(self._sweeps, row, self._adapter(row.arm), task))

    @cached_property
    def _tasks(self) -> dict[str, LoadedTask]:
        found = {}
        for folder in sorted(self._corpus.iterdir()) if self._corpus.is_dir() else ():
            try:
                task = load_task(folder)
            except (EvolveError, OSError):
                continue
            found[task.id] = task
        return found

    @cached_property
    def _plans(self) -> tuple[Plan, ...]:
        return tuple(read_json(Plan, path) for one in self._sweeps if (path := one / PLAN_FILE).exists())

    def _adapter(self, arm: str) -> str:
        plan = next((one for one in self._plans if any(each.name == arm for each in one.arms)), None)
        return "" if plan is None else str(plan.agent_of(arm).get("adapter"))
