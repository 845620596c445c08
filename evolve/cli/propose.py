"""``evolve propose``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import here, open_bench
from evolve.cli.output import emit, json_option, say
from evolve.cli.run_options import options_of, run_options
from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.bench.runner import RunOptions

OPERATORS = ("demonstrate", "lesson", "lesson+demonstrate", "reflect", "manual")


@click.command("propose", short_help="Make candidate overlays of a skill.")
@click.option("--skill", help="The skill; by default the one with most failing train rows.")
@click.option(
    "--operator",
    "operators",
    multiple=True,
    type=click.Choice(OPERATORS),
    default=("lesson+demonstrate",),
    show_default=True,
    help="How to make it; may be given several times.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The new SKILL.md, with --operator manual.",
)
@run_options
@json_option
def command(skill: str | None, operators: tuple[str, ...], source: Path | None, as_json: bool, **limits: Any) -> None:
    """Make candidate overlays of a skill from its failures on train tasks, and print their paths.

    Example: evolve propose --skill purchase-json --operator demonstrate
    """
    if ("manual" in operators) != (source is not None):
        raise InputError("--operator manual goes with --from FILE, and the other way round", code="usage")
    if source is not None and skill is None:
        raise InputError("--operator manual needs --skill NAME", code="usage")
    made = (
        [_manual(str(skill), source)]
        if source is not None
        else _made(skill, operators, options_of(**limits), as_json=as_json)
    )
    emit([{"overlay": path} for path in made], "\n".join(made), as_json=as_json)


def _manual(skill: str, source: Path) -> str:
    from evolve.corpus.loading import load_corpus
    from evolve.overlays import single_file_overlay, validate_overlay
    from evolve.propose.store import store_overlay
    from evolve.records.base import read_text
    from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
    from evolve.skills import SKILL_FILE

    workspace = here()
    incumbent = workspace.skill(skill)
    spec = OverlaySpec(schema_id=OVERLAY_SCHEMA, skills=(skill,), operator="manual", parents=(incumbent.fingerprint,))
    overlay = single_file_overlay(incumbent, SKILL_FILE, read_text(source), spec)
    validate_overlay(overlay, incumbent, load_corpus(workspace.corpus), str(source), workspace.policy().leaks)
    return workspace.relative(store_overlay(workspace, overlay))


def _made(skill: str | None, operators: tuple[str, ...], options: RunOptions, *, as_json: bool) -> list[str]:
    from evolve.generation.candidates import Proposer, slots
    from evolve.generation.choose import choose_skill
    from evolve.generation.reflecting import check_proposer
    from evolve.propose.store import store_overlay

    workspace = here()
    spec = workspace.spec.proposer
    made, refused = [], []
    with open_bench(workspace, as_json=as_json, options=options) as (bench, models):
        check_proposer(bench, operators)
        chosen = choose_skill(bench, "by-hand", skill)
        bench.progress.note(f"skill: {chosen.skill.name} ({chosen.because})")
        proposer = Proposer(bench, chosen.skill, chosen.evidence, "by-hand", models.proposer, spec.temperature)
        for slot in slots(operators, spec.reflections):
            try:
                overlay = proposer.propose(slot)
            except InputError as error:
                refused.append(f"{slot.name}: {error.message}")
                continue
            made.append(workspace.relative(store_overlay(workspace, overlay)))
    for line in refused:
        say(f"no proposal from {line}", err=True)
    if not made:
        raise InputError("no operator had a proposal", hint="try another --operator or --skill", code="no-proposal")
    return made
