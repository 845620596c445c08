"""Printing plans."""

from __future__ import annotations

from collections import Counter

from evolve.cli.output import table
from evolve.records.plan import Plan


def plan_text(plan: Plan) -> str:
    """Return every planned cell with what will happen to it, and the totals."""
    rows = [[str(c.index), c.identity.task, c.arm, str(c.identity.run), c.action, c.reason] for c in plan.cells]
    counts = Counter(cell.action for cell in plan.cells)
    totals = ", ".join(f"{counts[action]} {action}" for action in ("fresh", "canary", "reuse") if counts[action])
    return f"{table(rows, ['', 'task', 'arm', 'run', 'action', 'why'])}\n{len(plan.cells)} cells: {totals}"
