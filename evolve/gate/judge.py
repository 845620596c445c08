"""The judgement on a table of complete tasks: no harm, then gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evolve.gate.gain import Gain, gain_in, gain_of, proof_reason
from evolve.gate.harm import Harm, harm_of, lower_quality
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
    if (broken := _broken_tie(tasks, policy, alpha, tie_break)) is not None:
        gain = broken
    reasons = [*harm.reasons, *lower_quality(tasks, policy, alpha), *gain.reasons]
    refused = any(reason.blocking for reason in reasons)
    if not refused and harm.perhaps:
        return Judgement(Outcome.INSUFFICIENT_EVIDENCE, (_wanted(harm, policy), *reasons), gain, harm)
    outcome = Outcome.KEEP_INCUMBENT if refused else Outcome.PROMOTE
    return Judgement(outcome, tuple(reasons), gain, harm)


def _with_proof(gain: Gain, proof: TestResult) -> Gain:
    kept = tuple(reason for reason in gain.reasons if reason.code not in ("significant", "not-significant"))
    return Gain(gain.estimate, proof, (*kept, proof_reason(proof)))


def _wanted(harm: Harm, policy: Policy) -> Reason:
    """Return that the regression of some tasks may be noise, and how many runs they should have more."""
    tasks = tuple(verdict.task for verdict in harm.perhaps)
    text = (
        f"{len(tasks)} tasks lose more than is allowed, and their noise may explain it: "
        f"up to {policy.extra_runs} more runs of both arms are to show it"
    )
    return Reason(code=NEEDS_EXTRA_RUNS, text=text, blocking=True, tasks=tasks)


def _broken_tie(tasks: Sequence[TaskRuns], policy: Policy, alpha: float, tie_break: Tables) -> Gain | None:
    """Return the gain in the tie-breaking cost, where the quality of every task is exactly equal.

    Exchanging the arms of any task leaves such a tie a tie, so that whichever of the two tests is taken, the level of
    the look holds for both together.
    """
    if policy.tie_break is None or any(_unequal(task, policy) for task in tasks):
        return None
    found = tie_break()
    compared = [task for task in found or () if task.comparable_cost]
    if not compared:
        return None
    gain = gain_in(compared, policy.tie_break, "geometric_mean_ratio", policy, alpha)
    tie = Reason(
        code="quality-tied",
        text=f"the quality of all {len(tasks)} tasks is equal: {policy.tie_break.value} decides",
        blocking=False,
    )
    return Gain(gain.estimate, gain.test, (tie, *gain.reasons))


def _unequal(task: TaskRuns, policy: Policy) -> bool:
    return not figures_of(task, policy.metric).equal


def may_tie(tasks: Sequence[TaskRuns], policy: Policy, runs: int) -> bool:
    """Whether a cost may yet decide: no task that was measured in every run is unequal."""
    return policy.tie_break is not None and not any(task.planned >= runs and _unequal(task, policy) for task in tasks)
