"""What became of a sweep that decides nothing: its arms beside one another."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evolve.bench.discrimination import ties
from evolve.cli.output import table
from evolve.cli.plans import money

if TYPE_CHECKING:
    from evolve.bench.runner import SweepResult
    from evolve.records.plan import Plan
    from evolve.records.row import Row

HEADER = ["arm", "resolved", "failed", "void", "input", "output", "turns", "cost"]


def measured_value(plan: Plan, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of each arm, and the tasks that tell them not apart."""
    alike = ties(rows)
    figures = {arm.name: _figures([row for row in rows if row.arm == arm.name]) for arm in plan.arms}
    for name, found in figures.items():
        of_arm = [row for row in rows if row.arm == name and row.identity.task not in (*alike.floor, *alike.ceiling)]
        found["resolved_apart"] = sum(row.resolved for row in of_arm if not row.void)
        found["cells_apart"] = len(of_arm)
    return {"arms": figures, "floor": alike.floor, "ceiling": alike.ceiling}


def measured_text(plan: Plan, result: SweepResult, folder: str) -> str:
    """Return the same as a table, with what is to be said about it below."""
    value = measured_value(plan, result.rows)
    figures: dict[str, Any] = value["arms"]
    tasks = {cell.identity.task for cell in plan.cells}
    runs = {cell.identity.run for cell in plan.cells}
    lines = [table([[name, *_shown(found)] for name, found in figures.items()], HEADER)]
    lines.append(f"{len(tasks)} tasks x {len(runs)} runs; tokens and turns are medians a cell")
    if result.spent:
        costs = [one.cost_usd_micros for one in result.spent]
        known = None if None in costs else sum(cost or 0 for cost in costs)
        lines.append(f"beside the cells, {len(result.spent)} warm-ups and lost attempts: at most {money(known)}")
    for what, alike in (("every arm fails", value["floor"]), ("every arm resolves", value["ceiling"])):
        if alike:
            lines.append(f"{what}, so that they tell nothing apart: {', '.join(alike)}")
    if value["floor"] or value["ceiling"]:
        apart = ", ".join(f"{name} {found['resolved_apart']}/{found['cells_apart']}" for name, found in figures.items())
        lines.append(f"resolved without these tasks: {apart}")
    if plan.left_out:
        lines.append(f"left out because they are expensive (--include-expensive): {', '.join(plan.left_out)}")
    lines += [f"{name}: {_kinds(found)}" for name, found in figures.items() if found["kinds"]]
    return "\n".join([*lines, f"sweep: {folder}"])


def _figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what became of an arm's cells; a figure that a row lacks is unknown."""
    valid = [row for row in rows if not row.void]
    costs = [row.usage.cost_usd_micros for row in rows]
    return {
        "cells": len(rows),
        "resolved": sum(row.resolved for row in valid),
        "failed": sum(not row.resolved for row in valid),
        "void": len(rows) - len(valid),
        "input_tokens": _median([row.usage.input_tokens for row in valid]),
        "output_tokens": _median([row.usage.output_tokens for row in valid]),
        "turns": _median([row.usage.turns for row in valid]),
        "cost_usd_micros": None if None in costs else sum(cost or 0 for cost in costs),
        "kinds": dict(Counter(str(row.kind) for row in rows if row.kind is not None)),
    }


def _median(figures: list[int | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return statistics.median(known) if known and len(known) == len(figures) else None


def _shown(figures: dict[str, Any]) -> list[str]:
    from evolve.cli.plans import money

    medians = [figures[name] for name in ("input_tokens", "output_tokens", "turns")]
    shown = ["unknown" if median is None else f"{median:,.0f}" for median in medians]
    resolved = f"{figures['resolved']}/{figures['cells']}"
    return [resolved, str(figures["failed"]), str(figures["void"]), *shown, money(figures["cost_usd_micros"])]


def _kinds(figures: dict[str, Any]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(figures["kinds"].items()))
