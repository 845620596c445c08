"""The decision: evidence first, then no harm, then gain."""

from __future__ import annotations

from collections.abc import Sequence

from evolve.gate.beside import beside, caveats
from evolve.gate.early import decide_early, is_decided
from evolve.gate.evidence import control_faults, evidence_faults, too_few_tasks
from evolve.gate.gain import gain_of
from evolve.gate.harm import Harm, next_extra
from evolve.gate.inputs import GateInput, Pair
from evolve.gate.judge import NEEDS_EXTRA_RUNS, Judgement, judge
from evolve.gate.rounds import rounds_judgement
from evolve.gate.table import RowsByTask, TaskRuns, figures_of
from evolve.records.decision import ArmDecision, Decision, Level, Reason, TaskResult
from evolve.records.kinds import Outcome
from evolve.records.policy import Metric, Policy

__all__ = ["GateInput", "Pair", "decide", "extra_runs_wanted", "is_decided"]


def decide(given: GateInput) -> Decision:
    """Decide on one candidate against the incumbent, from the rows of the sealed split.

    Every reason is listed, not only the first; the order of the rows does not matter. With required pairs the candidate
    must win in each of them: the level needs no share for that, as all must reject (Berger 1982).
    """
    main = _decide_pair(given.main_pair())
    others = tuple(_arm_decision(pair, _decide_pair(given.pair(pair))) for pair in given.required)
    level = Level(account=given.policy.alpha_account, granted=given.alpha, spent_before=given.spent)
    reasons = (*main.reasons, *(_required_reason(arm) for arm in others))
    outcomes = {main.outcome, *(arm.outcome for arm in others)}
    graver = (Outcome.KEEP_INCUMBENT, Outcome.INSUFFICIENT_EVIDENCE, Outcome.PROMOTE)
    outcome = next(found for found in graver if found in outcomes)
    return main.model_copy(update={"outcome": outcome, "reasons": reasons, "level": level, "required": others})


def _arm_decision(pair: Pair, found: Decision) -> ArmDecision:
    return ArmDecision(
        arm=pair.candidate,
        outcome=found.outcome,
        reasons=found.reasons,
        estimates=found.estimates,
        test=found.test,
        tasks=found.tasks,
    )


def _required_reason(arm: ArmDecision) -> Reason:
    won = arm.outcome is Outcome.PROMOTE
    said = "; ".join(reason.text for reason in arm.reasons if reason.blocking)
    text = f"{arm.arm}: wins as well" if won else f"{arm.arm}: {arm.outcome.value.replace('_', ' ')}: {said}"
    return Reason(code="required-arm-won" if won else "required-arm-not-won", text=text, blocking=not won)


def _decide_pair(given: GateInput) -> Decision:
    rows = RowsByTask(given)
    if faults := evidence_faults(given, rows):
        return Decision(outcome=Outcome.INSUFFICIENT_EVIDENCE, reasons=tuple(faults))
    if given.stopped_early and given.policy.sequential == "off":
        end = decide_early(given)
        return end.decision.model_copy(update={"tasks": _results(end.tasks, given.policy)})
    tasks = rows.measured(given.policy.metric).tasks
    compared = tasks if given.policy.of_quality else [task for task in tasks if task.comparable_cost]
    if not compared:
        text = "the incumbent resolves none of the tasks, so that there is no cost of work to compare"
        fault = Reason(code="nothing-to-compare", text=text, blocking=True)
        return Decision(outcome=Outcome.INSUFFICIENT_EVIDENCE, reasons=(fault,), tasks=_results(tasks, given.policy))
    if few := too_few_tasks(given, len(compared)):
        gain = gain_of(compared, given.policy, given.alpha)
        return Decision(
            outcome=Outcome.INSUFFICIENT_EVIDENCE,
            reasons=tuple(few),
            estimates=(gain.estimate,),
            test=gain.test,
            tasks=_results(tasks, given.policy),
        )
    if given.policy.sequential != "off":
        return _decide_by_rounds(given, tasks)
    found = _judged(given, rows)
    others = beside(given, rows, tasks)
    return Decision(
        outcome=found.outcome,
        reasons=(*found.reasons, *caveats(tasks, given.policy, others)),
        estimates=(found.gain.estimate, *others),
        test=found.gain.test,
        tasks=_results(tasks, given.policy, found.harm),
    )


def _decide_by_rounds(given: GateInput, tasks: tuple[TaskRuns, ...]) -> Decision:
    if not all(task.planned for task in tasks):
        return decide_early(given).decision
    found = rounds_judgement(tasks, given)
    if not found.final:
        return decide_early(given).decision
    lenient = given.stopped_early and not (given.policy.control and found.judgement.outcome is Outcome.PROMOTE)
    if faults := control_faults(given, found.rounds, partial=lenient):
        return Decision(outcome=Outcome.INSUFFICIENT_EVIDENCE, reasons=tuple(faults))
    used = tuple(task.rounds(found.rounds) for task in tasks)
    reasons = list(found.judgement.reasons)
    if found.rounds < given.runs:
        text = f"decided after {found.rounds} of {given.runs} rounds; what later rounds would show is not known"
        numbers: dict[str, float | int | None] = {"rounds": found.rounds, "planned": given.runs}
        reasons.insert(0, Reason(code="stopped-early", text=text, blocking=False, numbers=numbers))
    outcome = found.judgement.outcome
    if found.futile is not None:
        reasons.append(found.futile)
        outcome = Outcome.KEEP_INCUMBENT
    return Decision(
        outcome=outcome,
        reasons=(*reasons, *caveats(used, given.policy, ())),
        estimates=(found.judgement.gain.estimate,),
        test=found.judgement.gain.test,
        tasks=_results(used, given.policy, found.judgement.harm),
    )


def _tie_break(given: GateInput, rows: RowsByTask) -> Sequence[TaskRuns] | None:
    found = None if given.policy.tie_break is None else rows.measured(given.policy.tie_break)
    return None if found is None or found.missing else found.tasks


def _results(tasks: Sequence[TaskRuns], policy: Policy, harm: Harm | None = None) -> tuple[TaskResult, ...]:
    extra: dict[str, int] = {}
    for verdict in () if harm is None else harm.verdicts:
        extra[verdict.task] = max(verdict.extra_runs, extra.get(verdict.task, 0))
    return tuple(_result(task, policy, extra.get(task.task, 0)) for task in tasks)


def _result(task: TaskRuns, policy: Policy, extra_runs: int) -> TaskResult:
    other = None if policy.metric is Metric.RESOLVE_RATE else figures_of(task, policy.metric)
    return TaskResult(
        task=task.task,
        tier=task.tier,
        runs=task.planned,
        incumbent_resolved=task.resolved("incumbent"),
        candidate_resolved=task.resolved("candidate"),
        incumbent=None if other is None else round(float(other.incumbent), 6),
        candidate=None if other is None else round(float(other.candidate), 6),
        counted=policy.of_quality or task.comparable_cost,
        extra_runs=extra_runs,
    )


def _judged(given: GateInput, rows: RowsByTask) -> Judgement:
    tasks = rows.measured(given.policy.metric).tasks
    return judge(tasks, given.policy, given.alpha, tie_break=lambda: _tie_break(given, rows))


def extra_runs_wanted(given: GateInput) -> dict[str, int]:
    """Return how many runs of each arm beyond the plan tasks should have in all, where noise may explain a regression.

    Nothing, unless the candidate would be promoted were it not for them, in every pair that it must win in.
    """
    found: dict[str, int] = {}
    if given.stopped_early and given.policy.sequential == "off":
        return found
    for one in (given.main_pair(), *(given.pair(pair) for pair in given.required)):
        decided = _decide_pair(one)
        doubted = {task for reason in decided.reasons if reason.code == NEEDS_EXTRA_RUNS for task in reason.tasks}
        if decided.outcome is not Outcome.PROMOTE and not doubted:
            return {}
        for task in decided.tasks:
            if task.task in doubted:
                runs = next_extra(task.extra_runs, one.policy)
                found[task.task] = max(found.get(task.task, 0), runs)
    return found
