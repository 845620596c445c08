"""``evolve watch``."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evolve.cli.opening import here
from evolve.cli.output import json_option
from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.bench.retell import Retelling
    from evolve.cli.progress import Teller
    from evolve.workspace import Workspace

POLL_S = 0.25
BETWEEN_SWEEPS_S = 2.0


@click.command("watch", short_help="Watch a running sweep or generation from another terminal.")
@click.argument("sweep", required=False)
@json_option
def command(sweep: str | None, as_json: bool) -> None:
    """Watch a running sweep or generation from another terminal; whoever runs it is not disturbed.

    SWEEP is its id; by default what runs, and while a generation runs, each of its sweeps in turn. It ends when that
    does, or with Ctrl-C. With --json events go to standard error, one a line.

    Example: evolve watch
    """
    workspace = here()
    try:
        if sweep is not None:
            _watch(_folder(workspace, sweep), as_json=as_json)
        else:
            _watch_what_runs(workspace, as_json=as_json)
    except KeyboardInterrupt:
        return  # who looks on interrupts nothing


def _folder(workspace: Workspace, name: str) -> Path:
    from evolve.compare.sweeps import find_sweep

    folder = find_sweep(workspace.sweeps, name)
    if folder is None:
        raise InputError(f"{name}: no such sweep", hint="evolve status --all lists them", code="not-found")
    return folder


def _watch_what_runs(workspace: Workspace, *, as_json: bool) -> None:
    """Watch whatever runs, one sweep after the other while a generation goes on."""
    from evolve.cli.progress import progress_for

    folder, generation = _running(workspace, set()), _generation_runs(workspace)
    if folder is None and not generation:
        raise InputError("nothing is running", hint="evolve status shows what there is", code="nothing-runs")
    if folder is None:
        progress_for(as_json=as_json).note("a generation runs, and no sweep of it; the next one is waited for")
    seen: set[Path] = set()
    last = time.monotonic()
    while _generation_runs(workspace) or time.monotonic() < last + BETWEEN_SWEEPS_S:
        folder = _running(workspace, seen)
        if folder is None:
            time.sleep(POLL_S)
            continue
        seen.add(folder)
        if not _watch(folder, as_json=as_json):
            return
        last = time.monotonic()
    if generation:
        progress_for(as_json=as_json).note("the generation does not run any more; evolve status shows how it stands")


def _running(workspace: Workspace, seen: set[Path]) -> Path | None:
    """Return the sweep that runs and was not seen yet, the latest of several."""
    from evolve.bench.books import LOCK_FILE, PLAN_FILE
    from evolve.files import holder_of

    plans = sorted(workspace.sweeps.glob(f"*/{PLAN_FILE}"), key=_written, reverse=True)
    folders = (path.parent for path in plans if path.parent not in seen)
    return next((folder for folder in folders if holder_of(folder / LOCK_FILE) is not None), None)


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # it is gone since it was listed
        return 0


def _generation_runs(workspace: Workspace) -> bool:
    from evolve.files import holder_of
    from evolve.generation.state import GENERATION_LOCK

    return holder_of(workspace.locks / GENERATION_LOCK) is not None


def _watch(folder: Path, *, as_json: bool) -> bool:
    """Watch a sweep until it is over, or nobody runs it any more; false when it was interrupted."""
    from evolve.bench.books import LOCK_FILE
    from evolve.bench.retell import Retelling
    from evolve.cli.progress import progress_for
    from evolve.files import holder_of

    progress = progress_for(as_json=as_json)
    progress.begins_with = "under way"
    retelling = Retelling(folder, progress)
    _begin(retelling, progress)
    try:
        while True:
            runs = holder_of(folder / LOCK_FILE) is not None
            retelling.go_on()
            if retelling.finished or not runs:
                break
            time.sleep(POLL_S)
    finally:
        progress.sweep_ended()
    if retelling.why is not None:
        progress.note(f"stopped: {retelling.why}")
    elif not retelling.finished:
        progress.note(f"interrupted; go on with: evolve resume {folder.name}")
    return retelling.finished


def _begin(retelling: Retelling, progress: Teller) -> None:
    """Show the totals as whoever runs it has them."""
    plan = retelling.plan
    progress.sweep_started(plan, len(plan.cells) - len(retelling.reused), len(retelling.reused), 1)
    began = next((event.at for event in retelling.earlier if event.event == "leased"), None)
    ago = 0.0 if began is None else (datetime.now(UTC) - began).total_seconds()
    progress.catch_up(
        [event.row for event in retelling.earlier if event.row is not None],
        [event.cost_usd_micros for event in retelling.earlier if event.event == "spent"],
        max(0.0, ago),
    )
    retelling.begin()
