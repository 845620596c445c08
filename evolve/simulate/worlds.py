"""Worlds whose truth is known: how often each arm resolves each task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Rates = NDArray[numpy.float64]
    Generator = numpy.random.Generator

Kind = Literal["null", "gain", "regression", "heterogeneous", "drift", "correlated"]


@dataclass(frozen=True)
class World:
    """A declared world.

    Args:
        name: What it is called.
        summary: What is true in it, in one sentence.
        effect: By how much a better candidate raises each task's rate.
        better: How many of a generation's candidates are better; the others are the incumbent in other words.
        spread: Standard deviation of a candidate's effect from task to task, mean zero.
        regressions: Tasks that such a candidate breaks: their rate falls to ``broken_rate``, and it is no better.
        broken_rate: The rate of a broken task.
        drift: By how much every rate has risen since the incumbent's score of the search was taken.
        repeat: Probability that a further run of a task repeats the arm's first one.
        base: The lowest and highest rate of the incumbent, uniform between.

    """

    name: Kind
    summary: str
    effect: float = 0.0
    better: int = 0
    spread: float = 0.0
    regressions: int = 0
    broken_rate: float = 0.05
    drift: float = 0.0
    repeat: float = 0.0
    base: tuple[float, float] = (0.1, 0.7)

    def incumbent(self, tasks: int, rng: Generator) -> Rates:
        """Return the incumbent's rate of each task."""
        return rng.uniform(*self.base, size=tasks)

    def candidate(self, incumbent: Rates, *, better: bool, rng: Generator) -> Rates:
        """Return a candidate's rate of each task."""
        rates = incumbent + (self.effect if better else 0.0)
        if self.spread:
            shifts = rng.normal(0.0, self.spread, size=len(incumbent))
            rates = rates + shifts - shifts.mean()
        rates = rates.clip(0.0, 1.0)
        if better and self.regressions:
            rates[incumbent.argsort()[-self.regressions :]] = self.broken_rate
        return rates

    def outcomes(self, rates: Rates, runs: int, rng: Generator) -> NDArray[numpy.bool_]:
        """Return whether each run of each task resolves; shape (tasks, runs)."""
        found = rng.random((len(rates), runs)) < rates[:, None]
        if self.repeat:
            repeats = rng.random((len(rates), runs)) < self.repeat
            repeats[:, 0] = False
            found = found * ~repeats + found[:, :1] * repeats
        return found.astype(bool)


WORLDS: Final[Mapping[str, World]] = {
    world.name: world
    for world in (
        World("null", "no candidate is better or worse than the incumbent"),
        World("gain", "one of the candidates resolves every task more often", effect=0.25, better=1),
        World(
            "regression",
            "one of the candidates resolves most tasks more often and breaks the two that the incumbent does best",
            effect=0.25,
            better=1,
            regressions=2,
        ),
        World("heterogeneous", "each candidate helps some tasks and hurts others, by nothing on the whole", spread=0.2),
        World("drift", "no candidate is better; the model is, since the incumbent's score of the search", drift=0.15),
        World("correlated", "no candidate is better or worse; runs of a task often repeat the first", repeat=0.7),
    )
}


@dataclass(frozen=True)
class Design:
    """How a generation is measured: tasks and runs of each split, and how many candidates there are."""

    candidates: int = 6
    train_tasks: int = 12
    selection_tasks: int = 12
    sealed_tasks: int = 24
    sealed_runs: int = 3


@dataclass(frozen=True)
class Truth:
    """The rates of one generation's tasks: the incumbent's, and each candidate's, by split."""

    incumbent: Mapping[str, Rates]
    candidates: tuple[Mapping[str, Rates], ...]
    better: tuple[bool, ...]
    effects: tuple[float, ...] = field(default=())


def draw_truth(world: World, design: Design, rng: Generator) -> Truth:
    """Draw the tasks of one generation, and what its candidates do to them."""
    sizes = {"train": design.train_tasks, "selection": design.selection_tasks, "sealed": design.sealed_tasks}
    incumbent = {split: world.incumbent(size, rng) for split, size in sizes.items()}
    changed = tuple(number < world.better for number in range(design.candidates))
    candidates = tuple(
        {split: world.candidate(rates, better=one, rng=rng) for split, rates in incumbent.items()} for one in changed
    )
    better = tuple(one and not world.regressions for one in changed)
    effects = tuple(float((rates["sealed"] - incumbent["sealed"]).mean()) for rates in candidates)
    return Truth(incumbent, candidates, better, effects)
