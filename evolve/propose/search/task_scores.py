"""The scores of every candidate by task, as far as they were measured."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evolve.stats.additive import CellScore

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
        self._part: dict[str, int] = {}
        # Each part that a candidate holds is an entry of both.
        self._holders, self._held = array("q"), array("q")
        self.tokens: list[int] = []

    @property
    def names(self) -> list[str]:
        """Who is known, in the order of the rows."""
        return list(self._row)

    def know(self, name: str, parts: Sequence[str] = (), tokens: int = 0) -> int:
        """Take a candidate in with the parts that it holds and its resident tokens, and return its row."""
        row = self._row.get(name)
        if row is not None:
            return row
        row = self._row[name] = len(self._row)
        self.tokens.append(tokens)
        self._holders.extend([row] * len(parts))
        self._held.extend([self._part.setdefault(part, len(self._part)) for part in parts])
        if row == len(self._sums):
            more = self._np.zeros((max(16, row), self._sums.shape[1]))
            self._sums, self._counts = self._np.vstack([self._sums, more]), self._np.vstack([self._counts, more])
        return row

    def add(self, row: int, cells: Sequence[CellScore]) -> None:
        """Take cells of a row in."""
        sums, counts = self._sums[row], self._counts[row]
        for task, _, score in cells:
            column = self._column[task]
            sums[column] += score
            counts[column] += 1

    def drawn_towards(self, base: Sequence[float], effects: Mapping[str, float]) -> Floats:
        """Return mean scores drawn towards what is expected: a base a task, and what each part adds."""
        np, rows = self._np, len(self._row)
        parts = np.array([effects[part] for part in self._part])
        held = parts[np.array(self._held, dtype=np.intp)] if self._held else None
        # Summed one after the other, as a restored search must compute alike to the bit.
        added = np.bincount(np.array(self._holders, dtype=np.intp), weights=held, minlength=rows)
        expected = np.asarray(base)[None, :] + added[:, None]
        total = self._sums[:rows] + PRIOR_CELLS * expected
        scores: Floats = np.round(total / (self._counts[:rows] + PRIOR_CELLS), 6)
        return scores
