"""Printing decisions."""

from __future__ import annotations

import textwrap

from evolve.cli.output import table
from evolve.records.decision import Decision, Estimate, Reason, TaskResult

CAVEATS = frozenset({"floor-tasks", "ceiling-tasks", "tier-sign-flip", "skill-not-invoked", "input-grew"})
WIDTH = 110


def decision_text(decision: Decision, *, explained: bool = False) -> str:
    """Return a decision with its reasons, one a line.

    Args:
        decision: The decision.
        explained: Whether to say what each reason means, and to show estimates, tasks and the level.

    """
    lines = [f"decision: {decision.outcome.replace('_', ' ')}"]
    for reason in decision.reasons:
        lines.append(_reason_line(reason))
        if explained:
            lines += _explained(reason)
    if explained:
        lines += _figures(decision)
    return "\n".join(lines)


def _reason_line(reason: Reason) -> str:
    mark = "   " if reason.code in CAVEATS else "no " if reason.blocking else "yes"
    tasks = f": {', '.join(reason.tasks)}" if reason.tasks and len(reason.tasks) <= 4 else ""
    return f"  {mark} {reason.text}{tasks}"


def _explained(reason: Reason) -> list[str]:
    from evolve.gate.explain import explanation

    return textwrap.wrap(explanation(reason), WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)


def _figures(decision: Decision) -> list[str]:
    lines = []
    if decision.estimates:
        rows = [_estimate_row(estimate) for estimate in decision.estimates]
        lines += ["", table(rows, ["estimand", "value", "95 % interval", "tasks x runs", ""])]
    if decision.tasks:
        rows = [_task_row(task) for task in decision.tasks]
        lines += ["", table(rows, ["task", "tier", "incumbent", "candidate", ""])]
    if decision.level is not None:
        level = decision.level
        spent = f"looks before it were granted {level.spent_before:.4g}"
        lines += ["", f"level of this look: {level.granted:.4g}, one-sided (account {level.account}; {spent})"]
    return lines


def _estimate_row(estimate: Estimate) -> list[str]:
    size = f"{estimate.tasks} x {estimate.runs}"
    decides = "decides" if estimate.decides else ""
    if estimate.value is None:
        return [estimate.estimand, "not comparable", estimate.not_comparable or "", size, decides]
    interval = "none"
    if estimate.low is not None and estimate.high is not None:
        interval = f"{estimate.low:+.1f} to {estimate.high:+.1f}"
    return [estimate.estimand, f"{estimate.value:+.1f} {estimate.unit}", interval, size, decides]


def _task_row(task: TaskResult) -> list[str]:
    before, after = f"{task.incumbent_resolved}/{task.runs}", f"{task.candidate_resolved}/{task.runs}"
    if task.incumbent is not None and task.candidate is not None:
        before, after = f"{task.incumbent:,.6g} ({before})", f"{task.candidate:,.6g} ({after})"
    notes = [] if task.counted else ["not counted: the incumbent never resolves it"]
    if task.extra_runs:
        notes.append(f"{task.extra_runs} more runs of each arm")
    return [task.task, task.tier, before, after, "; ".join(notes)]
