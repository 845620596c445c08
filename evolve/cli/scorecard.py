"""``evolve scorecard``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evolve.cli.opening import here
from evolve.cli.output import emit_bytes, json_option, say, table
from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.cli.sources import Source
    from evolve.scorecard.read import Scorecard
    from evolve.workspace import Workspace


@click.command("scorecard", short_help="Show what cells took, cell by cell and arm by arm: table, CSV, JSON, Markdown.")
@click.argument("what", required=False, metavar="[SWEEP | GENERATION]")
@click.option("--arm", help="This arm alone.")
@click.option("--by-task", is_flag=True, help="Show the figures of each task, too; JSON always has them.")
@click.option("--cells", is_flag=True, help="Show the card of each cell, too; CSV and JSON always have them.")
@click.option("--csv", "as_csv", is_flag=True, help="The cards, a line each, as evolve compare reads them.")
@json_option
@click.option("--md", "as_md", is_flag=True, help="Markdown.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it to a file instead.")
def command(
    what: str | None,
    arm: str | None,
    by_task: bool,
    cells: bool,
    as_csv: bool,
    as_json: bool,
    as_md: bool,
    output: Path | None,
) -> None:
    """Show what cells took, cell by cell and arm by arm: turns, tools, time, tokens, findings, money, words.

    Incomplete cards are flagged and left out of every average. By default it is of the newest generation: of each of
    its sweeps. The rounds of a CSV are the arms: set two beside one another with evolve compare.

    Example: evolve scorecard SWEEP --csv --output card.csv; evolve compare card.csv#incumbent card.csv#candidate
    """
    if sum((as_csv, as_json, as_md)) > 1:
        raise InputError("give one of --csv, --json and --md", hint="evolve scorecard --help", code="usage")
    workspace = here()
    scorecard = _read(workspace, what, arm)
    if as_csv:
        from evolve.scorecard.files import scorecard_csv

        emit_bytes(scorecard_csv(scorecard), output)
        return
    if as_json:
        emit_bytes(_json(scorecard), output)
        return
    text = _text(scorecard, by_task=by_task, cells=cells, as_md=as_md)
    if output is not None:
        from evolve.cli.output import plain

        emit_bytes(f"{plain(text)}\n".encode("utf-8", errors="replace"), output)
    else:
        say(text)


def _read(workspace: Workspace, what: str | None, arm: str | None) -> Scorecard:
    from evolve.cli.sources import found
    from evolve.scorecard.read import scorecard_of

    source = found(workspace, what)
    scorecard = scorecard_of(_folders(workspace, source), arm)
    if not scorecard.cards:
        there = "has no cell" if arm is None else f"has no arm {arm!r}"
        raise InputError(f"{source.folder.name}: {there}", hint="evolve scorecard without --arm", code="no-arm")
    return scorecard


def _folders(workspace: Workspace, source: Source) -> list[Path]:
    """Return the folders of the sweeps that a source is, or has.

    Raises:
        InputError: It has none, or none that is still there.

    """
    from evolve.bench.books import PLAN_FILE
    from evolve.generation.state import open_generation

    if source.kind == "promotion":
        raise _no_transcripts(workspace, source)
    if source.kind == "sweep":
        return [source.folder]
    names = open_generation(source.folder).record.sweeps
    folders = [workspace.sweeps / Path(name).name for name in names]
    if gone := [folder.name for folder in folders if not (folder / PLAN_FILE).is_file()]:
        raise InputError(
            f"{source.folder.name}: sweeps are gone: {', '.join(gone)}",
            hint="name a sweep that is still there: evolve status --all",
            code="not-found",
        )
    if not folders:
        raise InputError(f"{source.folder.name}: has no sweep yet", hint="evolve resume", code="not-found")
    return folders


def _no_transcripts(workspace: Workspace, source: Source) -> InputError:
    from evolve.bench.books import PLAN_FILE
    from evolve.promote.evidence import read_evidence

    sweep = Path(read_evidence(source.folder).promotion.sweep).name
    here_too = (workspace.sweeps / sweep / PLAN_FILE).is_file()
    remedy = f"evolve scorecard {sweep}" if here_too else f"ask where sweep {sweep} was measured; for its rows: "
    return InputError(
        f"{source.folder.name}: a promotion keeps rows, and no transcripts, replies or journal to make a scorecard of",
        hint=remedy if here_too else f"{remedy}evolve report {source.folder} --csv",
        code="no-transcripts",
    )


def _json(scorecard: Scorecard) -> bytes:
    from evolve.cli.output import plain
    from evolve.scorecard.files import scorecard_json_pieces

    pieces = (plain(piece).encode("utf-8", errors="replace") for piece in scorecard_json_pieces(scorecard))
    return b"".join((*pieces, b"\n"))


def _text(scorecard: Scorecard, *, by_task: bool, cells: bool, as_md: bool) -> str:
    from evolve.report.markdown import inert
    from evolve.scorecard.tables import as_markdown, as_text, sections_of

    sections = sections_of(scorecard, by_task=by_task, cells=cells)
    return as_markdown(sections, inert).rstrip("\n") if as_md else as_text(sections, table)
