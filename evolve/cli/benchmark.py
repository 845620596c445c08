"""``evolve benchmark``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import open_bench, settled_here
from evolve.cli.output import emit, json_option
from evolve.cli.run_options import options_of, run_options
from evolve.errors import EvolveError, ExitCode

if TYPE_CHECKING:
    from evolve.promote.confirm import Confirmation
    from evolve.skills import Skill
    from evolve.workspace import Workspace


@click.command("benchmark", short_help="Measure an overlay against the incumbent on the sealed tasks, and decide.")
@click.argument("overlay", type=click.Path(path_type=Path))
@click.option("--plan", "plan_only", is_flag=True, help="Print what would be measured, and stop.")
@click.option("--reuse", default="auto", show_default=True, metavar="SWEEP|auto", help="Whose incumbent rows to reuse.")
@click.option("--no-reuse", is_flag=True, help="Measure the incumbent afresh.")
@click.option("--with", "rivals", multiple=True, metavar="ARM", help="A comparator to measure too; may be repeated.")
@click.option("--stop-when-decided", is_flag=True, help="Stop once no outcome of the rest could change the decision.")
@run_options
@json_option
def command(
    overlay: Path,
    plan_only: bool,
    reuse: str,
    no_reuse: bool,
    rivals: tuple[str, ...],
    stop_when_decided: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Measure an overlay against the incumbent, paired, on the sealed tasks; decide; write the evidence.

    With --unsafe-host the look is spent all the same, and its rows are never promoted.

    With --with (and rivals in evolve.yaml) comparators are measured beside the two; they are shown, and decide
    nothing. ARM is an arm of evolve.yaml, or one that ships: no-skill, brief, compressed and others.

    The look is entered in promotion/ledger.jsonl before the first cell. The same overlay against the same
    incumbent, with the same comparators, is measured once; asking again shows what was decided.

    Example: evolve benchmark overlays/purchase-json-demonstrate-1a2b3c4d
    """
    from evolve.cli.decisions import decision_text
    from evolve.overlays import read_overlay, validate_overlay
    from evolve.promote.confirm import Confirmation
    from evolve.promote.evidence import unusable_arms
    from evolve.promote.lineage import check_parents

    reused = False if no_reuse else reuse == "auto" or reuse
    workspace = settled_here()
    skills = workspace.skills()
    frozen = read_overlay(overlay, skills)
    incumbent = workspace.skill(frozen.skill)
    with open_bench(workspace, as_json=as_json, options=options_of(**limits)) as (bench, _):
        validate_overlay(frozen, incumbent, bench.corpus, str(overlay), bench.policy.leaks)
        check_parents(frozen, incumbent, workspace, str(overlay))
        if (uncommitted := _uncommitted(workspace, incumbent)) is not None:
            bench.progress.note(uncommitted)
        wanted = tuple(dict.fromkeys((*bench.arms.rivals(incumbent, bench.progress.note), *rivals)))
        confirmation = Confirmation(bench, incumbent, frozen, wanted)
        if plan_only:
            from evolve.cli.plans import plan_text, plan_value

            if confirmation.refusal() is None and (warning := _warning(confirmation)) is not None:
                bench.progress.note(warning)
            plan = confirmation.plan(reuse=reused)
            forecasts, totals = bench.forecast(confirmation.request(), plan, confirmation.refusal())
            emit(plan_value(plan, forecasts, totals), plan_text(forecasts, totals), as_json=as_json)
            return ExitCode.DONE
        if confirmation.decided() is None and (warning := _warning(confirmation)) is not None:
            bench.progress.note(warning)
        evidence = confirmation.run(reuse=reused, stop_when_decided=stop_when_decided)
    folder = workspace.relative(evidence.folder)
    for arm in unusable_arms(evidence):
        bench.progress.note(f"the arm {arm} could not be measured: most of its cells are void")
    value = {"evidence": folder, "decision": evidence.promotion.decision.json_value()}
    text = f"{decision_text(evidence.promotion.decision)}\nevidence: {folder}"
    if evidence.promotion.decision.outcome == "promote" and limits["unsafe_host"]:
        text += "\nnot promotable: measured with --unsafe-host; contained, it is another look"
    elif evidence.promotion.decision.outcome == "promote":
        text += f"\nnext: evolve promote {overlay}"
    emit(value, text, as_json=as_json)
    return ExitCode.BROKEN if unusable_arms(evidence) else ExitCode.DONE


def _uncommitted(workspace: Workspace, incumbent: Skill) -> str | None:
    """Return why evidence about a skill could not be promoted as things stand, if its text is not the committed one."""
    from evolve.promote.checks import check_committed
    from evolve.promote.git import Repository
    from evolve.promote.target import Target

    try:
        check_committed(Target(workspace, Repository(workspace.root)), incumbent)
    except EvolveError as error:
        return f"note: what is measured could not be promoted: {error.message}"
    return None


def _warning(confirmation: Confirmation) -> str | None:
    """Return that the look can hardly prove anything, if that is so."""
    from evolve.promote.accounts import look_warning
    from evolve.promote.ledger import read_ledger

    bench = confirmation.bench
    return look_warning(
        bench.policy,
        read_ledger(bench.workspace.promotion),
        confirmation.incumbent.name,
        tuple(task.id for task in confirmation.sealed),
        confirmation.texts,
        confirmation.request().sweep_id(),
    )
