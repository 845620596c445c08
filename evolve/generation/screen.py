"""Screening: which candidate, if any, may look at the sealed split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.records.row import Row

INCUMBENT = "incumbent"


@dataclass(frozen=True)
class Tally:
    """How many of an arm's cells resolved, out of how many."""

    resolved: int
    cells: int

    def __str__(self) -> str:
        return f"{self.resolved}/{self.cells}"


def tally(rows: Sequence[Row], arm: str) -> Tally:
    """Count an arm's resolved cells; a void cell counts as a cell that did not resolve."""
    own = [row for row in rows if row.arm == arm]
    return Tally(resolved=sum(row.resolved for row in own), cells=len(own))


@dataclass(frozen=True)
class Standing:
    """A candidate as it stands in the search: its text's length in bytes breaks ties."""

    arm: str
    resident_bytes: int
    train: Tally
    selection: Tally | None = None


def survivors(standings: Sequence[Standing], incumbent: Tally, count: int) -> list[Standing]:
    """Return the candidates that go on to the selection split: the best on train, none below the incumbent."""
    able = [standing for standing in standings if standing.train.resolved >= incumbent.resolved]
    return sorted(able, key=lambda s: (-s.train.resolved, s.resident_bytes, s.arm))[:count]


def finalist(standings: Sequence[Standing], incumbent: Tally) -> Standing | None:
    """Return the best candidate on the selection split, if it is above the incumbent measured beside it."""
    measured = [(s, s.selection) for s in standings if s.selection is not None]
    better = [(s, found) for s, found in measured if found.resolved > incumbent.resolved]
    if not better:
        return None
    return min(
        better, key=lambda pair: (-pair[1].resolved, -pair[0].train.resolved, pair[0].resident_bytes, pair[0].arm)
    )[0]


@dataclass(frozen=True)
class Baseline:
    """A skill's train rows: how many failed, of how many, and the mean share of checks that passed."""

    skill: str
    failed: int
    cells: int
    mean_score: float


def baseline_of(skill: str, rows: Sequence[Row]) -> Baseline:
    """Summarise a skill's train rows."""
    scores = [score for row in rows for score in (_score(row),) if score is not None]
    return Baseline(
        skill=skill,
        failed=sum(not row.resolved for row in rows if not row.void),
        cells=len(rows),
        mean_score=sum(scores) / len(scores) if scores else 0.0,
    )


def _score(row: Row) -> float | None:
    parts = [outcome.score for outcome in (row.verify, row.oracle) if outcome is not None]
    return sum(parts) / len(parts) if parts else None


def most_failing(baselines: Sequence[Baseline]) -> Baseline:
    """Return the skill with most failing rows; ties go to the lower share of passed checks, then by name."""
    return min(baselines, key=lambda b: (-b.failed, b.mean_score, b.skill))
