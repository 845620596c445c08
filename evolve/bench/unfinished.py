"""Finding sweeps that were interrupted."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from evolve.bench.books import PLAN_FILE
from evolve.bench.journal import JOURNAL_FILE, read_state
from evolve.bench.runner import generation_of
from evolve.errors import EvolveError
from evolve.records.base import read_json
from evolve.records.plan import Plan


def unfinished_sweeps(sweeps: Path, undecided: Collection[str]) -> list[Path]:
    """Return the sweeps that did not come to their end, the one whose journal was written last first.

    Sweeps that a generation began for itself are left to that generation.

    Args:
        sweeps: The folder of sweeps.
        undecided: Sweeps that have looked at sealed tasks and await a decision, whether or not they finished.

    """
    journals = sorted(sweeps.glob(f"*/{JOURNAL_FILE}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    found = []
    for path in journals:
        try:
            if path.parent.name in undecided:
                found.append(path.parent)
                continue
            by_hand = generation_of(read_json(Plan, path.with_name(PLAN_FILE))) is None
            if by_hand and not read_state(path).finished:
                found.append(path.parent)
        except EvolveError:
            continue
    return found
