"""What the transcripts of each arm show, as columns of a report; nothing that decides reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evolve.agents.transcripts import tells
from evolve.propose.diagnostics.diagnose import Diagnosis, diagnose_transcript
from evolve.propose.diagnostics.finding import FindingKind
from evolve.propose.diagnostics.of_row import transcript_of
from evolve.records.plan import Plan
from evolve.records.row import Row


@dataclass(frozen=True)
class ArmDiagnostics:
    """What the transcripts of an arm show.

    Args:
        arm: Its name.
        cells: Its rows.
        diagnosed: Those whose transcript could be read.
        means: How often each kind was found in a cell whose transcript can show it; ``None`` where none can.

    """

    arm: str
    cells: int
    diagnosed: int
    means: Mapping[FindingKind, float | None]

    def json_value(self) -> dict[str, object]:
        """Return it as JSON has it; what nobody knows is null."""
        means = {kind.value: mean for kind, mean in self.means.items()} if self.diagnosed else None
        return {"arm": self.arm, "cells": self.cells, "diagnosed": self.diagnosed, "mean_counts": means}


def sweep_diagnostics(sweep: Path, plan: Plan, rows: Iterable[Row]) -> tuple[ArmDiagnostics, ...]:
    """Diagnose every transcript of a sweep, one at a time.

    Args:
        sweep: Where its transcripts lie.
        plan: Its plan, which knows the adapter of each arm.
        rows: The rows that count.

    """
    found: dict[str, list[Mapping[FindingKind, int | None] | None]] = {arm.name: [] for arm in plan.arms}
    for row in rows:
        adapter = str(plan.agent_of(row.arm).get("adapter"))
        diagnosis = _diagnosis(sweep, row, adapter) if tells(adapter) else None
        found.setdefault(row.arm, []).append(None if diagnosis is None else diagnosis.counts)
    return tuple(_column(arm, counts) for arm, counts in found.items())


def _diagnosis(sweep: Path, row: Row, adapter: str) -> Diagnosis | None:
    transcript = transcript_of(sweep, row, adapter)
    return None if transcript is None else diagnose_transcript(transcript)


def _column(arm: str, cells: list[Mapping[FindingKind, int | None] | None]) -> ArmDiagnostics:
    diagnosed = [counts for counts in cells if counts is not None]
    means: dict[FindingKind, float | None] = {}
    for kind in FindingKind:
        told = [count for counts in diagnosed if (count := counts[kind]) is not None]
        means[kind] = sum(told) / len(told) if told else None
    return ArmDiagnostics(arm, len(cells), len(diagnosed), means)


def diagnostics_table(columns: Iterable[ArmDiagnostics]) -> dict[str, list[str]]:
    """Return the cells of a table: by what is counted, one text for each arm; kinds that nowhere occur are left out."""
    arms = list(columns)
    if not any(arm.diagnosed for arm in arms):
        return {}
    table = {"cells diagnosed": [f"{arm.diagnosed}/{arm.cells}" if arm.diagnosed else "not diagnosed" for arm in arms]}
    for kind in FindingKind:
        if any(arm.means[kind] for arm in arms):
            table[kind.value] = [_mean(arm, kind) for arm in arms]
    return table


def _mean(arm: ArmDiagnostics, kind: FindingKind) -> str:
    mean = arm.means[kind]
    if mean is None:
        return "not told" if arm.diagnosed else ""
    return f"{mean:.2f}"
