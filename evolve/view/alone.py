"""Pages that stand alone: one file for one sweep, generation or candidate, from which nothing leads elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evolve.bench.follow import plan_of
from evolve.bench.journal import JOURNAL_FILE, read_state
from evolve.bench.measured import counted_rows
from evolve.errors import InputError
from evolve.generation.state import open_generation
from evolve.promote.difference import evidence_diff
from evolve.promote.evidence import Evidence, read_evidence
from evolve.promote.git import Repository
from evolve.promote.lineage import read_ancestry
from evolve.promote.signatories import signatories
from evolve.propose.diagnostics.columns import sweep_diagnostics
from evolve.records.row import Row
from evolve.report.cell.reader import CellReader
from evolve.report.page.drawers import Drawers, drawers_of
from evolve.report.page.html import document
from evolve.report.page.sweep import Beside
from evolve.report.page.view import Around
from evolve.report.page.write import NO_DRAWERS, page_html, sweep_html
from evolve.view.generation_page import generation_facts, generation_tables
from evolve.view.sweep_page import SweepBook, arms_of, cells_table, sweep_facts
from evolve.workspace import Workspace


def sweep_alone(workspace: Workspace, folder: Path, *, cells: bool) -> bytes:
    """Return the page of a sweep: its arms beside one another, or where it stands when nothing stands beside another.

    Raises:
        EvidenceFault: Its journal is damaged.
        InputError: It is invalid; or cells are asked for and there is no matrix to open them from.

    """
    book = SweepBook.open(folder)
    if not book.compares:
        return _standing(book, cells=cells)
    plan, rows = plan_of(folder), tuple(counted_rows(folder))
    voided = tuple(row for _, row in read_state(folder / JOURNAL_FILE).voided)
    beside = Beside(voided, sweep_diagnostics(folder, plan, rows))
    return sweep_html(plan, rows, _drawers(workspace, rows, (plan.sweep,)) if cells else NO_DRAWERS, beside)


def _standing(book: SweepBook, *, cells: bool) -> bytes:
    name = book.plan.sweep
    if cells:
        text = f"{name}: no arm stands beside an incumbent, so that there is no matrix to open cells from"
        raise InputError(text, hint="evolve view has a page for each cell", code="no-cells")
    table = cells_table(book, opens=False)
    facts, arms = sweep_facts(book.status), arms_of(book)
    return document("sweep.html.j2", title=f"sweep {name}", facts=facts, arms=arms, cells=table, report="")


def promotion_alone(workspace: Workspace, folder: Path, *, cells: bool) -> bytes:
    """Return the page of a candidate's evidence.

    Raises:
        InputError: The evidence is invalid; or cells are asked for and none of its sweeps is here.

    """
    evidence = read_evidence(folder)
    sweeps = (evidence.promotion.sweep, *(one.sweep for one in evidence.promotion.extra))
    drawers = _drawers(workspace, evidence.rows, sweeps) if cells else NO_DRAWERS
    return page_html(evidence, around_of(workspace, evidence), drawers)


def generation_alone(workspace: Workspace, folder: Path, *, cells: bool) -> bytes:
    """Return the page of the candidate that a generation decided on; of the generation where it decided on none.

    Raises:
        InputError: The generation or its evidence is invalid; or cells are asked for and there are none.

    """
    record = open_generation(folder).record
    if record.evidence is not None:
        return promotion_alone(workspace, workspace.root / record.evidence, cells=cells)
    if cells:
        text = f"{record.id}: decided on no candidate, so that it has no cells of its own"
        raise InputError(text, hint="give one of its sweeps", code="no-cells")
    facts, tables = generation_facts(record), generation_tables(record, lambda _: "", lambda _: "")
    return document("generation.html.j2", title=f"generation {record.id}", facts=facts, tables=tables)


def around_of(workspace: Workspace, evidence: Evidence) -> Around:
    """Return what a workspace knows around evidence."""
    repository = Repository(workspace.root)
    return Around(
        diff=evidence_diff(workspace, repository, evidence),
        signed=signatories(evidence).lines,
        parents=read_ancestry(workspace, repository).parents,
    )


def _drawers(workspace: Workspace, rows: Sequence[Row], sweeps: Sequence[str]) -> Drawers:
    """Return what is kept of cells; evidence keeps nothing of it, the sweeps that measured them do."""
    folders = [folder for name in sweeps if (folder := workspace.sweeps / Path(name).name).is_dir()]
    if not folders:
        text = f"{', '.join(sweeps)}: not on this machine, so that nothing is kept of its cells here"
        raise InputError(text, hint="without --cells the page is whole", code="no-sweep")
    return drawers_of(rows, CellReader(workspace.corpus, folders).view)
