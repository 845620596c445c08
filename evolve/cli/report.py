"""``evolve report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evolve.cli.opening import here
from evolve.cli.output import emit_bytes, json_option, say
from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.cli.sources import Source
    from evolve.workspace import Workspace


@click.command("report", short_help="Show a generation, a sweep or a promotion: Markdown, HTML, JSON, CSV or JUnit.")
@click.argument("what", required=False)
@click.option("--md", "as_md", is_flag=True, help="Markdown of at most 60 KB, for a pull request; the default.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="The cells as CSV, a row each.")
@click.option("--junit", "as_junit", is_flag=True, help="The reasons of the gate and the sealed tasks as JUnit XML.")
@click.option("--html", "as_html", is_flag=True, help="One HTML page that loads nothing, for a browser.")
@click.option(
    "--cells",
    is_flag=True,
    help="With --html: prompt, transcript, patch and checks of each cell in the page, of sealed tasks as well; "
    "such a page must not reach who proposes.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it to a file instead.")
def command(
    what: str | None,
    as_md: bool,
    as_json: bool,
    as_csv: bool,
    as_junit: bool,
    as_html: bool,
    cells: bool,
    output: Path | None,
) -> None:
    """Show a generation, a sweep or a promotion: Markdown, HTML, JSON, CSV or JUnit.

    WHAT is the id of a generation or sweep, or a folder below promotion/; by default the newest generation.

    Example: evolve report g0001 --output report.md
    """
    from evolve.cli.sources import found

    if sum((as_md, as_json, as_csv, as_junit, as_html)) > 1:
        text = "give one of --md, --json, --csv, --junit and --html"
        raise InputError(text, hint="evolve report --help", code="usage")
    if cells and not as_html:
        raise InputError("--cells is of --html alone", hint="evolve report --html --cells", code="usage")
    workspace = here()
    source = found(workspace, what)
    if as_csv or as_html:
        emit_bytes(_csv(workspace, source) if as_csv else _html(workspace, source, cells=cells), output)
        return
    text = _junit(workspace, source) if as_junit else _json(source) if as_json else _markdown(workspace, source)
    if output is not None:
        emit_bytes(text.encode("utf-8"), output)
    else:
        say(text.rstrip("\n"))


def _csv(workspace: Workspace, source: Source) -> bytes:
    from evolve.cli.sources import rows_of
    from evolve.report.cells import cells_csv

    return cells_csv(rows_of(workspace, source))


def _junit(workspace: Workspace, source: Source) -> str:
    from evolve.cli.sources import evidence_folder_of
    from evolve.promote.evidence import read_evidence
    from evolve.report.gate_cases import gate_junit

    return gate_junit(read_evidence(evidence_folder_of(workspace, source))).decode("utf-8")


def _html(workspace: Workspace, source: Source, *, cells: bool) -> bytes:
    from evolve.view.alone import generation_alone, promotion_alone, sweep_alone

    make = {"sweep": sweep_alone, "promotion": promotion_alone, "generation": generation_alone}[source.kind]
    return make(workspace, source.folder, cells=cells)


def _markdown(workspace: Workspace, source: Source) -> str:
    from evolve.bench.follow import plan_of
    from evolve.bench.measured import counted_rows
    from evolve.cli.generations import evidence_of_generation
    from evolve.generation.state import open_generation
    from evolve.promote.difference import evidence_diff
    from evolve.promote.evidence import read_evidence
    from evolve.promote.git import Repository
    from evolve.propose.diagnostics.columns import diagnostics_table, sweep_diagnostics
    from evolve.report.markdown import generation_report, promotion_report, sweep_report

    kind, folder = source.kind, source.folder
    if kind == "sweep":
        plan, rows = plan_of(folder), tuple(counted_rows(folder))
        return sweep_report(plan, rows, diagnostics_table(sweep_diagnostics(folder, plan, rows)))
    repository = Repository(workspace.root)
    if kind == "promotion":
        evidence = read_evidence(folder)
        return promotion_report(evidence, evidence_diff(workspace, repository, evidence))
    state = open_generation(folder)
    found = evidence_of_generation(workspace, state)
    return generation_report(state.record, found, evidence_diff(workspace, repository, found) if found else "")


def _json(source: Source) -> str:
    from evolve.generation.state import STATE_FILE
    from evolve.records.base import read_text

    kind, folder = source.kind, source.folder
    if kind == "sweep":
        return _sweep_json(folder)
    if kind == "promotion":
        return _promotion_json(folder)
    return read_text(folder / STATE_FILE)


def _promotion_json(folder: Path) -> str:
    """Return the decision, and beside it who signed."""
    import json

    from evolve.promote.evidence import read_evidence
    from evolve.promote.signatories import signatories

    evidence = read_evidence(folder)
    value = {**evidence.promotion.json_value(), "signed": signatories(evidence).json_value()}
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def _sweep_json(folder: Path) -> str:
    """Return the plan of a sweep, and beside it what its transcripts show."""
    import json

    from evolve.bench.follow import plan_of
    from evolve.bench.measured import counted_rows
    from evolve.propose.diagnostics.columns import sweep_diagnostics

    plan = plan_of(folder)
    columns = sweep_diagnostics(folder, plan, counted_rows(folder))
    value = {**plan.json_value(), "diagnostics": [column.json_value() for column in columns]}
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
