"""The judgement on a table of complete tasks: no harm, then gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evolve.gate.gain import Gain, gain_of, proof_reason
from evolve.gate.harm import Harm, explained, harm_of, lower_quality
from evolve.gate.metrics import counted
from evolve.gate.table import TaskRuns, figures_of
from evolve.records.decision import Reason, TestResult
from evolve.records.kinds import Outcome
from evolve.records.policy import Policy

NEEDS_EXTRA_RUNS = "needs-extra-runs"
Tables = Callable[[], Sequence[TaskRuns] | None]


@dataclass(frozen=True)
class Judgement:
    """What a table gives: the outcome, its reasons, the gain, and what became of each task's regression."""

    outcome: Outcome
    reasons: tuple[Reason, ...]
    gain: Gain
    harm: Harm


def judge(
    tasks: Sequence[TaskRuns],
    policy: Policy,
    alpha: float,
    *,
    tie_break: Tables = lambda: None,
    proof: TestResult | None = None,
) -> Judgement:
    """Judge a candidate by complete tasks.

    Args:
        tasks: At least one task, all with the same planned runs.
        policy: The thresholds.
        alpha: The level of this look, one-sided.
        tie_break: Returns the same runs in the metric of ``policy.tie_break``.
        proof: The test that stands in for the paired test, as of a group-sequential design.

    """
    compared = tasks if policy.of_quality else [task for task in tasks if task.comparable_cost]
    harm = harm_of(tasks, policy)
    gain = gain_of(compared, policy, alpha)
    if proof is not None:
        gain = _with_proof(gain, proof)
    if gain.refused and (broken := _broken_tie(tasks, policy, alpha, tie_break)) is not None:
        gain, harm = broken[0], harm.joined(broken[1])
    reasons = [*harm.reasons, *explained(harm, policy), *lower_quality(tasks, policy, alpha), *gain.reasons]
    refused = any(reason.blocking for reason in reasons)
    if not refused and harm.perhaps:
        return Judgement(Outcome.INSUFFICIENT_EVIDENCE, (_wanted(harm, policy), *reasons), gain, harm)
    outcome = Outcome.KEEP_INCUMBENT if refused else Outcome.PROMOTE
    return Judgement(outcome, tuple(reasons), gain, harm)


def _with_proof(gain: Gain, proof: TestResult) -> Gain:
    kept = tuple(reason for reason in gain.reasons if reason.code not in ("significant", "not-significant"))
    return Gain(gain.estimate, proof, (*kept, proof_reason(proof, "round")))


def _wanted(harm: Harm, policy: Policy) -> Reason:
    """Return that the regression of some tasks may be noise, and how many runs they should have more."""
    tasks = tuple(verdict.task for verdict in harm.perhaps)
    text = (
        f"{counted(len(tasks), 'task loses', 'tasks lose')} more than is allowed, and noise may explain it: "
        f"up to {policy.extra_runs} more runs of both arms are to show it"
    )
    return Reason(code=NEEDS_EXTRA_RUNS, text=text, blocking=True, tasks=tasks)


def _broken_tie(tasks: Sequence[TaskRuns], policy: Policy, alpha: float, tie_break: Tables) -> tuple[Gain, Harm] | None:
    """Return gain and harm in the tie-breaking cost, where no task is worse in quality and none is proven better.

    The level of the look holds for both tests together. Say that k tasks differ, and exchange the arms of tasks at
    random: all k are better with probability 2^-k. If that is at most the level, the quality test rejects there anyway;
    if it is more, the quality test can reject nowhere, and what is left is the cost's own test.
    """
    if policy.tie_break is None or any(_is_worse(task, policy) for task in tasks):
        return None
    found = tie_break()
    compared = [task for task in found or () if task.comparable_cost]
    if not compared:
        return None
    cost = policy.model_copy(update={"metric": policy.tie_break, "estimand": None, "tie_break": None})
    gain = gain_of(compared, cost, alpha)
    tie = Reason(
        code="quality-tied",
        text=f"no task of {len(tasks)} is worse in quality, and no gain in it is proven: {cost.metric.value} decides",
        blocking=False,
    )
    return Gain(gain.estimate, gain.test, (tie, *gain.reasons)), harm_of(found or (), cost)


def _is_worse(task: TaskRuns, policy: Policy) -> bool:
    figures = figures_of(task, policy.metric)
    return not figures.equal and figures.candidate < figures.incumbent


def may_tie(tasks: Sequence[TaskRuns], policy: Policy, runs: int) -> bool:
    """Whether a cost may yet decide: no task that was measured in every run is worse."""
    return policy.tie_break is not None and not any(task.planned >= runs and _is_worse(task, policy) for task in tasks)
