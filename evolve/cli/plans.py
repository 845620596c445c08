"""Printing plans."""

from __future__ import annotations

from evolve.bench.estimate import Totals
from evolve.cli.output import table
from evolve.records.plan import Plan


def money(micros: int | None) -> str:
    """Return money in USD; unknown is said to be unknown."""
    return "unknown" if micros is None else f"{micros / 1_000_000:.4f} USD"


def duration(seconds: float | None) -> str:
    """Return a time in minutes or seconds; unknown is said to be unknown."""
    if seconds is None:
        return "unknown"
    return f"{seconds / 60:.1f} min" if seconds >= 120 else f"{seconds:.0f} s"


def plan_text(plan: Plan, totals: Totals) -> str:
    """Return every planned cell with what will happen to it, and the totals."""
    rows = [[str(c.index), c.identity.task, c.arm, str(c.identity.run), c.action, c.reason] for c in plan.cells]
    fresh = totals.to_pay - totals.canaries
    counts = [("fresh", fresh), ("canary", totals.canaries), ("reuse", totals.reused)]
    cells = ", ".join(f"{count} {action}" for action, count in counts if count)
    return "\n".join(
        [
            table(rows, ["", "task", "arm", "run", "action", "why"]),
            f"{totals.cells} cells: {cells}",
            f"cost: at most {money(totals.upper_micros)}, expected {money(totals.expected_micros)}",
            f"session time: expected {duration(totals.expected_s)} with one worker",
            f"reuse saves: {money(totals.saved_micros)}, {duration(totals.saved_s)}",
        ]
    )
