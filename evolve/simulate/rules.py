"""Rules by which a finalist is taken for better: ours, and those of other systems."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evolve.gate.early import cannot_fail, cannot_pass
from evolve.gate.inputs import GateInput
from evolve.gate.judge import Judgement, judge
from evolve.gate.rounds import futile_after, rounds_judgement
from evolve.gate.table import TaskRuns
from evolve.records.kinds import Outcome
from evolve.records.policy import Policy, Preset

MoreRuns = Callable[[Mapping[str, int]], Sequence[TaskRuns]]


@dataclass(frozen=True)
class Verdict:
    """What a rule says of a finalist, after how many sealed cells, and the gain that it reports."""

    promoted: bool
    cells: int
    estimate: float | None = None


@dataclass(frozen=True)
class Sealed:
    """A finalist's sealed measurement: whole tables, a plan order for early stops, and more runs on demand."""

    tasks: Sequence[TaskRuns]
    order: Sequence[tuple[int, int]]
    more: MoreRuns
    alpha: float

    @property
    def runs(self) -> int:
        """Planned runs a task and arm."""
        return self.tasks[0].planned

    @property
    def cells(self) -> int:
        """Planned cells of both arms."""
        return 2 * len(self.tasks) * self.runs


@dataclass(frozen=True)
class Rule:
    """A rule: its name, what it does in one sentence, whether it looks at sealed tasks, and how it decides."""

    name: str
    summary: str
    decide: Callable[[Sealed], Verdict]
    sealed: bool = True


def _given(policy: Policy, sealed: Sealed) -> GateInput:
    names = tuple(task.task for task in sealed.tasks)
    return GateInput(rows=(), tasks=names, runs=sealed.runs, policy=policy, alpha=sealed.alpha)


def _settled(sealed: Sealed, judged: Callable[[Sequence[TaskRuns]], Judgement], cells: int) -> Verdict:
    """Judge, and measure again what the gate asks to be measured again, until it asks no more."""
    tasks, extra = sealed.tasks, 0
    while True:
        found = judged(tasks)
        wanted = found.harm.wanted_runs if found.outcome is Outcome.INSUFFICIENT_EVIDENCE else {}
        if not wanted:
            return Verdict(found.outcome is Outcome.PROMOTE, cells + 2 * extra, found.gain.estimate.value)
        before = {task.task: len(task.extra) for task in tasks}
        extra += sum(runs - before[task] for task, runs in wanted.items())
        tasks = sealed.more(wanted)


def by_gate(policy: Policy) -> Callable[[Sealed], Verdict]:
    """Return the promotion gate under a policy, everything measured."""

    def decide(sealed: Sealed) -> Verdict:
        return _settled(sealed, lambda tasks: judge(tasks, policy, sealed.alpha), sealed.cells)

    return decide


def stopping(policy: Policy) -> Callable[[Sealed], Verdict]:
    """Return the gate with ``--stop-when-decided``: the first prefix of the plan that decides ends the sweep."""

    def decide(sealed: Sealed) -> Verdict:
        given = _given(policy, sealed)
        for runs in range(1, sealed.runs):
            within = len(sealed.tasks) * runs
            stop = _first_decided(sealed, given, len(sealed.tasks) * (runs - 1), within)
            if stop is not None:
                return stop
            if futile_after([task.first(runs) for task in sealed.tasks], given) is not None:
                return Verdict(False, 2 * within)
        stop = _first_decided(sealed, given, len(sealed.tasks) * (sealed.runs - 1), len(sealed.order) - 1)
        return stop if stop is not None else by_gate(policy)(sealed)

    return decide


def _first_decided(sealed: Sealed, given: GateInput, low: int, high: int) -> Verdict | None:
    """Return the verdict at the first prefix from ``low`` to ``high`` blocks at which the rest cannot matter.

    Both extremes only ever come true and stay so, which makes the first one a matter of bisection.
    """

    def decided(blocks: int) -> bool | None:
        tasks = _prefix(sealed, blocks)
        if cannot_pass(given, tasks):
            return False
        return True if cannot_fail(given, tasks) else None

    if decided(high) is None:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) is not None else (middle + 1, high)
    return Verdict(decided(low) is True, 2 * low)


def _prefix(sealed: Sealed, blocks: int) -> tuple[TaskRuns, ...]:
    runs = [0] * len(sealed.tasks)
    for task, _ in sealed.order[:blocks]:
        runs[task] += 1
    return tuple(task.first(count) for task, count in zip(sealed.tasks, runs, strict=True))


def by_rounds(policy: Policy) -> Callable[[Sealed], Verdict]:
    """Return the gate that decides after each round of runs."""

    def decide(sealed: Sealed) -> Verdict:
        given = _given(policy, sealed)
        first = rounds_judgement(sealed.tasks, given)
        cells = 2 * len(sealed.tasks) * first.rounds
        if first.futile is not None:
            return Verdict(False, cells, first.judgement.gain.estimate.value)
        return _settled(sealed, lambda tasks: rounds_judgement(tasks, given).judgement, cells)

    return decide


def _differences(sealed: Sealed) -> list[float]:
    return [(task.resolved("candidate") - task.resolved("incumbent")) / task.planned for task in sealed.tasks]


def strict_mean(sealed: Sealed) -> Verdict:
    """Take any higher mean."""
    mean = statistics.fmean(_differences(sealed))
    return Verdict(mean > 0, sealed.cells, 100 * mean)


def mean_above_standard_error(sealed: Sealed) -> Verdict:
    """Take a mean above one standard error over tasks."""
    values = _differences(sealed)
    mean = statistics.fmean(values)
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return Verdict(mean > error, sealed.cells, 100 * mean)


def take_it(sealed: Sealed) -> Verdict:
    """Take whatever won the search."""
    return Verdict(True, 0)


PROVEN: Final = Policy(schema_id="evolve/policy@1")
SEQUENTIAL: Final = PROVEN.model_copy(update={"sequential": "rounds"})
THRESHOLDS: Final = PROVEN.model_copy(update={"preset": Preset.THRESHOLDS})
RULES: Final[Mapping[str, Rule]] = {
    rule.name: rule
    for rule in (
        Rule("proven", "the preset proven, everything measured", by_gate(PROVEN)),
        Rule("proven-stop", "proven with --stop-when-decided", stopping(PROVEN)),
        Rule("sequential", "proven, deciding after each round", by_rounds(SEQUENTIAL)),
        Rule("thresholds", "the preset thresholds", by_gate(THRESHOLDS)),
        Rule("strict-mean", "a higher sealed mean", strict_mean),
        Rule("mean-1se", "a sealed mean above one standard error", mean_above_standard_error),
        Rule("argmax", "the best on the selection tasks, if above the incumbent", take_it, sealed=False),
    )
}
