"""Which cells a proposer is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from evolve.records.row import Row

MOST_CELLS = 12

T = TypeVar("T")


def chosen_cells(rows: Sequence[Row], most: int = MOST_CELLS) -> tuple[Row, ...]:
    """Return the rows to show: those that failed, then the costliest of the others, balanced over tasks.

    A row that is void says nothing about its arm and is never shown. Of rows that are equally far, the costliest comes
    first; a row of unknown cost comes after all that are known.

    Args:
        rows: Rows of train tasks.
        most: How many are shown at the most.

    """
    valid = [row for row in rows if not row.void]
    shown: Counter[str] = Counter()
    chosen: list[Row] = []
    for wanted in (False, True):
        waiting = sorted((row for row in valid if row.resolved is wanted), key=_costliest_first)
        while waiting and len(chosen) < most:
            row = min(waiting, key=lambda one: shown[one.identity.task])  # the first of those: sorted by cost
            waiting.remove(row)
            shown[row.identity.task] += 1
            chosen.append(row)
    return tuple(chosen)


def _costliest_first(row: Row) -> tuple[bool, int, bool, int, str, int, str]:
    cost, tokens = row.usage.cost_usd_micros, total_tokens(row)
    name = (row.identity.task, row.identity.run, row.arm)
    return (cost is None, -(cost or 0), tokens is None, -(tokens or 0), *name)


def total_tokens(row: Row) -> int | None:
    """Return the tokens that a row used, input and output; ``None`` where one of them is not known."""
    used = row.usage
    return None if used.input_tokens is None or used.output_tokens is None else used.input_tokens + used.output_tokens
