"""Finding what a report or an export is about: a generation, a sweep, or the evidence of a candidate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.records.row import Row
    from evolve.workspace import Workspace


@dataclass(frozen=True)
class Source:
    """What was named, and its folder."""

    kind: Literal["generation", "sweep", "promotion"]
    folder: Path


def found(workspace: Workspace, what: str | None) -> Source:
    """Return what a command-line argument names; by default the newest generation.

    Raises:
        InputError: It names nothing.

    """
    from evolve.bench.books import PLAN_FILE
    from evolve.generation.state import STATE_FILE
    from evolve.promote.apply import evidence_of

    if what is None:
        newest = max(workspace.generations.glob(f"g*/{STATE_FILE}"), default=None)
        if newest is None:
            raise InputError("there is no generation yet", hint="evolve generation", code="nothing-to-report")
        return Source("generation", newest.parent)
    name = Path(what).name
    if (workspace.generations / name / STATE_FILE).exists():
        return Source("generation", workspace.generations / name)
    if (workspace.sweeps / name / PLAN_FILE).exists():
        return Source("sweep", workspace.sweeps / name)
    folder = evidence_of(workspace, what)
    if folder is None:
        hint = "evolve status --all lists sweeps, and evolve view shows all that there is"
        raise InputError(f"{what}: no generation, sweep or promotion", hint=hint, code="not-found")
    return Source("promotion", folder)


def evidence_folder_of(workspace: Workspace, source: Source) -> Path:
    """Return the evidence that a promotion is, or that a generation's finalist has.

    Raises:
        InputError: The generation had no finalist, or it is a sweep, which decides nothing.

    """
    from evolve.generation.state import open_generation

    if source.kind == "promotion":
        return source.folder
    evidence = open_generation(source.folder).record.evidence if source.kind == "generation" else None
    if evidence is None:
        had = "decided on no candidate" if source.kind == "generation" else "is a sweep, which decides nothing"
        hint = "evolve report --csv SWEEP shows what was measured, evolve report PROMOTION what was decided"
        raise InputError(f"{source.folder.name}: {had}", hint=hint, code="nothing-decided")
    return workspace.root / evidence


def rows_of(workspace: Workspace, source: Source) -> tuple[Row, ...]:
    """Return the rows that count in a source."""
    from evolve.bench.measured import counted_rows
    from evolve.promote.evidence import read_evidence

    if source.kind == "sweep":
        return tuple(counted_rows(source.folder))
    return read_evidence(evidence_folder_of(workspace, source)).rows
