"""Whom to propose from: the candidates that nobody beats on every task at no more text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

LEVEL = 1e-9
ROOM = 1_000_000
"""How many scores are compared at once."""


def frontier(names: Sequence[str], scores: Floats, tokens: Sequence[int]) -> dict[str, int]:
    """Return who is the best on at least one task, with the number of tasks, those that another dominates left out.

    A task on which many are equally good counts for those of them with the fewest tokens alone.

    Args:
        names: The candidates.
        scores: A row a candidate, a column a task.
        tokens: Each candidate's resident tokens.

    """
    import numpy as np

    lengths = np.asarray(tokens, dtype=float)[:, None]
    level = scores >= scores.max(axis=0) - LEVEL
    shortest = np.where(level, lengths, np.inf).min(axis=0)
    counts = (level & (lengths == shortest)).sum(axis=1)
    on = np.flatnonzero(counts)
    beaten = _beaten(scores[on], lengths[on, 0])
    return {names[one]: int(counts[one]) for one, out in zip(on.tolist(), beaten, strict=True) if not out}


def _beaten(scores: Floats, lengths: Floats) -> list[bool]:
    """Return for each candidate whether another is nowhere worse, in length neither, and somewhere better."""
    import numpy as np

    found: list[bool] = []
    at_once = max(1, ROOM // max(1, scores.size))
    for start in range(0, len(scores), at_once):
        some, length = scores[start : start + at_once, None], lengths[start : start + at_once, None]
        nowhere_worse = (lengths <= length) & (scores >= some - LEVEL).all(axis=2)
        somewhere_better = (lengths < length) | (scores > some + LEVEL).any(axis=2)
        beaten: Bools = np.logical_or.reduce(nowhere_worse & somewhere_better, axis=1)
        found += beaten.tolist()
    return found


def draw(weights: Mapping[str, int], uniform: float) -> str:
    """Return one of some names in proportion to their weights, by a number from 0 up to 1."""
    mark = uniform * sum(weights.values())
    for name, weight in weights.items():
        mark -= weight
        if mark < 0:
            return name
    return next(reversed(list(weights)))
