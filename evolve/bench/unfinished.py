"""Finding sweeps that were interrupted."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from evolve.bench.journal import fold, read_events
from evolve.bench.runner import JOURNAL_FILE
from evolve.errors import EvolveError


def latest_unfinished_sweep(sweeps: Path, undecided: Collection[str]) -> Path | None:
    """Return the sweep whose journal was written last among those that did not come to their end.

    Args:
        sweeps: The folder of sweeps.
        undecided: Sweeps that have looked at sealed tasks and await a decision, whether or not they finished.

    """
    journals = sorted(sweeps.glob(f"*/{JOURNAL_FILE}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in journals:
        try:
            if path.parent.name in undecided or not fold(read_events(path)).finished:
                return path.parent
        except EvolveError:
            continue
    return None
