"""Reading cells of a workspace, one after the other: plans and the tasks that are asked for are read once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from evolve.bench.books import PLAN_FILE
from evolve.bench.follow import plan_of
from evolve.corpus.loading import LoadedTask, load_task
from evolve.errors import EvolveError
from evolve.records.plan import Plan
from evolve.records.row import Row
from evolve.report.cell.kept import kept_of
from evolve.report.cell.view import CellView, cell_view


class CellReader:
    """Reads cells of the sweeps of a workspace.

    Args:
        corpus: The folder of its tasks; one that cannot be read is as one that is gone.
        sweeps: The folders of the sweeps in which something of the cells may be kept.
        plans: Their plans, where they are known; else they are read.

    """

    def __init__(self, corpus: Path, sweeps: Sequence[Path], plans: Sequence[Plan] = ()) -> None:
        self._corpus = corpus
        self._sweeps = tuple(sweeps)
        self._known_plans = tuple(plans)
        self._tasks: dict[str, LoadedTask | None] = {}

    def view(self, row: Row) -> CellView:
        """Return the page of a cell."""
        return cell_view(row, kept_of(self._sweeps, row, self._adapter(row.arm), self._task(row.identity.task)))

    def _task(self, name: str) -> LoadedTask | None:
        if name not in self._tasks:
            self._tasks[name] = self._loaded(name)
        return self._tasks[name]

    def _loaded(self, name: str) -> LoadedTask | None:
        """Return a task, which lies in a folder of its name."""
        try:
            return load_task(self._corpus / name) if name == Path(name).name else None
        except (EvolveError, OSError, ValueError):
            return None

    @cached_property
    def _plans(self) -> tuple[Plan, ...]:
        return self._known_plans or tuple(plan_of(one) for one in self._sweeps if (one / PLAN_FILE).exists())

    def _adapter(self, arm: str) -> str:
        plan = next((one for one in self._plans if any(each.name == arm for each in one.arms)), None)
        return "" if plan is None else str(plan.agent_of(arm).get("adapter"))
