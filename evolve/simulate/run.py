"""Whole generations in a world: search, one finalist, and what each rule says of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolve.gate.table import FAILED, RESOLVED, Run, TaskRuns
from evolve.generation.screen import Standing, Tally, finalist
from evolve.records.policy import Policy
from evolve.simulate.rules import Rule, Sealed, Verdict
from evolve.simulate.worlds import Design, Truth, World, draw_truth
from evolve.stats.intervals import Interval, clopper_pearson_interval
from evolve.stats.multiplicity import level_of_look

if TYPE_CHECKING:
    from evolve.simulate.worlds import Generator, Rates


@dataclass(frozen=True)
class Characteristics:
    """What a rule does in a world, over many generations.

    Args:
        rule: The rule's name.
        world: The world's name.
        generations: How many were run.
        finalists: In how many the search had a finalist.
        promoted: In how many the rule took it.
        wrongly: In how many of these it was no better, or breaks tasks.
        rightly: In how many a better finalist was taken.
        better_finalists: In how many the finalist was better.
        cells: Sealed cells paid for, over all generations with a finalist.
        failed_cells: The same over those in which it was not taken.
        bias: Mean of what the rule reports minus what is true, over all sealed measurements, in points.
        bias_error: The standard error of the bias.

    """

    rule: str
    world: str
    generations: int
    finalists: int
    promoted: int
    wrongly: int
    rightly: int
    better_finalists: int
    cells: int
    planned_cells: int
    failed_cells: int
    failed: int
    bias: float | None
    bias_error: float | None

    @property
    def false_promotions(self) -> Interval:
        """The share of generations that promote what is no better, with an exact interval."""
        return clopper_pearson_interval(self.wrongly, self.generations)

    @property
    def power(self) -> Interval | None:
        """The share of better finalists that are taken, with an exact interval."""
        if not self.better_finalists:
            return None
        return clopper_pearson_interval(self.rightly, self.better_finalists)

    @property
    def cells_share(self) -> float | None:
        """Sealed cells paid for, of those planned."""
        return self.cells / self.planned_cells if self.planned_cells else None

    @property
    def failed_cells_share(self) -> float | None:
        """Sealed cells paid for when the finalist was not taken, of those planned for it."""
        planned = self.failed * self.planned_cells / self.finalists if self.finalists else 0
        return self.failed_cells / planned if planned else None


def characteristics(
    world: World, rules: Sequence[Rule], design: Design, policy: Policy, generations: int, seed: int, look: int = 1
) -> list[Characteristics]:
    """Run generations and hold every rule against the same finalists and the same outcomes.

    Args:
        world: What is true.
        rules: Who decides.
        design: Tasks, runs and candidates of a generation.
        policy: Screening and the level of the look.
        generations: How many to run.
        seed: Seeds everything.
        look: Which look at the sealed tasks each generation takes.

    """
    alpha = level_of_look(policy.alpha_account, look, policy.alpha)
    counts = {rule.name: _Count() for rule in rules}
    found = 0
    for truth, chosen, rng in _finalists(world, design, policy, generations, seed):
        found += 1
        sealed = measure(world, truth, chosen, design, alpha, rng)
        for rule in rules:
            counts[rule.name].add(rule.decide(sealed), truth, chosen)
    return [counts[rule.name].result(rule, world, design, generations, found) for rule in rules]


def _finalists(
    world: World, design: Design, policy: Policy, generations: int, seed: int
) -> Iterator[tuple[Truth, int, Generator]]:
    import numpy

    for number in range(generations):
        rng = numpy.random.default_rng([seed, number])
        truth = draw_truth(world, design, rng)
        chosen = search(world, truth, policy, rng)
        if chosen is not None:
            yield truth, chosen, rng


def search(world: World, truth: Truth, policy: Policy, rng: Generator) -> int | None:
    """Return the candidate that a generation's screening lets look at the sealed tasks, if any.

    Where the world drifts, the incumbent's score was taken before, as by systems that measure it once.
    """
    screening = policy.screening

    def tally(rates: Rates, runs: int, risen: float) -> Tally:
        found = world.outcomes((rates + risen).clip(0, 1), runs, rng)
        return Tally(int(found.sum()), found.size)

    incumbent = tally(truth.incumbent["train"], screening.train_runs, 0)
    trained = [tally(rates["train"], screening.train_runs, world.drift) for rates in truth.candidates]
    holding = [number for number, found in enumerate(trained) if found.resolved >= incumbent.resolved]
    able = sorted(holding, key=lambda number: (-trained[number].resolved, number))[: screening.survivors]
    if not able:
        return None
    incumbent = tally(truth.incumbent["selection"], screening.selection_runs, 0)
    measured = [
        Standing(
            str(number),
            "reflect",
            0,
            tally(truth.candidates[number]["selection"], screening.selection_runs, world.drift),
        )
        for number in able
    ]
    best = finalist(measured, incumbent, policy)
    return None if best is None else int(best.arm)


def measure(world: World, truth: Truth, chosen: int, design: Design, alpha: float, rng: Generator) -> Sealed:
    """Measure a candidate on the sealed tasks."""
    incumbent, candidate = truth.incumbent["sealed"], truth.candidates[chosen]["sealed"]
    before = world.outcomes(incumbent, design.sealed_runs, rng)
    after = world.outcomes(candidate, design.sealed_runs, rng)
    tasks = tuple(
        TaskRuns(f"t{number:04d}", _runs(one), _runs(other))
        for number, (one, other) in enumerate(zip(before, after, strict=True))
    )
    order = [(int(task), run) for run in range(design.sealed_runs) for task in rng.permutation(len(tasks))]
    extra_seed = int(rng.integers(2**32))

    def more(wanted: Mapping[str, int]) -> tuple[TaskRuns, ...]:
        return tuple(
            _with_extra(task, wanted.get(task.task, 0), float(one), float(other), extra_seed + number)
            for number, (task, one, other) in enumerate(zip(tasks, incumbent, candidate, strict=True))
        )

    return Sealed(tasks, order, more, alpha)


def _runs(outcomes: Sequence[bool]) -> tuple[Run, ...]:
    return tuple(RESOLVED if resolved else FAILED for resolved in outcomes)


def _with_extra(task: TaskRuns, runs: int, incumbent: float, candidate: float, seed: int) -> TaskRuns:
    """Return a task with so many extra runs; the same seed gives the first of them again."""
    if not runs:
        return task
    import numpy

    found = numpy.random.default_rng(seed).random((runs, 2)) < (incumbent, candidate)
    pairs = tuple((RESOLVED if one else FAILED, RESOLVED if other else FAILED) for one, other in found)
    return TaskRuns(task.task, task.incumbent, task.candidate, pairs, task.tier)


class _Count:
    def __init__(self) -> None:
        self.promoted = self.wrongly = self.rightly = self.better = self.cells = self.failed_cells = self.failed = 0
        self.errors: list[float] = []

    def add(self, verdict: Verdict, truth: Truth, chosen: int) -> None:
        better = truth.better[chosen]
        self.better += better
        self.promoted += verdict.promoted
        self.wrongly += verdict.promoted and not better
        self.rightly += verdict.promoted and better
        self.cells += verdict.cells
        if not verdict.promoted:
            self.failed += 1
            self.failed_cells += verdict.cells
        if verdict.estimate is not None:
            self.errors.append(verdict.estimate - 100 * truth.effects[chosen])

    def result(self, rule: Rule, world: World, design: Design, generations: int, found: int) -> Characteristics:
        n = len(self.errors)
        bias = math.fsum(self.errors) / n if n else None
        error = None
        if bias is not None and n > 1:
            error = math.sqrt(math.fsum((value - bias) ** 2 for value in self.errors) / (n - 1) / n)
        planned = 2 * design.sealed_tasks * design.sealed_runs if rule.sealed else 0
        return Characteristics(
            rule=rule.name,
            world=world.name,
            generations=generations,
            finalists=found,
            promoted=self.promoted,
            wrongly=self.wrongly,
            rightly=self.rightly,
            better_finalists=self.better,
            cells=self.cells,
            planned_cells=planned * found,
            failed_cells=self.failed_cells,
            failed=self.failed,
            bias=bias,
            bias_error=error,
        )
