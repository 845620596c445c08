"""Deciding after whole rounds of runs: for gain, where the policy is sequential, or because the rest is futile."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from evolve.gate.gain import fraction_of_pct
from evolve.gate.inputs import GateInput
from evolve.gate.judge import Judgement, judge, may_tie
from evolve.gate.table import TaskRuns, figures_of
from evolve.records.decision import Numbers, Reason, TestResult
from evolve.records.policy import Metric
from evolve.stats.rounds import RoundTest, conditional_power_of_rest, rounds_sign_flip


def whole_rounds(tasks: Sequence[TaskRuns]) -> int:
    """Return how many runs every task has in both arms."""
    return min((task.planned for task in tasks), default=0)


@dataclass(frozen=True)
class RoundsJudgement:
    """What the rounds so far give; ``final`` says that no further round is wanted."""

    judgement: Judgement
    rounds: int
    final: bool
    futile: Reason | None = None


def rounds_judgement(tasks: Sequence[TaskRuns], given: GateInput) -> RoundsJudgement:
    """Judge round by round, and return the first judgement that is final, or the last.

    Once a round's test has crossed its boundary the gain is proven, and what is left to ask is asked of single tasks:
    whether their regression is noise. Futility is final, and so is the last round; a gain that is proven and too small
    goes on.
    """
    last = min(whole_rounds(tasks), given.runs)
    tests = rounds_sign_flip(_cumulative(tasks, last), given.runs, given.alpha)
    for rounds in range(1, last + 1):
        table = [task.rounds(rounds) for task in tasks]
        test = tests[min(rounds, len(tests)) - 1]
        found = judge(table, given.policy, given.alpha, proof=_proof(table, test, given.runs))
        futile = None if test.crossed else _futile(table, given)
        settled = test.crossed and not found.gain.refused
        final = settled or futile is not None or rounds == given.runs
        if final or rounds == last:
            return RoundsJudgement(found, rounds, final, futile)
    raise ValueError("needs at least one whole round")


def _cumulative(tasks: Sequence[TaskRuns], rounds: int) -> list[list[float]]:
    firsts = ([task.first(number) for task in tasks] for number in range(1, rounds + 1))
    return [[float(task.resolved("candidate") - task.resolved("incumbent")) for task in first] for first in firsts]


def _proof(table: Sequence[TaskRuns], test: RoundTest, planned: int) -> TestResult:
    figures = [figures_of(task, Metric.RESOLVE_RATE) for task in table]
    wins = sum(figure.candidate > figure.incumbent for figure in figures)
    losses = sum(figure.candidate < figure.incumbent for figure in figures)
    exact = "exact" if test.exact else "resampled"
    return TestResult(
        name=f"{exact} group-sequential sign-flip test over tasks, round {test.round} of {planned}",
        alternative="greater",
        p_value=test.p_value,
        alpha=test.level,
        wins=wins,
        losses=losses,
        ties=len(figures) - wins - losses,
    )


def futile_after(tasks: Sequence[TaskRuns], given: GateInput) -> Reason | None:
    """Return whether what is left is not worth measuring, after the rounds that are whole."""
    rounds = whole_rounds(tasks)
    if rounds >= given.runs or may_tie(tasks, given.policy, given.runs):
        return None
    return _futile([task.first(rounds) for task in tasks], given)


def _futile(tasks: Sequence[TaskRuns], given: GateInput) -> Reason | None:
    """Return whether the conditional power is below the policy's, if the rest is as the trend or as is asked for."""
    policy, rounds = given.policy, whole_rounds(tasks)
    if policy.metric is not Metric.RESOLVE_RATE or not policy.proven or rounds >= given.runs or not policy.futility:
        return None
    pairs = [
        after.resolved - before.resolved
        for task in tasks
        for before, after in zip(task.incumbent, task.candidate, strict=True)
    ]
    asked = float(fraction_of_pct(policy.min_improvement_pct))
    trend = statistics.fmean(pairs)
    effect = max(trend, asked)
    # A Bernoulli difference of this mean varies at least so much, whatever few pairs showed.
    variance = max(statistics.pvariance(pairs), asked * (1 - asked))
    sums = [float(task.resolved("candidate") - task.resolved("incumbent")) for task in tasks]
    power = conditional_power_of_rest(sums, variance, given.runs - rounds, effect, given.alpha)
    if power >= policy.futility:
        return None
    numbers: Numbers = {"conditional_power": power, "futility": policy.futility, "rounds": rounds}
    text = (
        f"after {rounds} of {given.runs} rounds the gain is {100 * trend:+.1f} points; if the rest gains "
        f"{100 * effect:.1f}, it will be proven with probability {power:.2g}, below {policy.futility:g}"
    )
    return Reason(code="futile", text=text, blocking=True, numbers=numbers)
