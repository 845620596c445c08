"""A workspace as a page: what is running, and every sweep, generation and promotion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evolve.bench.status import SweepStatus
from evolve.errors import EvolveError
from evolve.generation.state import STATE_FILE, open_generation
from evolve.promote.evidence import read_evidence
from evolve.records.generation import Generation
from evolve.records.promotion import Promotion
from evolve.report.markdown import money
from evolve.report.page.visible import shown
from evolve.view.linked import NAME, Cell, LinkedTable, cells, count, named
from evolve.workspace import Workspace

SWEEPS = ("sweep", "is", "measures", "cells done", "resolved", "void attempts", "spent, at the most", "last event")
GENERATIONS = ("generation", "skill", "outcome", "what it came to", "began")
PROMOTIONS = ("candidate", "skill", "outcome", "estimate that decides", "measured")


def sweeps_table(found: Iterable[SweepStatus], damaged: Mapping[str, str]) -> LinkedTable:
    """Return every sweep, the latest first; those that cannot be read are there with the reason."""
    rows = [*map(_sweep, found), *(cells(shown(name, 200), "damaged", shown(why)) for name, why in damaged.items())]
    padded = tuple((*row, *cells(*[""] * (len(SWEEPS) - len(row)))) for row in rows)
    caption = f"{count(len(rows), 'sweep')}, the latest event first; resolved of the cells that were paid for."
    return LinkedTable("sweeps", caption, SWEEPS, padded)


def _sweep(one: SweepStatus) -> tuple[Cell, ...]:
    return (
        named(one.sweep, "sweep/{}/index.html"),
        Cell("running" if one.pid is not None else one.stage, "", "running" if one.pid is not None else ""),
        *cells(
            f"{one.purpose}, for {shown(one.context, 100)}",
            f"{one.done:,} of {one.cells:,}",
            f"{one.resolved:,} of {one.settled:,}",
            f"{one.void:,}",
            money(one.spent_micros),
            f"{one.last:%Y-%m-%d %H:%M:%S} UTC",
        ),
    )


def generations_table(workspace: Workspace) -> LinkedTable:
    """Return every generation, the newest first."""
    rows = tuple(_generation(name, one) for name, one in _generations(workspace))
    return LinkedTable("generations", f"{count(len(rows), 'generation')}, the newest first.", GENERATIONS, rows)


def _generations(workspace: Workspace) -> Iterator[tuple[str, Generation | str]]:
    for path in sorted(workspace.generations.glob(f"g*/{STATE_FILE}"), reverse=True):
        try:
            yield path.parent.name, open_generation(path.parent).record
        except EvolveError as error:
            yield path.parent.name, error.message


def _generation(name: str, one: Generation | str) -> tuple[Cell, ...]:
    if isinstance(one, str):
        return cells(shown(name, 100), "", "damaged", shown(one), "")
    outcome = "unfinished" if one.finished_at is None else _words(one.outcome)
    return (
        named(name, "generation/{}.html", 100),
        *cells(one.skill or "", outcome, shown(one.summary), f"{one.started_at:%Y-%m-%d %H:%M} UTC"),
    )


def promotions_table(workspace: Workspace) -> LinkedTable:
    """Return every candidate that was decided on, the newest first."""
    found = sorted(_promotions(workspace), key=lambda one: str(one[2]), reverse=True)
    rows = tuple(row for _, row, _ in found)
    caption = f"{count(len(rows), 'candidate')} decided on, the newest first."
    return LinkedTable("promotions", caption, PROMOTIONS, rows)


def evidence_folders(workspace: Workspace) -> list[Path]:
    """Return the folders of all evidence."""
    return sorted(path.parent for path in workspace.promotion.glob("*/*/promotion.json"))


def is_named(folder: Path) -> bool:
    """Whether evidence can have a page, by the names of its folders."""
    return all(re.fullmatch(NAME, name) for name in (folder.parent.name, folder.name))


def _promotions(workspace: Workspace) -> Iterator[tuple[str, tuple[Cell, ...], object]]:
    for folder in evidence_folders(workspace):
        name = f"{folder.parent.name}/{folder.name}"
        try:
            promotion = read_evidence(folder).promotion
        except (EvolveError, OSError) as error:
            why = error.message if isinstance(error, EvolveError) else str(error)
            yield name, cells(shown(folder.name, 100), folder.parent.name, "damaged", shown(why), ""), ""
            continue
        measured = f"{promotion.generated_at:%Y-%m-%d %H:%M} UTC"
        row = (
            Cell(shown(folder.name, 100), f"promotion/{name}.html" if is_named(folder) else ""),
            *cells(promotion.skill, _words(promotion.decision.outcome), deciding(promotion), measured),
        )
        yield name, row, measured


def deciding(promotion: Promotion) -> str:
    """Return the estimate that decides, with its interval, tasks and runs."""
    from evolve.report.page.verdict import effect_of

    effect = effect_of(promotion)
    one = next((one for one in effect.estimates if one.decides), None) if effect is not None else None
    return "" if one is None else f"{one.estimand}: {one.value} ({one.interval}; {one.over})"


def _words(outcome: object) -> str:
    return "" if outcome is None else str(outcome).replace("_", " ")
