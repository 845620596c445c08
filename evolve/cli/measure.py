"""``evolve measure``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import open_bench, settled_here
from evolve.cli.output import emit, json_option
from evolve.cli.run_options import options_of, run_options
from evolve.errors import ExitCode, InputError

if TYPE_CHECKING:
    from evolve.bench.measure import Bench
    from evolve.bench.plan import SweepRequest
    from evolve.records.plan import Purpose

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
    from evolve.bench.journal import JOURNAL_FILE, read_state

    workspace = settled_here()
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
    from evolve.cli.measured import measured_text, measured_value

    folder = workspace.relative(result.folder)
    value, text = measured_value(plan, result.rows), measured_text(plan, result, folder)
    emit({"sweep": folder, **value}, text, as_json=as_json)
    unmeasured = [name for name, found in value["arms"].items() if found["void"] == found["cells"]]
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
