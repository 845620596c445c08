"""Deciding before everything is measured: because no outcome of the rest matters, or because it is not worth it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evolve.gate.evidence import control_faults
from evolve.gate.gain import gain_of
from evolve.gate.harm import harm_of, is_beyond, lower_quality
from evolve.gate.inputs import GateInput
from evolve.gate.judge import may_tie
from evolve.gate.rounds import futile_after, rounds_judgement, whole_rounds
from evolve.gate.table import FAILED, RESOLVED, Run, Side, TaskRuns, tables_of
from evolve.records.decision import Decision, Numbers, Reason
from evolve.records.kinds import Outcome
from evolve.records.policy import QUALITIES


def is_decided(given: GateInput) -> bool:
    """Whether measuring may stop: no outcome of the rest can change the decision, or the rest is not worth it.

    A void cell leaves it open. Of several pairs, one that cannot pass decides for all.
    """
    pairs = (given.main_pair(), *(given.pair(pair) for pair in given.required))
    if any(row.void for one in pairs for row in one.rows):
        return False
    tables = [(one, tables_of(one, one.policy.metric)) for one in pairs]
    if any(cannot_pass(one, tasks) for one, tasks in tables):
        return True
    return all(_pair_is_decided(one, tasks) for one, tasks in tables)


def _pair_is_decided(given: GateInput, tasks: tuple[TaskRuns, ...]) -> bool:
    if cannot_fail(given, tasks):
        return True
    if not given.tasks or not whole_rounds(tasks):
        return False
    if given.policy.sequential != "off":
        found = rounds_judgement(tasks, given)
        return found.final and not _lacks_control(given, found.rounds)
    return futile_after(tasks, given) is not None


def _lacks_control(given: GateInput, rounds: int) -> bool:
    """Whether the policy asks for a control that was not yet measured in every task, without which nothing is won."""
    faults = control_faults(given, rounds) if given.policy.control else []
    return any(fault.code in ("no-control", "control-incomplete") for fault in faults)


def cannot_pass(given: GateInput, tasks: tuple[TaskRuns, ...]) -> tuple[Reason, ...]:
    """Return why even the best outcome of every cell not measured would not be promoted; nothing when it might be.

    Each missing run is taken for one that the candidate resolves and the incumbent does not. Harm, gain and the
    exact tests can only get better with that (the sign-flip p-value is the probability that the differences of a random
    subset of the tasks sum to nothing or less, which no larger difference raises), so that no outcome could do more,
    but for a tie that a cost may break. A cost has no best outcome.
    """
    if given.policy.metric not in QUALITIES or not tasks:
        return ()
    best = _extreme_case(given, tasks, "candidate")
    harm = harm_of(best, given.policy).reasons
    if harm:
        return harm
    if may_tie(tasks, given.policy, given.runs):
        return ()
    return tuple(r for r in gain_of(best, given.policy, given.alpha).reasons if _holds(r, given))


def _holds(reason: Reason, given: GateInput) -> bool:
    """Whether a reason blocks for good; where rounds decide, the level of a whole sweep's test is none."""
    return reason.blocking and not (given.policy.sequential != "off" and reason.code == "not-significant")


def cannot_fail(given: GateInput, tasks: tuple[TaskRuns, ...]) -> bool:
    """Whether even the worst outcome of every cell not measured would be promoted.

    Each missing run is taken for one that the incumbent resolves and the candidate does not.
    """
    if given.policy.metric not in QUALITIES or not tasks or given.policy.sequential != "off":
        return False
    if _lacks_control(given, given.runs):
        return False
    worst = _extreme_case(given, tasks, "incumbent")
    if any(is_beyond(task, given.policy) for task in worst) or harm_of(worst, given.policy).reasons:
        return False
    if any(reason.blocking for reason in lower_quality(worst, given.policy, given.alpha)):
        return False
    return not gain_of(worst, given.policy, given.alpha).refused


def _extreme_case(given: GateInput, tasks: tuple[TaskRuns, ...], winner: Side) -> tuple[TaskRuns, ...]:
    """Return the tasks with every missing run taken for one that only the winner resolves."""

    def filled(runs: tuple[Run, ...], side: Side) -> tuple[Run, ...]:
        return (*runs, *([RESOLVED if side == winner else FAILED] * (given.runs - len(runs))))

    return tuple(
        replace(task, incumbent=filled(task.incumbent, "incumbent"), candidate=filled(task.candidate, "candidate"))
        for task in tasks
    )


@dataclass(frozen=True)
class EarlyEnd:
    """What a sweep that was cut short gives: the decision, and the tasks with the figures that it quotes."""

    decision: Decision
    tasks: tuple[TaskRuns, ...] = ()


def decide_early(given: GateInput) -> EarlyEnd:
    """Decide on a sweep that was cut short; its rows must show that the rest did not matter."""
    tasks = tables_of(given, given.policy.metric)
    measured = sum(not row.void for row in given.rows)
    planned = 2 * given.runs * len(given.tasks)
    numbers: Numbers = {"measured": measured, "planned": planned}
    count = f"decided after {measured} of {planned} cells"

    def stopped(text: str, *, blocking: bool) -> Reason:
        return Reason(code="stopped-early", text=f"{count}: {text}", blocking=blocking, numbers=numbers)

    if blocking := cannot_pass(given, tasks):
        best = (r.model_copy(update={"code": f"best-case-{r.code}", "text": f"at best: {r.text}"}) for r in blocking)
        why = stopped("the best outcome of all others would not be promoted", blocking=True)
        return EarlyEnd(Decision(outcome=Outcome.KEEP_INCUMBENT, reasons=(why, *best)))
    if cannot_fail(given, tasks):
        return _promoted_at_worst(
            given,
            tasks,
            stopped("the figures take every other for the worst, and are promoted even so", blocking=False),
        )
    if whole_rounds(tasks) and (futile := futile_after(tasks, given)) is not None:
        rounds = whole_rounds(tasks)
        table = tuple(task.first(rounds) for task in tasks)
        gain = gain_of(table, given.policy, given.alpha)
        why = stopped("the rest is not worth its cost", blocking=True)
        decision = Decision(
            outcome=Outcome.KEEP_INCUMBENT, reasons=(why, futile), estimates=(gain.estimate,), test=gain.test
        )
        return EarlyEnd(decision, table)
    text = "measuring was stopped although the rest could have changed the decision"
    fault = Reason(code="stopped-too-early", text=text, blocking=True)
    return EarlyEnd(Decision(outcome=Outcome.INSUFFICIENT_EVIDENCE, reasons=(fault,)))


def _promoted_at_worst(given: GateInput, tasks: tuple[TaskRuns, ...], stopped: Reason) -> EarlyEnd:
    worst = _extreme_case(given, tasks, "incumbent")
    gain = gain_of(worst, given.policy, given.alpha)
    label = f"{gain.estimate.estimand}; every run that was not measured is taken for the worst"
    decision = Decision(
        outcome=Outcome.PROMOTE,
        reasons=(stopped, *lower_quality(worst, given.policy, given.alpha), *gain.reasons),
        estimates=(gain.estimate.model_copy(update={"estimand": label}),),
        test=gain.test,
    )
    return EarlyEnd(decision, worst)
