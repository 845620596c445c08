"""An additive model of scores: what each part of a text adds, learnt from all texts that hold it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ROOM = 64


@dataclass(frozen=True)
class Spreads:
    """Standard deviations, in units of the score: of one cell, and of what is not known yet.

    Args:
        noise: Of a cell's score about its expectation; at most 0.5 for pass or fail.
        effect: Of what one part adds.
        task: Of how hard tasks are.
        batch: Of how batches differ, as by drift of a provider.
        intercept: Of the mean score of the text without any of the parts.

    """

    noise: float = 0.45
    effect: float = 0.06
    task: float = 0.15
    batch: float = 0.05
    intercept: float = 0.5


class CellScore(NamedTuple):
    """The score of one cell, from 0 to 1, with the parts that its text held."""

    task: str
    parts: Sequence[str]
    score: float


@dataclass
class AdditiveModel:
    """Bayesian linear regression: score = intercept + task + batch + what each part adds + noise.

    All priors are normal with mean 0, so that the posterior is normal and exact (Bishop, Pattern Recognition and
    Machine Learning, 2006, section 3.3). Where every text holds some of the parts, each cell says something about all
    of them, as in a factorial experiment (Fisher, The Design of Experiments, 1935, chapter VI).

    Args:
        tasks: All tasks that may come.
        spreads: The standard deviations of everything.

    """

    tasks: Sequence[str]
    spreads: Spreads = field(default_factory=Spreads)

    def __post_init__(self) -> None:
        import numpy as np
        from scipy.linalg import lapack

        self._np, self._lapack = np, lapack
        self._task = {task: number + 1 for number, task in enumerate(self.tasks)}
        # What no cell was measured with is independent of all else, and stays out of the system to solve. Columns are
        # given in the order of the cells, so that the same cells are computed alike to the bit.
        self._column: dict[str, int] = {}
        self._known: dict[str, None] = {}
        self._size = 1 + len(self._task)
        prior = [1 / self.spreads.intercept**2, *[1 / self.spreads.task**2] * len(self._task)]
        self._precision = np.diag(np.array(prior))
        self._target = np.zeros(self._size)
        self._solved: tuple[Floats, Floats] | None = None
        self._means: dict[str, float] | None = None

    @property
    def parts(self) -> list[str]:
        """The parts that it knows of, in the order of :meth:`means`."""
        return list(self._known)

    def know(self, parts: Iterable[str]) -> None:
        """Take parts in that no cell was measured with yet."""
        for part in parts:
            if part not in self._known:
                self._known[part] = None
                self._means = None

    def _give_column(self, part: str) -> None:
        """Give a part that was measured its column."""
        np = self._np
        self.know((part,))
        if self._size == len(self._target):
            room = self._size + ROOM
            precision, target = np.zeros((room, room)), np.zeros(room)
            precision[: self._size, : self._size] = self._precision[: self._size, : self._size]
            target[: self._size] = self._target[: self._size]
            self._precision, self._target = precision, target
        self._column[part] = self._size
        self._precision[self._size, self._size] = 1 / self.spreads.effect**2
        self._size += 1

    def observe(self, cells: Sequence[CellScore]) -> None:
        """Learn from the cells of one whole batch; what they have in common says nothing about any part."""
        np = self._np
        for cell in cells:
            for part in cell.parts:
                if part not in self._column:
                    self._give_column(part)
        places, start = [], 0
        for cell in cells:
            places += [start, start + self._task[cell.task], *[start + self._column[part] for part in cell.parts]]
            start += self._size
        design = np.zeros((len(cells), self._size))
        design.ravel()[places] = 1.0
        scores = np.array([cell.score for cell in cells])
        noise, batch = self.spreads.noise**2, self.spreads.batch**2
        # The batch's effect is integrated out: the inverse of noise * I + batch * 11' (Sherman and Morrison, 1950).
        common = batch / (noise + len(cells) * batch)
        column_sums = design.sum(axis=0)
        weighted = (design - common * column_sums) / noise
        self._precision[: self._size, : self._size] += design.T @ weighted
        self._target[: self._size] += weighted.T @ scores
        self._solved = self._means = None

    def _posterior(self) -> tuple[Floats, Floats]:
        """Return the posterior mean, and the upper Cholesky factor of its precision."""
        if self._solved is None:
            upper, _ = self._lapack.dpotrf(self._precision[: self._size, : self._size], lower=0, clean=0)
            mean, _ = self._lapack.dpotrs(upper, self._target[: self._size], lower=0)
            self._solved = mean, upper
        return self._solved

    def _of_parts(self, measured: Floats, others: Callable[[], float]) -> dict[str, float]:
        """Return a value for each part: of those with a column, in their order, and of the others as they come."""
        values = dict.fromkeys(self._known, 0.0)
        values.update(zip(self._column, measured.tolist(), strict=True))
        if len(self._column) < len(values):
            values.update((part, others()) for part in self._known if part not in self._column)
        return values

    def means(self) -> dict[str, float]:
        """Return the posterior mean of what each part adds."""
        if self._means is None:
            self._means = self._of_parts(self._posterior()[0][1 + len(self._task) :], lambda: 0.0)
        return dict(self._means)

    def base(self) -> dict[str, float]:
        """Return the expected score of each task without any of the parts."""
        mean = self._posterior()[0]
        return dict(zip(self._task, (mean[0] + mean[1 : 1 + len(self._task)]).tolist(), strict=True))

    def draw(self, normal: Callable[[], float]) -> dict[str, float]:
        """Return one draw of what all parts add from the posterior; ``normal`` gives standard normal numbers."""
        mean, upper = self._posterior()
        first = 1 + len(self._task)
        if not self._column:
            return self._of_parts(mean[first:], lambda: self.spreads.effect * normal())
        deviates = self._np.array([normal() for _ in self._column])
        # The parts come last, so that their block of the factor is that of their own distribution.
        apart, _ = self._lapack.dtrtrs(upper[first:, first:], deviates, lower=0)
        return self._of_parts(mean[first:] + apart, lambda: self.spreads.effect * normal())

    def chance_above(self, parts: Iterable[str], instead_of: Iterable[str] = ()) -> float:
        """Return the posterior probability that some parts add more than others in their place."""
        mean, upper = self._posterior()
        contrast, unmeasured = self._np.zeros(self._size), dict.fromkeys(self._known, 0.0)
        for sign, names in ((1.0, parts), (-1.0, instead_of)):
            for name in names:
                if name in self._column:
                    contrast[self._column[name]] += sign
                else:
                    unmeasured[name] += sign
        scaled, _ = self._lapack.dtrtrs(upper, contrast, lower=0, trans=1)
        prior = sum(weight * weight for weight in unmeasured.values()) * self.spreads.effect**2
        spread = math.sqrt(float(scaled @ scaled) + prior)
        return 0.5 if spread == 0.0 else 0.5 * math.erfc(-float(contrast @ mean) / spread / math.sqrt(2))


def added(effects: Mapping[str, float], parts: Iterable[str]) -> float:
    """Return what some parts add together."""
    return sum(map(effects.__getitem__, parts))
