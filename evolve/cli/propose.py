"""``evolve propose``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import open_bench, settled_here
from evolve.cli.operators import GENERATION_OPERATORS
from evolve.cli.output import emit, json_option, say
from evolve.cli.run_options import options_of, run_options
from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.bench.runner import RunOptions
    from evolve.skills import Skill

OPERATORS = (*GENERATION_OPERATORS, "manual")


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
    type=click.Path(path_type=Path, exists=True),
    help="The new SKILL.md, or an edited copy of the whole skill, with --operator manual.",
)
@click.option(
    "--parent",
    "parents",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="OVERLAY",
    help="Propose from this overlay in place of the incumbent; merge takes two.",
)
@click.option(
    "--count", type=click.IntRange(1, 50), default=1, show_default=True, help="Proposals that each operator makes."
)
@run_options
@json_option
def command(
    skill: str | None,
    operators: tuple[str, ...],
    source: Path | None,
    parents: tuple[Path, ...],
    count: int,
    as_json: bool,
    **limits: Any,
) -> None:
    """Make candidate overlays of a skill from its failures on train tasks, and print their paths.

    Example: evolve propose --skill purchase-json --operator demonstrate
    """
    if ("manual" in operators) != (source is not None):
        raise InputError("--operator manual goes with --from FILE or FOLDER, and the other way round", code="usage")
    if "merge" in operators and len(parents) != 2:
        raise InputError("--operator merge needs two --parent OVERLAY", code="usage")
    if source is not None and skill is None:
        raise InputError("--operator manual needs --skill NAME", code="usage")
    made = (
        [_manual(str(skill), source)]
        if source is not None
        else _made(skill, operators, parents, count, options_of(**limits), as_json=as_json)
    )
    emit([{"overlay": path} for path in made], "\n".join(made), as_json=as_json)


def _note_sizes(where: str, candidate: Skill) -> None:
    from evolve.skills import size_warnings

    for text in size_warnings(candidate):
        say(f"note: {where}: {text}", err=True)


def _manual(skill: str, source: Path) -> str:
    from evolve.corpus.loading import load_corpus
    from evolve.overlays import changing, validate_overlay
    from evolve.propose.archive import check_new, read_archive
    from evolve.propose.by_hand import edited_texts
    from evolve.propose.store import store_overlay
    from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec

    workspace = settled_here()
    incumbent = workspace.skill(skill)
    spec = OverlaySpec(schema_id=OVERLAY_SCHEMA, skills=(skill,), operator="manual", parents=(incumbent.fingerprint,))
    overlay = changing(incumbent, spec, edited_texts(incumbent, source))
    corpus = load_corpus(workspace.corpus)
    candidate = validate_overlay(overlay, incumbent, corpus, str(source), workspace.policy().leaks)
    try:
        check_new(overlay, incumbent, ())
    except InputError as error:
        raise InputError(f"{source}: {error.message}", code=error.code) from error
    for entry in read_archive(workspace):
        if (entry.overlay_sha256, entry.incumbent) == (overlay.digest, incumbent.fingerprint):
            say(f"note: it equals {entry.name} of {entry.generation}: {entry.fate}. {entry.reason}".rstrip(), err=True)
    _note_sizes(str(source), candidate)
    return workspace.relative(store_overlay(workspace, overlay))


def _made(
    skill: str | None,
    operators: tuple[str, ...],
    parents: tuple[Path, ...],
    count: int,
    options: RunOptions,
    *,
    as_json: bool,
) -> list[str]:
    from evolve.generation.candidates import Proposer
    from evolve.generation.choose import choose_skill
    from evolve.generation.reflecting import check_proposer
    from evolve.overlays import apply_overlay, read_overlay, validate_overlay
    from evolve.propose.archive import Known, check_new
    from evolve.propose.ask import Ask, Parent
    from evolve.propose.edits import edits_of
    from evolve.propose.store import store_overlay

    workspace = settled_here()
    skills = workspace.skills()
    overlays = [read_overlay(path, skills) for path in parents]
    skill = skill or next((overlay.skill for overlay in overlays), None)
    if others := [overlay.skill for overlay in overlays if overlay.skill != skill]:
        raise InputError(f"--parent: it changes {others[0]}, not {skill}", code="overlay-scope")
    made: list[str] = []
    refused = []
    with open_bench(workspace, as_json=as_json, options=options) as (bench, models):
        check_proposer(bench, operators)
        for parent, overlay in zip(parents, overlays, strict=True):
            validate_overlay(overlay, workspace.skill(overlay.skill), bench.corpus, str(parent), bench.policy.leaks)
        chosen = choose_skill(bench, "by-hand", skill)
        incumbent = chosen.skill
        bench.progress.note(f"skill: {incumbent.name} ({chosen.because})")
        proposer = Proposer(bench, incumbent, "by-hand", models.proposer, workspace.spec.proposer.temperature)
        known = [Known.of(str(path), overlay, incumbent) for path, overlay in zip(parents, overlays, strict=True)]
        texts = [apply_overlay(incumbent, overlay) for overlay in overlays]
        whom = tuple(
            Parent(overlay.digest, text, chosen.evidence, overlay, edits_of(incumbent, text))
            for overlay, text in zip(overlays, texts, strict=True)
        ) or (Parent(incumbent.fingerprint, incumbent, chosen.evidence),)
        for operator, variant in [(operator, variant) for operator in operators for variant in range(count)]:
            try:
                overlay = proposer.propose(Ask(operator, whom, variant, variant))
                check_new(overlay, incumbent, known)
            except InputError as error:
                refused.append(f"{operator}: {error.message}")
                continue
            path = workspace.relative(store_overlay(workspace, overlay))
            known.append(Known.of(path, overlay, incumbent))
            made.append(path)
            _note_sizes(path, apply_overlay(incumbent, overlay))
    for line in refused:
        say(f"no proposal from {line}", err=True)
    if not made:
        raise InputError("no operator had a proposal", hint="try another --operator or --skill", code="no-proposal")
    return made
