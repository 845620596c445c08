"""``evolve measure``."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import here, open_bench
from evolve.cli.output import emit, json_option, table
from evolve.cli.run_options import options_of, run_options
from evolve.errors import ExitCode, InputError

if TYPE_CHECKING:
    from evolve.bench.measure import Bench
    from evolve.bench.plan import SweepRequest
    from evolve.records.plan import Purpose
    from evolve.records.row import Row

INCUMBENT = "incumbent"


@click.command("measure", short_help="Measure arms beside one another on train or selection tasks; decides nothing.")
@click.argument("arms", nargs=-1, metavar="[ARM]...")
@click.option("--skill", required=True, help="The skill whose tasks are run.")
@click.option("--split", type=click.Choice(("train", "selection")), default="train", show_default=True)
@click.option("--runs", type=click.IntRange(1, 1000), default=1, show_default=True, help="Runs a task and arm.")
@click.option("--plan", "plan_only", is_flag=True, help="Print what would be measured, and stop.")
@click.option("--no-reuse", is_flag=True, help="Measure everything afresh.")
@run_options
@json_option
def command(
    arms: tuple[str, ...],
    skill: str,
    split: str,
    runs: int,
    plan_only: bool,
    no_reuse: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Measure arms beside one another on train or selection tasks. Nothing is decided, no sealed task is looked at.

    ARM is incumbent, an arm of evolve.yaml, or one that ships: no-skill, no-skill-no-mcp, brief, compressed, direct,
    plan-work, review. By default the incumbent alone.

    Example: evolve measure incumbent no-skill brief --skill purchase-json
    """
    from evolve.bench.discrimination import ties
    from evolve.bench.journal import JOURNAL_FILE, read_state

    workspace = here()
    with open_bench(workspace, as_json=as_json, options=options_of(**limits)) as (bench, _):
        request = _request(bench, dict.fromkeys(arms or (INCUMBENT,)), skill, split, runs)
        bench.refuse_unpriced(request)
        plan = bench.plan(request, reuse=not no_reuse)
        if plan_only:
            from evolve.cli.plans import plan_text, plan_value

            forecasts, totals = bench.forecast(request, plan, None)
            emit(plan_value(plan, forecasts, totals), plan_text(forecasts, totals), as_json=as_json)
            return ExitCode.DONE
        before = read_state(workspace.sweeps / plan.sweep / JOURNAL_FILE)
        if before.finished:
            bench.progress.note(
                f"measured already, on {plan.created_at:%Y-%m-%d}: nothing is paid again; --runs gives more"
            )
        result = bench.run(request, plan)
    from evolve.cli.plans import money

    names = [arm.name for arm in request.arms]
    figures = {name: _figures([row for row in result.rows if row.arm == name]) for name in names}
    folder = workspace.relative(result.folder)
    header = ["arm", "resolved", "failed", "void", "input", "output", "turns", "cost"]
    lines = [table([[name, *_shown(figures[name])] for name in names], header)]
    lines.append(f"{len(request.groups[0].tasks)} {split} tasks x {runs} runs; tokens and turns are medians a cell")
    if result.spent:
        costs = [one.cost_usd_micros for one in result.spent]
        known = None if None in costs else sum(cost or 0 for cost in costs)
        lines.append(f"beside the cells, {len(result.spent)} warm-ups and lost attempts: at most {money(known)}")
    alike = ties(result.rows)
    for what, tasks in (("every arm fails", alike.floor), ("every arm resolves", alike.ceiling)):
        if tasks:
            lines.append(f"{what}, so that they tell nothing apart: {', '.join(tasks)}")
    if plan.left_out:
        lines.append(f"left out because they are expensive (--include-expensive): {', '.join(plan.left_out)}")
    lines += [f"{name}: {_kinds(figures[name])}" for name in names if figures[name]["kinds"]]
    lines.append(f"sweep: {folder}")
    told_apart = {"floor": alike.floor, "ceiling": alike.ceiling}
    emit({"sweep": folder, "arms": figures, **told_apart}, "\n".join(lines), as_json=as_json)
    unmeasured = [name for name in names if figures[name]["void"] == figures[name]["cells"]]
    return ExitCode.BROKEN if unmeasured else ExitCode.DONE


def _request(bench: Bench, names: dict[str, None], skill_name: str, split: str, runs: int) -> SweepRequest:
    from evolve.bench.plan import Group
    from evolve.records.kinds import Split

    skill = bench.workspace.skill(skill_name)
    arms = tuple(
        bench.arms.incumbent(skill) if name == INCUMBENT else bench.arms.comparator(name, skill) for name in names
    )
    tasks = bench.corpus.of(skill.name, Split(split))
    if not tasks:
        raise InputError(f"the skill {skill.name!r} has no {split} task", code="no-task")
    purpose: Purpose = "train" if split == "train" else "selection"
    return bench.request(purpose, "measured-by-hand", (Group(arms, tasks),), runs)


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
