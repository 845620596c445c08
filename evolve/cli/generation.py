"""``evolve generation``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import open_bench, settled_here
from evolve.cli.operators import GENERATION_OPERATORS, STRATEGIES
from evolve.cli.output import emit, json_option
from evolve.cli.run_options import options_of, run_options

if TYPE_CHECKING:
    from evolve.bench.measure import Bench
    from evolve.records.search import SearchSettings, Strategy
    from evolve.workspace import Workspace


@click.command("generation", short_help="Propose, screen, confirm, decide and, with --apply, commit.")
@click.option("--skill", help="The skill; by default the one with most failing train rows.")
@click.option(
    "--operator",
    "operators",
    multiple=True,
    type=click.Choice(GENERATION_OPERATORS),
    help="An operator to try; may be given several times. Default: those of evolve.yaml.",
)
@click.option("--seed", metavar="SWEEP", help="Begin with the rows of this sweep as evidence, and of no other.")
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    help="How to search; the last three are baselines to compare with.",
)
@click.option("--rounds", type=click.IntRange(1, 1000), help="Rounds of proposing and screening.")
@click.option("--population", type=click.IntRange(1, 64), help="Proposals a round.")
@click.option("--max-evaluations", type=click.IntRange(1), help="Train cells that candidates may be compared on.")
@click.option("--max-proposer-usd", type=click.FloatRange(min=0), help="What proposing may cost.")
@click.option(
    "--apply", "apply_", is_flag=True, help="Commit the proven overlay, or the look that failed, and what was tried."
)
@click.option("--branch", help="Commit on this branch; a new one is made at HEAD.")
@click.option("--stop-when-decided", is_flag=True, help="Stop confirming once no outcome could change the decision.")
@run_options
@json_option
def command(
    skill: str | None,
    operators: tuple[str, ...],
    apply_: bool,
    branch: str | None,
    stop_when_decided: bool,
    seed: str | None,
    strategy: Strategy | None,
    rounds: int | None,
    population: int | None,
    max_evaluations: int | None,
    max_proposer_usd: float | None,
    as_json: bool,
    **limits: Any,
) -> None:
    """Run one generation: propose candidates, screen them, confirm the best on sealed tasks, decide.

    "Nothing better was found" is a normal outcome, and exit 0. Without --apply nothing is committed.

    Example: evolve generation --skill purchase-json --apply --branch evolve/weekly
    """
    from evolve.bench.journal import JOURNAL_FILE
    from evolve.cli.generations import generation_lock, generation_text, run_generation
    from evolve.errors import InputError
    from evolve.generation.state import new_generation
    from evolve.promote.git import Repository
    from evolve.promote.target import Target, check_branch
    from evolve.propose.archive import read_archive
    from evolve.records.generation import Request

    if branch and not apply_:
        raise InputError("--branch goes with --apply", code="usage")
    workspace = settled_here()
    if seed is not None and not (workspace.sweeps / seed / JOURNAL_FILE).is_file():
        raise InputError(f"--seed: no sweep named {seed!r}", hint=f"sweeps lie in {workspace.sweeps}", code="no-sweep")
    search = _search(workspace, strategy=strategy, rounds=rounds, population=population, evaluations=max_evaluations)
    repository = Repository(workspace.root)
    if apply_:
        check_branch(Target(workspace, repository, branch))
    if skill is not None:
        workspace.skill(skill)
    with (
        generation_lock(workspace),
        open_bench(workspace, as_json=as_json, options=options_of(**limits)) as (bench, models),
    ):
        for warning in _warnings(bench, skill):
            bench.progress.note(warning)
        request = Request(
            skill=skill,
            operators=operators,
            apply=apply_,
            branch=branch,
            stop_when_decided=stop_when_decided,
            seed=seed,
            search=search,
            max_proposer_usd=max_proposer_usd,
        )
        archived = {entry.generation for entry in read_archive(workspace)}
        state = new_generation(workspace.generations, request, repository.head(), archived)
        run_generation(bench, models, state)
    emit(state.record.json_value(), generation_text(workspace, state), as_json=as_json)


def _search(workspace: Workspace, **asked: Any) -> SearchSettings | None:
    """Return the search of evolve.yaml with what was asked for in its place; ``None`` when nothing was."""
    changed = {name: value for name, value in asked.items() if value is not None}
    return workspace.spec.search.model_copy(update=changed) if changed else None


def _warnings(bench: Bench, skill: str | None) -> list[str]:
    """Return what is unfinished, and which of the looks that may follow can hardly prove anything."""
    from evolve.generation.state import latest_unfinished
    from evolve.promote.accounts import look_warning
    from evolve.promote.ledger import read_ledger
    from evolve.records.kinds import Split

    entries = read_ledger(bench.workspace.promotion)
    names = [skill] if skill is not None else list(bench.workspace.skills())
    sealed = {name: [task.id for task in bench.corpus.of(name, Split.SEALED)] for name in names}
    found = (look_warning(bench.policy, entries, name, tasks) for name, tasks in sealed.items())
    warnings = [warning for warning in found if warning is not None]
    unfinished = latest_unfinished(bench.workspace.generations)
    if unfinished is not None:
        warnings.insert(0, f"{unfinished.record.id} is unfinished; to go on with it: evolve resume")
    return warnings
