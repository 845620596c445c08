"""``evolve report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evolve.cli.opening import here
from evolve.cli.output import json_option, say
from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.workspace import Workspace


@click.command("report", short_help="Show a generation, a sweep or a promotion as Markdown.")
@click.argument("what", required=False)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it to a file instead.")
@json_option
def command(what: str | None, output: Path | None, as_json: bool) -> None:
    """Show a generation, a sweep or a promotion as Markdown.

    WHAT is the id of a generation or sweep, or a folder below promotion/; by default the newest generation.

    Example: evolve report g0001 --output report.md
    """
    from evolve.files import write_atomic

    text = _json(here(), what) if as_json else _markdown(here(), what)
    if output is not None:
        write_atomic(output, text.encode("utf-8"))
        say(f"written: {output}", err=True)
    else:
        say(text.rstrip("\n"))


def _found(workspace: Workspace, what: str | None) -> tuple[str, Path]:
    from evolve.bench.books import PLAN_FILE
    from evolve.generation.state import STATE_FILE
    from evolve.promote.apply import evidence_of

    if what is None:
        newest = max(workspace.generations.glob(f"g*/{STATE_FILE}"), default=None)
        if newest is None:
            raise InputError("there is no generation yet", hint="evolve generation", code="nothing-to-report")
        return "generation", newest.parent
    name = Path(what).name
    if (workspace.generations / name / STATE_FILE).exists():
        return "generation", workspace.generations / name
    if (workspace.sweeps / name / PLAN_FILE).exists():
        return "sweep", workspace.sweeps / name
    folder = evidence_of(workspace, what)
    if folder is None:
        raise InputError(f"{what}: no generation, sweep or promotion", hint="evolve report --help", code="not-found")
    return "promotion", folder


def _markdown(workspace: Workspace, what: str | None) -> str:
    from evolve.bench.books import PLAN_FILE
    from evolve.bench.measured import counted_rows
    from evolve.cli.generations import evidence_diff, evidence_of_generation
    from evolve.generation.state import open_generation
    from evolve.promote.evidence import read_evidence
    from evolve.promote.git import Repository
    from evolve.propose.diagnostics.columns import diagnostics_table, sweep_diagnostics
    from evolve.records.base import read_json
    from evolve.records.plan import Plan
    from evolve.report.markdown import generation_report, promotion_report, sweep_report

    kind, folder = _found(workspace, what)
    if kind == "sweep":
        plan, rows = read_json(Plan, folder / PLAN_FILE), tuple(counted_rows(folder))
        return sweep_report(plan, rows, diagnostics_table(sweep_diagnostics(folder, plan, rows)))
    repository = Repository(workspace.root)
    if kind == "promotion":
        evidence = read_evidence(folder)
        return promotion_report(evidence, evidence_diff(workspace, repository, evidence))
    state = open_generation(folder)
    found = evidence_of_generation(workspace, state)
    return generation_report(state.record, found, evidence_diff(workspace, repository, found) if found else "")


def _json(workspace: Workspace, what: str | None) -> str:
    kind, folder = _found(workspace, what)
    if kind == "sweep":
        return _sweep_json(folder)
    if kind == "promotion":
        return _promotion_json(folder)
    return (folder / "generation.json").read_text(encoding="utf-8")


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

    from evolve.bench.books import PLAN_FILE
    from evolve.bench.measured import counted_rows
    from evolve.propose.diagnostics.columns import sweep_diagnostics
    from evolve.records.base import read_json
    from evolve.records.plan import Plan

    plan = read_json(Plan, folder / PLAN_FILE)
    columns = sweep_diagnostics(folder, plan, counted_rows(folder))
    value = {**plan.json_value(), "diagnostics": [column.json_value() for column in columns]}
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
