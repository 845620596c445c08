"""Sweeps as sides of a comparison: an arm's rows, as the journal vouches for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evolve.bench.books import PLAN_FILE
from evolve.bench.follow import plan_of
from evolve.bench.measured import counted_rows
from evolve.compare.figures import Formula, Price, Run, Side, formulas, with_formulas
from evolve.compare.scorecards import is_file
from evolve.digest import sha256_json
from evolve.errors import InputError
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row, Usage

_MEASURED = ("completed", "wall_ms", "prompt", "cached", "output", "turns", "tool_calls", "cost_usd")
_UNCACHED = "prompt - cached, so that what was written to a cache is in it"


def find_sweep(sweeps: Path, what: str) -> Path | None:
    """Return the folder of a sweep that is named by its id or by its folder."""
    folder = sweeps / Path(what).name
    return folder if Path(what).name not in ("", "..") and is_file(folder / PLAN_FILE) else None


def read_sweep(folder: Path, price: Price | None = None) -> dict[str, Side]:
    """Read the arms of a sweep, finished or not.

    A task of which a row is void or not there yet has no figure. What was written to a cache counts as uncached.

    Args:
        folder: The sweep's folder.
        price: Computes costs, in place of those that were measured.

    Raises:
        EvidenceFault: The journal is damaged.
        InputError: The plan or a row is invalid.

    """
    plan = plan_of(folder)
    rows = counted_rows(folder)
    found = formulas(_MEASURED, price)
    return {arm.name: _side(plan, arm.name, [row for row in rows if row.arm == arm.name], found) for arm in plan.arms}


def choose_arms(
    before: dict[str, Side], after: dict[str, Side], arm: str | None = None, arm_b: str | None = None
) -> list[tuple[Side, Side]]:
    """Return which arms stand beside one another; a scorecard is an arm.

    Args:
        before: The arms of A by name.
        after: The arms of B by name.
        arm: The arm of A, and of B where ``arm_b`` is none and B has several.
        arm_b: The arm of B.

    Raises:
        InputError: There is no such arm, or none in common.

    """
    if arm is not None or arm_b is not None:
        one = _arm(before, "A", arm, arm_b)
        return [(before[one], after[_arm(after, "B", arm_b, one)])]
    if len(before) == len(after) == 1:
        return [(next(iter(before.values())), next(iter(after.values())))]
    common = [name for name in before if name in after]
    if not common:
        raise InputError(
            f"A and B have no arm in common: {', '.join(before)}; {', '.join(after)}",
            hint="choose with --arm and --arm-b",
            code="no-arm",
        )
    return [(before[name], after[name]) for name in common]


def _arm(arms: dict[str, Side], which: str, named: str | None, otherwise: str | None) -> str:
    """Return the arm of a sweep: the one that is named, else that of the other sweep, else its only one."""
    if named is None and len(arms) == 1:
        return next(iter(arms))
    name = named if named is not None else otherwise
    if name is None or name not in arms:
        raise InputError(
            f"{which} has no arm {name!r}",
            hint=f"there: {', '.join(arms)}; choose with --arm (A) and --arm-b (B), a scorecard needs neither",
            code="no-arm",
        )
    return name


def _side(plan: Plan, arm: str, rows: Sequence[Row], found: dict[str, Formula]) -> Side:
    cells = sorted((cell for cell in plan.cells if cell.arm == arm), key=lambda cell: (cell.identity.task, cell.index))
    settled = {(row.identity.task, row.identity.run): row for row in rows}
    runs: dict[str, list[Run]] = defaultdict(list)
    silent: dict[str, int] = defaultdict(int)
    for cell in cells:
        row = settled.get((cell.identity.task, cell.identity.run))
        if row is None or row.void:
            silent[cell.identity.task] += 1
        said = {} if row is None or row.void else with_formulas(_figures(row), found)
        runs[cell.identity.task].append(said)
    notes = [f"sealed tasks of {plan.sweep}: a comparison is no look, and promotes nothing"]
    notes = notes if plan.purpose == "sealed" else []
    if silent:
        told = ", ".join(f"{task} ({count})" for task, count in silent.items())
        notes.append(
            f"{plan.sweep}, arm {arm}: runs that are void or not there, so that their tasks have no figure: {told}"
        )
    return Side(
        name=f"{plan.sweep}, arm {arm}",
        runs=dict(runs),
        columns=frozenset((*_MEASURED, *found)),
        computed={**{metric: formula.says for metric, formula in found.items()}, "uncached": _UNCACHED},
        identities={cell.identity.task: _content(cell) for cell in cells},
        agents=(agent_name(plan.agent_of(arm)),),
        environments=tuple(sorted({f"{cell.identity.sandbox}, {cell.identity.runtime_sha256[:12]}" for cell in cells})),
        notes=tuple(notes),
    )


def _figures(row: Row) -> dict[str, float | None]:
    """Return what was measured of a run."""
    usage: Usage = row.usage
    return {
        "completed": float(row.resolved),
        "wall_ms": usage.session_ms,
        "prompt": usage.input_tokens,
        "cached": usage.cached_input_tokens,
        "output": usage.output_tokens,
        "turns": usage.turns,
        "tool_calls": usage.tool_calls,
        "cost_usd": None if usage.cost_usd_micros is None else usage.cost_usd_micros / 1_000_000,
    }


def _content(cell: PlannedCell) -> str:
    """Return what makes a task the same task: its text, its checks and what its work begins with."""
    identity = cell.identity
    return sha256_json([identity.task_sha256, identity.oracle_sha256, identity.beginning_sha256])


def agent_name(agent: dict[str, Any]) -> str:
    """Return an agent's adapter, version and model, and the digest that tells it apart from its like."""
    model = agent.get("model") or agent.get("settings") or {}
    named = model.get("name") or model.get("model") if isinstance(model, dict) else model
    words = [agent.get("adapter"), agent.get("version"), named]
    return f"{' '.join(str(word) for word in words if word)} ({sha256_json(agent)[:12]})"
