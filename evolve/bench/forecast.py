"""What will happen to every cell of a plan, as things stand: before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from evolve.bench.budget import Admission, Budget, Limits
from evolve.bench.journal import SweepState
from evolve.records.plan import Plan, PlannedCell


@dataclass(frozen=True)
class Forecast:
    """What will happen to a cell, and why."""

    cell: PlannedCell
    action: Literal["done", "fresh", "canary", "reuse", "blocked"]
    reason: str


def forecast(
    plan: Plan,
    state: SweepState,
    limits: Limits,
    worst_micros: Callable[[PlannedCell], int | None],
    refusal: str | None = None,
    beside_micros: int | None = 0,
) -> list[Forecast]:
    """Say what will happen to each cell, in plan order.

    A cell is blocked when nothing would be run at all, or when the budget may end before it, should every cell before
    it cost the most that one attempt can.

    Args:
        plan: The plan.
        state: What the sweep's journal says already.
        limits: The budget.
        worst_micros: The most that one attempt at a cell can cost.
        refusal: Why the sweep would not be begun, if that is so.
        beside_micros: The most that is spent before the first cell.

    """
    budget = Budget(limits)
    budget.carry(state.booked_micros + (beside_micros or 0), len(state.settled))
    found: dict[int, Forecast] = {}
    for cell in sorted(plan.cells, key=lambda cell: cell.action != "canary"):
        dropped = cell.arm in state.dropped_arms or cell.index in state.dropped_cells
        if cell.index in state.settled:
            found[cell.index] = Forecast(cell, "done", "measured by this sweep already")
        elif refusal is not None:
            found[cell.index] = Forecast(cell, "blocked", refusal)
        elif cell.action == "reuse" and not dropped:
            found[cell.index] = Forecast(cell, "reuse", cell.reason)
        else:
            found[cell.index] = _paid(cell, budget, worst_micros(cell), plan.max_attempts)
    return [found[cell.index] for cell in plan.cells]


def _paid(cell: PlannedCell, budget: Budget, worst: int | None, attempts: int) -> Forecast:
    if budget.reason is None and budget.admit(cell.index, _times(worst, attempts), 0) is Admission.YES:
        budget.settle(cell.index, worst)
        return Forecast(cell, "canary" if cell.action == "canary" else "fresh", cell.reason)
    return Forecast(cell, "blocked", f"the budget may end before it: {budget.reason}")


def _times(worst: int | None, attempts: int) -> int | None:
    return None if worst is None else worst * attempts
