"""The scores of every candidate by task, as far as they were measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PRIOR_CELLS = 4
"""Cells that what is expected counts for, beside what was measured."""


class TaskScores:
    """Sums and counts of scores: a row a candidate, a column a task."""

    def __init__(self, tasks: Sequence[str]) -> None:
        import numpy as np

        self._np = np
        self._column = {task: number for number, task in enumerate(tasks)}
        self._row: dict[str, int] = {}
        self._sums = np.zeros((0, len(tasks)))
        self._counts = np.zeros((0, len(tasks)))

    @property
    def names(self) -> list[str]:
        """Who is known, in the order of the rows."""
        return list(self._row)

    def know(self, name: str) -> int:
        """Take a candidate in, and return its row."""
        row = self._row.setdefault(name, len(self._row))
        if row == len(self._sums):
            more = self._np.zeros((max(16, row), self._sums.shape[1]))
            self._sums, self._counts = self._np.vstack([self._sums, more]), self._np.vstack([self._counts, more])
        return row

    def add(self, name: str, task: str, score: float) -> None:
        """Take a score in."""
        row = self.know(name)
        self._sums[row, self._column[task]] += score
        self._counts[row, self._column[task]] += 1

    def drawn_towards(self, base: Sequence[float], effects: Sequence[float]) -> Floats:
        """Return mean scores drawn towards what is expected: a base a task, and an effect a candidate."""
        rows = len(self._row)
        expected = self._np.asarray(base)[None, :] + self._np.asarray(effects)[:, None]
        total = self._sums[:rows] + PRIOR_CELLS * expected
        scores: Floats = self._np.round(total / (self._counts[:rows] + PRIOR_CELLS), 6)
        return scores
