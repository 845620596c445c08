"""Printing plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from evolve.bench.estimate import Totals
from evolve.bench.forecast import Forecast
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


def plan_text(forecasts: Sequence[Forecast], totals: Totals) -> str:
    """Return every planned cell with what will happen to it, and the totals."""
    rows = []
    for forecast in forecasts:
        cell = forecast.cell
        rows.append(
            [str(cell.index), cell.identity.task, cell.arm, str(cell.identity.run), forecast.action, forecast.reason]
        )
    counts = [
        ("done", totals.done),
        ("fresh", totals.to_pay - totals.canaries),
        ("canary", totals.canaries),
        ("reuse", totals.reused),
        ("blocked", totals.blocked),
    ]
    cells = ", ".join(f"{count} {action}" for action, count in counts if count)
    drift = f" ({money(totals.drift_micros)} more should the canaries find drift)" if totals.drift_micros else ""
    most, expected = money(totals.upper_micros), money(totals.expected_micros)
    return "\n".join(
        [
            table(rows, ["", "task", "arm", "run", "action", "why"]),
            f"{totals.cells} cells: {cells}",
            f"cost: at most {most} with every retry{drift}, expected {expected}",
            f"session time: expected {duration(totals.expected_s)} with one worker",
            f"reuse saves: {money(totals.saved_micros)}, {duration(totals.saved_s)}",
        ]
    )


def plan_value(plan: Plan, forecasts: Sequence[Forecast], totals: Totals) -> dict[str, Any]:
    """Return the same for programs."""
    cells = [
        {
            "cell": forecast.cell.index,
            "task": forecast.cell.identity.task,
            "arm": forecast.cell.arm,
            "run": forecast.cell.identity.run,
            "action": forecast.action,
            "reason": forecast.reason,
        }
        for forecast in forecasts
    ]
    return {"plan": plan.json_value(), "cells": cells, "totals": asdict(totals)}
