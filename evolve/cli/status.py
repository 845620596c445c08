"""``evolve status``."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option

if TYPE_CHECKING:
    from evolve.bench.status import SweepStatus
    from evolve.workspace import Workspace

HEADER = ["sweep", "is", "done", "resolved", "void", "cost", "last event"]
SHOWN = 10


@click.command("status", short_help="Show what is running, what was interrupted, and what to do next.")
@click.option("--all", "every", is_flag=True, help="Every sweep, finished ones as well.")
@json_option
def command(every: bool, as_json: bool) -> None:
    """Show what is running, what was interrupted, and what to do next; nothing is touched, and nobody is disturbed.

    Without --all: sweeps that are running or were interrupted, and the newest that are over.

    Example: evolve status --json
    """
    from evolve.generation.state import latest_unfinished
    from evolve.promote.recovery import pending

    workspace = here()
    sweeps, damaged = _sweeps(workspace)
    over = [one for one in sweeps if one.stage in ("finished", "stopped")]
    shown = sweeps if every else [one for one in sweeps if one not in over] + over[:SHOWN]
    unfinished = latest_unfinished(workspace.generations)
    generation = unfinished.record.id if unfinished is not None else None
    promoting = pending(workspace) is not None
    value = {
        "sweeps": [{**asdict(one), "done": one.done} for one in shown],
        "left_out": len(sweeps) - len(shown),
        "damaged": damaged,
        "unfinished_generation": generation,
        "unfinished_promotion": promoting,
    }
    emit(_plain(value), _text(shown, len(sweeps) - len(shown), damaged, generation, promoting), as_json=as_json)


def _sweeps(workspace: Workspace) -> tuple[list[SweepStatus], dict[str, str]]:
    """Return where each sweep stands, the latest first, and those that cannot be read, with the reason."""
    from evolve.bench.books import PLAN_FILE
    from evolve.bench.status import sweep_status
    from evolve.errors import EvolveError

    found, damaged = [], {}
    for path in sorted(workspace.sweeps.glob(f"*/{PLAN_FILE}")):
        try:
            found.append(sweep_status(path.parent))
        except EvolveError as error:
            damaged[path.parent.name] = error.message
    return sorted(found, key=lambda one: (one.last, one.sweep), reverse=True), damaged


def _text(
    shown: list[SweepStatus], left_out: int, damaged: dict[str, str], generation: str | None, promoting: bool
) -> str:
    from evolve.cli.output import table

    lines = [table([_row(one) for one in shown], HEADER)] if shown else ["no sweep yet: evolve generation"]
    lines += [f"{left_out} more: evolve status --all"] if left_out else []
    lines += [f"cannot be read: {name}: {why}" for name, why in damaged.items()]
    running = any(one.stage == "running" for one in shown)
    if promoting:
        lines.append("a promotion is under way, or was cut off: evolve promote --recover")
    if generation is not None and not running:
        lines.append(f"next: evolve resume {generation}")
    elif not running and (left := next((one.sweep for one in shown if one.stage == "interrupted"), None)):
        lines.append(f"next: evolve resume {left}")
    return "\n".join(lines)


def _row(one: SweepStatus) -> list[str]:
    from evolve.cli.plans import money

    stage = f"running (pid {one.pid})" if one.pid is not None else one.stage
    return [
        one.sweep,
        stage,
        f"{one.done}/{one.cells}",
        str(one.resolved),
        str(one.void or ""),
        money(one.spent_micros),
        _ago(datetime.now(UTC) - one.last),
    ]


def _ago(span: Any) -> str:
    seconds = max(0, int(span.total_seconds()))
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def _plain(value: Any) -> Any:
    """Return the value with times as texts."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value
