"""What a plan will cost, at the most and as far as earlier rows tell."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row


@dataclass(frozen=True)
class Totals:
    """The totals of a plan; money in micro-USD, time in seconds; ``None`` is unknown, never zero."""

    cells: int
    to_pay: int
    canaries: int
    reused: int
    upper_micros: int | None
    expected_micros: int | None
    expected_s: float | None
    saved_micros: int | None
    saved_s: float | None


@dataclass(frozen=True)
class History:
    """What cells of one agent cost before: medians by task, and over all of them."""

    seconds: Mapping[str, float]
    micros: Mapping[str, float]

    @classmethod
    def of(cls, rows: Iterable[Row], agent_sha256: str) -> History:
        """Summarise the fresh, valid rows of an agent."""
        seconds: dict[str, list[float]] = {}
        micros: dict[str, list[float]] = {}
        for row in rows:
            if row.void or row.reused is not None or row.identity.agent_sha256 != agent_sha256:
                continue
            if row.usage.session_ms is not None:
                seconds.setdefault(row.identity.task, []).append(row.usage.session_ms / 1000)
            if row.usage.cost_usd_micros is not None:
                micros.setdefault(row.identity.task, []).append(row.usage.cost_usd_micros)
        return cls(_medians(seconds), _medians(micros))


def _medians(values: dict[str, list[float]]) -> dict[str, float]:
    return {task: statistics.median(found) for task, found in values.items()}


def _expected(cells: Sequence[PlannedCell], known: Mapping[str, float]) -> float | None:
    """Return the sum over cells; a task without history is taken for the median of those that have one."""
    if not cells:
        return 0
    if not known:
        return None
    usual = statistics.median(known.values())
    return sum(known.get(cell.identity.task, usual) for cell in cells)


def totals(plan: Plan, history: History, worst_micros: Mapping[str, int | None]) -> Totals:
    """Add a plan up.

    Args:
        plan: The plan.
        history: What such cells cost before.
        worst_micros: The most that a cell of each task can cost.

    """
    paid = [cell for cell in plan.cells if cell.action != "reuse"]
    reused = [cell for cell in plan.cells if cell.action == "reuse"]
    worst = [worst_micros[cell.identity.task] for cell in paid]
    upper = None if any(cost is None for cost in worst) else sum(cost or 0 for cost in worst)
    expected, saved = _expected(paid, history.micros), _expected(reused, history.micros)
    return Totals(
        cells=len(plan.cells),
        to_pay=len(paid),
        canaries=sum(cell.action == "canary" for cell in paid),
        reused=len(reused),
        upper_micros=upper,
        expected_micros=None if expected is None else round(expected),
        expected_s=_expected(paid, history.seconds),
        saved_micros=None if saved is None else round(saved),
        saved_s=_expected(reused, history.seconds),
    )
