"""Tasks that tell the arms not apart: every arm fails them in every run, or none ever does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evolve.records.row import Row


@dataclass(frozen=True)
class Ties:
    """Tasks at the floor and at the ceiling, sorted by id; they are kept as guards against harm."""

    floor: tuple[str, ...]
    ceiling: tuple[str, ...]


def ties(rows: Iterable[Row]) -> Ties:
    """Return the tasks on which every valid row of every arm came out the same; one arm alone tells nothing."""
    outcomes: dict[str, set[bool]] = {}
    arms: dict[str, set[str]] = {}
    for row in rows:
        if not row.void:
            outcomes.setdefault(row.identity.task, set()).add(row.resolved)
            arms.setdefault(row.identity.task, set()).add(row.arm)
    compared = {task: found for task, found in outcomes.items() if len(arms[task]) > 1}
    return Ties(
        tuple(sorted(task for task, found in compared.items() if found == {False})),
        tuple(sorted(task for task, found in compared.items() if found == {True})),
    )
