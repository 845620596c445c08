"""Planning a look: what the gate can detect with so many tasks and runs, approximately and by simulating it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal

from evolve.gate.gain import smallest_p
from evolve.gate.inputs import GateInput
from evolve.gate.judge import Judgement, judge
from evolve.gate.rounds import rounds_judgement
from evolve.gate.table import FAILED, RESOLVED, TaskRuns
from evolve.records.kinds import Outcome
from evolve.records.policy import Policy
from evolve.stats.intervals import wilson_interval
from evolve.stats.power import WITHIN_VARIANCE, variance_components

Origin = Literal["measured", "given", "assumed"]
ASSUMED_RATE = 0.5
# What share of the variance of a run is within its task, where only the defaults of Miller (2024) tell: 2/3.
ASSUMED_SHARE = WITHIN_VARIANCE / (ASSUMED_RATE * (1 - ASSUMED_RATE))
# How the tasks' rates of two texts of one skill go together, under one model. Miller's 1/9 is of two models, whose
# rates go together by 1/3; with it a fifth of the tasks would truly be worse under a gain of 25 points.
CORRELATION = 5 / 6
# What it makes of rates that are equally likely: 2 (1 - CORRELATION) / 12, a standard deviation of 17 points.
ASSUMED_BETWEEN = 1 / 36
GROWTH = 1.25
MOST_TRIES = 6
SEARCH_DRAWS = 200
DRAWS = 400
FEWEST_DRAWS = 20
MOST_RUNS = 1_000_000
CONFIDENCE = 0.95
MAX_TASKS = 1_000_000
_SLACK = 1e-9
# Beyond it a beta distribution puts nearly everything on 0 and 1, where its quantiles are no numbers any more.
_LARGEST_SHARE_BETWEEN = 0.95


@dataclass(frozen=True)
class Spread:
    """What is taken for granted of the resolve rate.

    Args:
        rate: The incumbent's mean resolve rate.
        between: omega^2, the variance of the tasks' true differences between the arms.
        share: What share of a Bernoulli variance a run has within its task.
        rate_from: Where the rate comes from.
        variance_from: Where both variances come from.
        tasks: Tasks that were measured; 0 where nothing was.
        runs: Runs that were measured, over all tasks.

    """

    rate: float = ASSUMED_RATE
    between: float = ASSUMED_BETWEEN
    share: float = ASSUMED_SHARE
    rate_from: Origin = "assumed"
    variance_from: Origin = "assumed"
    tasks: int = 0
    runs: int = 0

    @property
    def room(self) -> float:
        """How much better than the incumbent anything can be."""
        return 1 - self.rate

    def within(self, effect: float) -> float:
        """Return sigma^2, the variance of a run within a task, averaged over both arms."""
        after = min(1.0, self.rate + effect)
        return self.share * (self.rate * (1 - self.rate) + after * (1 - after)) / 2


def spread_of_runs(resolved: Mapping[str, Sequence[bool]]) -> Spread:
    """Return the spread that the incumbent's runs show, by the method of moments (Searle et al. 1992).

    The differences are taken to vary by 2 (1 - CORRELATION) times what the incumbent's rates do between tasks. Rates
    of all 0 or all 1, one task, and one run a task say nothing of the variances, which are assumed then.

    Args:
        resolved: Whether each run of each task resolved.

    Raises:
        ValueError: There is no task, or a task without a run.

    """
    outcomes = [[float(run) for run in runs] for runs in resolved.values()]
    found = variance_components(outcomes)
    rate = math.fsum(math.fsum(runs) / len(runs) for runs in outcomes) / len(outcomes)
    spread = Spread(rate, rate_from="measured", tasks=found.tasks, runs=found.runs)
    bernoulli = rate * (1 - rate)
    if found.tasks < 2 or found.runs == found.tasks or bernoulli < _SLACK:
        return spread
    between = 2 * (1 - CORRELATION) * min(found.between, bernoulli)
    return replace(spread, between=between, share=min(1.0, found.within / bernoulli), variance_from="measured")


def approximate_power(spread: Spread, effect: float, tasks: int, runs: int, alpha: float) -> float:
    """Return how often an effect would be proven, by a normal approximation of the sign-flip test.

    Phi(s sqrt(n) - z(1 - alpha) sqrt(1 + s^2)) for n tasks and K runs an arm, with s = delta / sqrt(omega^2 +
    2 sigma^2 / K), whose variance is that of Miller (2024, arXiv 2411.00640). Miller's z test lacks sqrt(1 + s^2): it
    comes of the signs that the sign-flip test changes, as then the differences vary by delta^2 more. 0 where a win on
    every task would not reach the level; where z > sqrt(n), s counts no further than it helps, which is too low. It
    knows nothing of harm to single tasks.

    Args:
        spread: What is taken for granted.
        effect: delta, the mean difference of the resolve rate.
        tasks: The number of tasks.
        runs: The runs of a task in each arm.
        alpha: The level, one-sided.

    Raises:
        ValueError: There is no task or run, ``alpha`` is outside 0..1, or the incumbent leaves no room for the effect.

    """
    _require(spread, effect, tasks, runs, alpha)
    if smallest_p(tasks) > alpha:
        return 0.0
    # The standard library's: a sweep that is about to begin need not wait for scipy.
    normal = NormalDist()
    variance = spread.between + 2 * spread.within(effect) / runs
    if variance <= 0:
        return 1.0
    critical, scaled = -normal.inv_cdf(alpha), effect / math.sqrt(variance)
    if critical > math.sqrt(tasks):
        scaled = min(scaled, math.sqrt(tasks / (critical**2 - tasks)))
    return normal.cdf(scaled * math.sqrt(tasks) - critical * math.hypot(1, scaled))


def detectable_effect(spread: Spread, tasks: int, runs: int, alpha: float, power: float) -> float | None:
    """Return the smallest effect that has the power, approximately; none where even all that there is room for has not.

    Args:
        spread: What is taken for granted.
        tasks: The number of tasks.
        runs: The runs of a task in each arm.
        alpha: The level, one-sided.
        power: How often the effect is to be proven.

    Raises:
        ValueError: As ``approximate_power`` does.

    """
    if spread.room < _SLACK or approximate_power(spread, spread.room, tasks, runs, alpha) < power:
        return None
    low, high = 0.0, spread.room
    while high - low > _SLACK:
        middle = (low + high) / 2
        enough = middle > 0 and approximate_power(spread, middle, tasks, runs, alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


@dataclass(frozen=True)
class Design:
    """A sweep of a pair of arms and its approximate power."""

    tasks: int
    runs: int
    power: float

    @property
    def cells(self) -> int:
        """The cells of both arms."""
        return 2 * self.tasks * self.runs


def smallest_designs(
    spread: Spread, effect: float, runs: Sequence[int], alpha: float, power: float
) -> tuple[Design, ...]:
    """Return, for each number of runs, the fewest tasks that have the power; fewest cells first, then fewest tasks.

    Args:
        spread: What is taken for granted.
        effect: The mean difference of the resolve rate.
        runs: The numbers of runs to try.
        alpha: The level, one-sided.
        power: How often the effect is to be proven.

    Raises:
        ValueError: As ``approximate_power`` does.

    """
    found = [_smallest(spread, effect, count, alpha, power) for count in dict.fromkeys(runs)]
    designs = (design for design in found if design is not None)
    return tuple(sorted(designs, key=lambda design: (design.cells, design.tasks)))


def _smallest(spread: Spread, effect: float, runs: int, alpha: float, power: float) -> Design | None:
    low, high = 0, 1
    while approximate_power(spread, effect, high, runs, alpha) < power:
        low, high = high, 2 * high
        if high > MAX_TASKS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = approximate_power(spread, effect, middle, runs, alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return Design(high, runs, approximate_power(spread, effect, high, runs, alpha))


@dataclass(frozen=True)
class SeenDesign:
    """A sweep, and the power that it was seen to have when it was simulated; ``enough`` when that is what was asked."""

    design: Design
    simulated: SimulatedPower
    enough: bool


def sufficient_designs(
    spread: Spread, effect: float, runs: Sequence[int], policy: Policy, alpha: float, power: float, *, most_cells: int
) -> tuple[SeenDesign, ...]:
    """Return, for each number of runs, a sweep that is seen to have the power: from the approximation upwards.

    Where more tasks do not give it (more tasks are also more that may get worse), the best that was seen is returned.

    Args:
        spread: What is taken for granted.
        effect: The mean difference of the resolve rate.
        runs: The numbers of runs to try.
        policy: The policy in force, which decides on the resolve rate.
        alpha: The level of the look, one-sided.
        power: How often the effect is to be proven.
        most_cells: No larger sweep is tried.

    Raises:
        ValueError: As ``simulated_power`` does.

    """
    found = []
    for first in smallest_designs(spread, effect, runs, alpha, power):
        tried = [*_seen(spread, effect, first, policy, alpha, power, most_cells)]
        if tried:
            found.append(max(tried, key=lambda one: (one.enough, one.simulated.power)))
    return tuple(sorted(found, key=lambda one: (not one.enough, one.design.cells, one.design.tasks)))


def _seen(
    spread: Spread, effect: float, first: Design, policy: Policy, alpha: float, power: float, most_cells: int
) -> Iterator[SeenDesign]:
    tasks = first.tasks
    for _ in range(MOST_TRIES):
        design = Design(tasks, first.runs, approximate_power(spread, effect, tasks, first.runs, alpha))
        if design.cells > most_cells:
            return
        seen = simulated_power(spread, effect, tasks, first.runs, policy, alpha, draws=SEARCH_DRAWS)
        yield SeenDesign(design, seen, seen.power >= power)
        if seen.power >= power:
            return
        tasks = math.ceil(tasks * GROWTH)


def least_tasks(alpha: float) -> int:
    """Return the fewest tasks of which a win on each reaches a level: 2^-n is the smallest p-value of n tasks.

    Raises:
        ValueError: ``alpha`` is outside 0..1.

    """
    if not 0 < alpha < 1:
        raise ValueError("alpha must lie between 0 and 1")
    tasks = max(1, math.floor(-math.log2(alpha)))
    return tasks if smallest_p(tasks) <= alpha else tasks + 1


@dataclass(frozen=True)
class SimulatedPower:
    """How often the gate itself promoted a candidate of a known effect, with Wilson's interval.

    ``gained`` is in how many draws the gain alone was large enough and proven, whether harm was done or not.
    """

    power: float
    low: float
    high: float
    confidence: float
    promoted: int
    gained: int
    draws: int
    effect: float
    tasks: int
    runs: int
    alpha: float
    seed: int


def simulated_power(
    spread: Spread,
    effect: float,
    tasks: int,
    runs: int,
    policy: Policy,
    alpha: float,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> SimulatedPower:
    """Return how often the gate promotes, over sweeps drawn at random: no harm, size, test, extra runs and all.

    The tasks' rates of either arm are beta distributed around its mean and go together by a Gaussian copula with
    CORRELATION; a run resolves at its task's rate.

    Args:
        spread: What is taken for granted.
        effect: The mean difference of the resolve rate.
        tasks: The number of tasks.
        runs: The runs of a task in each arm.
        policy: The policy in force, which decides on the resolve rate.
        alpha: The level of the look, one-sided.
        draws: The number of sweeps; fewer are drawn of very large ones.
        seed: Seeds the draws.

    Raises:
        ValueError: As ``approximate_power`` does, or the policy decides on a cost, or there is no draw.

    """
    _require(spread, effect, tasks, runs, alpha)
    if not policy.of_quality or draws < 1:
        raise ValueError("needs a policy that decides on a quality, and a draw")
    import numpy

    draws = min(draws, max(FEWEST_DRAWS, MOST_RUNS // (tasks * (runs + policy.extra_runs))))
    random = numpy.random.default_rng(seed)
    before, after = _rates(random, spread, effect, (draws, tasks))
    shape = (tasks, runs + policy.extra_runs)
    judged = [
        _judged((random.random(shape) < one).tolist(), (random.random(shape) < other).tolist(), runs, policy, alpha)
        for one, other in zip(before[..., None], after[..., None], strict=True)
    ]
    promoted = sum(found.outcome is Outcome.PROMOTE for found in judged)
    gained = sum(not found.gain.refused for found in judged)
    share = wilson_interval(promoted, draws, CONFIDENCE)
    return SimulatedPower(
        promoted / draws, share.low, share.high, CONFIDENCE, promoted, gained, draws, effect, tasks, runs, alpha, seed
    )


def _rates(random: Any, spread: Spread, effect: float, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Draw the tasks' rates of both arms."""
    from scipy.special import ndtr

    shared, own = random.standard_normal(shape), random.standard_normal(shape)
    mixed = CORRELATION * shared + math.sqrt(1 - CORRELATION**2) * own
    variance = spread.between / (2 * (1 - CORRELATION))
    return _beta(ndtr(shared), spread.rate, variance), _beta(ndtr(mixed), min(1.0, spread.rate + effect), variance)


def _beta(quantiles: Any, mean: float, variance: float) -> Any:
    """Return quantiles of the beta distribution of a mean and, where it can have so much, a variance."""
    import numpy
    from scipy.special import betaincinv

    bernoulli = mean * (1 - mean)
    if bernoulli < _SLACK or variance < _SLACK:
        return numpy.full_like(quantiles, mean)
    total = bernoulli / min(variance, _LARGEST_SHARE_BETWEEN * bernoulli) - 1
    return betaincinv(mean * total, (1 - mean) * total, quantiles)


def _judged(
    old: Sequence[Sequence[bool]], new: Sequence[Sequence[bool]], runs: int, policy: Policy, alpha: float
) -> Judgement:
    arms = [[[RESOLVED if run else FAILED for run in task] for task in arm] for arm in (old, new)]
    tables = [
        TaskRuns(
            f"task-{number}",
            tuple(before[:runs]),
            tuple(after[:runs]),
            tuple(zip(before[runs:], after[runs:], strict=True)),
        )
        for number, (before, after) in enumerate(zip(*arms, strict=True))
    ]
    if policy.sequential != "off":
        given = GateInput((), tuple(table.task for table in tables), runs, policy, alpha)
        return rounds_judgement(tables, given).judgement
    return judge(tables, policy, alpha)


def _require(spread: Spread, effect: float, tasks: int, runs: int, alpha: float) -> None:
    if tasks < 1 or runs < 1:
        raise ValueError("needs at least one task and one run")
    if not 0 < alpha < 1:
        raise ValueError("alpha must lie between 0 and 1")
    if not 0 <= effect <= spread.room + _SLACK:
        raise ValueError("the incumbent leaves no room for this effect")
