"""Printing decisions."""

from __future__ import annotations

from evolve.records.decision import Decision

MARKS = {"floor-tasks": "   ", "ceiling-tasks": "   "}


def decision_text(decision: Decision) -> str:
    """Return a decision with its reasons, one a line."""
    lines = [f"decision: {decision.outcome.replace('_', ' ')}"]
    for reason in decision.reasons:
        mark = MARKS.get(reason.code, "no " if reason.blocking else "yes")
        tasks = f": {', '.join(reason.tasks)}" if reason.tasks and len(reason.tasks) <= 4 else ""
        lines.append(f"  {mark} {reason.text}{tasks}")
    return "\n".join(lines)
