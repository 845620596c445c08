"""``evolve resume``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import open_bench, settled_here
from evolve.cli.output import emit, json_option, say
from evolve.cli.run_options import options_of, run_options
from evolve.errors import InputError

NOTHING = "nothing is unfinished"

if TYPE_CHECKING:
    from evolve.bench.measure import Bench
    from evolve.bench.runner import RunOptions
    from evolve.workspace import Workspace


@click.command("resume", short_help="Finish an interrupted generation or sweep.")
@click.argument("what", required=False)
@click.option("--stop-when-decided", is_flag=True, help="Stop once no outcome of the rest could change the decision.")
@run_options
@json_option
def command(what: str | None, stop_when_decided: bool, as_json: bool, **limits: Any) -> None:
    """Finish an interrupted generation or sweep; no settled cell is paid for again.

    A generation goes on as it was begun; what an interrupted run has spent counts towards --max-usd and --max-cells.

    WHAT is the id of a generation or of a sweep; by default the newest unfinished generation, or else the
    newest unfinished sweep.

    Example: evolve resume g0001
    """
    from evolve.cli.generations import generation_lock, generation_text, run_generation
    from evolve.generation.state import STATE_FILE, latest_unfinished, open_generation

    workspace = settled_here()
    name = Path(what).name if what else None
    generation = workspace.generations / name if name else None
    if generation is not None and (generation / STATE_FILE).exists():
        state = open_generation(generation)
    elif name is None and (found := latest_unfinished(workspace.generations)):
        state = found
    else:
        _resume_sweep(workspace, name, options_of(**limits), early=stop_when_decided, as_json=as_json)
        return
    if state.record.finished_at is None:
        with (
            generation_lock(workspace),
            open_bench(workspace, as_json=as_json, options=options_of(**limits)) as (bench, models),
        ):
            run_generation(bench, models, state)
    emit(state.record.json_value(), generation_text(workspace, state), as_json=as_json)


def _resume_sweep(workspace: Workspace, name: str | None, options: RunOptions, *, early: bool, as_json: bool) -> None:
    from evolve.bench.books import PLAN_FILE
    from evolve.bench.unfinished import unfinished_sweeps
    from evolve.promote.ledger import read_ledger, undecided_sweeps

    undecided = undecided_sweeps(read_ledger(workspace.promotion))
    if name is None:
        _resume_any(workspace, unfinished_sweeps(workspace.sweeps, undecided), options, early=early, as_json=as_json)
        return
    folder = workspace.sweeps / name
    if not (folder / PLAN_FILE).exists():
        if folder.is_dir():
            raise InputError(f"{folder}: its {PLAN_FILE} is gone", hint="bring it back; the journal alone is no plan")
        raise InputError(f"{name}: no generation and no sweep of this name", hint="evolve resume, without a name")
    with open_bench(workspace, as_json=as_json, options=options) as (bench, _):
        _finish(workspace, bench, folder, early=early, as_json=as_json)


def _resume_any(workspace: Workspace, folders: list[Path], options: RunOptions, *, early: bool, as_json: bool) -> None:
    """Finish the newest sweep that can be; those whose skill, task or agent has changed since are named and left."""
    left = []
    for folder in folders:
        try:
            with open_bench(workspace, as_json=as_json, options=options) as (bench, _):
                _finish(workspace, bench, folder, early=early, as_json=as_json)
            return
        except InputError as error:
            if error.code != "sweep-outdated":
                raise
            left.append(error.message)
    for text in left:
        say(f"left as it is: {text}", err=True)
    emit(
        {"resumed": None, "left": left},
        "nothing that is unfinished can be resumed" if left else NOTHING,
        as_json=as_json,
    )


def _finish(workspace: Workspace, bench: Bench, folder: Path, *, early: bool, as_json: bool) -> None:
    from evolve.bench.books import PLAN_FILE
    from evolve.bench.measure import FROZEN_FOLDER
    from evolve.cli.decisions import decision_text
    from evolve.cli.measured import measured_text, measured_value
    from evolve.overlays import read_overlay
    from evolve.promote.confirm import Confirmation
    from evolve.promote.extra import main_sweep_of
    from evolve.records.base import read_json
    from evolve.records.kinds import Role
    from evolve.records.plan import Plan

    plan = read_json(Plan, folder / PLAN_FILE)
    digests = [arm.overlay_sha256 for arm in plan.arms if arm.overlay_sha256]
    if (main := main_sweep_of(plan)) is not None:
        _finish(workspace, bench, workspace.sweeps / main, early=early, as_json=as_json)
        return
    if plan.purpose != "sealed" or not digests:
        result = bench.resume(folder)
        where = workspace.relative(folder)
        value = {"sweep": where, "finished": True, **measured_value(plan, result.rows)}
        emit(value, f"{plan.sweep}: finished\n{measured_text(plan, result, where)}", as_json=as_json)
        return
    incumbents = workspace.skills()
    overlay = read_overlay(folder / FROZEN_FOLDER / digests[0][:12], incumbents)
    rivals = tuple(arm.name for arm in plan.arms if arm.role is Role.COMPARATOR)
    confirmation = Confirmation(bench, workspace.skill(overlay.skill), overlay, rivals)
    if confirmation.request().sweep_id() != plan.sweep:
        raise InputError(
            f"{plan.sweep}: the skill, a task, the agent or evolve itself has changed since it was planned",
            hint="bring it back, or benchmark afresh; the rows stay",
            code="sweep-outdated",
        )
    evidence = confirmation.run(stop_when_decided=early)
    where = workspace.relative(evidence.folder)
    value = {"evidence": where, "decision": evidence.promotion.decision.json_value()}
    emit(value, f"{decision_text(evidence.promotion.decision)}\nevidence: {where}", as_json=as_json)
