"""The decision: evidence first, then no harm, then gain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from evolve.records.decision import Decision, Estimate, Reason, TaskResult, TestResult
from evolve.records.kinds import Outcome, Role, Split
from evolve.records.policy import Policy
from evolve.records.row import Row
from evolve.stats.paired import MAX_ENUMERATED, PValue, mcnemar_exact, paired_t_interval, sign_flip

CONFIDENCE = 0.95
DIGITS = 6


@dataclass(frozen=True)
class GateInput:
    """Everything that a decision depends on.

    ``stopped_early`` says that measuring ended because no outcome of the rest could change the decision; the rows
    must then show that by themselves.
    """

    rows: tuple[Row, ...]
    tasks: tuple[str, ...]
    runs: int
    policy: Policy
    alpha: float
    stopped_early: bool = False


def decide(given: GateInput) -> Decision:
    """Decide on one candidate against the incumbent, from the rows of the sealed split.

    Every reason is listed, not only the first; the order of the rows does not matter.
    """
    given = _of_the_pair(given)
    reasons = _evidence_faults(given)
    if reasons:
        return Decision(outcome=Outcome.INSUFFICIENT_EVIDENCE, reasons=tuple(reasons))
    if given.stopped_early:
        return _decide_early(given)
    results = _task_results(given)
    estimate, test, gain = _judge(results, given)
    smallest = 0.5 ** len(results)
    if smallest > given.alpha:
        reason = _too_few_tasks(len(results), smallest, given.alpha)
        return Decision(
            outcome=Outcome.INSUFFICIENT_EVIDENCE, reasons=(reason,), estimates=(estimate,), test=test, tasks=results
        )
    reasons = [*_harm(results, given.policy), *gain]
    refused = any(reason.blocking for reason in reasons)
    return Decision(
        outcome=Outcome.KEEP_INCUMBENT if refused else Outcome.PROMOTE,
        reasons=(*reasons, *_caveats(results)),
        estimates=(estimate,),
        test=test,
        tasks=results,
    )


def _of_the_pair(given: GateInput) -> GateInput:
    """Return the same without the rows of comparators, which are shown and decide nothing."""
    return replace(given, rows=tuple(row for row in given.rows if row.role in (Role.INCUMBENT, Role.CANDIDATE)))


def is_decided(given: GateInput) -> bool:
    """Whether no outcome of the cells that were not measured can change the decision; a void cell leaves it open."""
    given = _of_the_pair(given)
    if any(row.void for row in given.rows):
        return False
    return bool(cannot_pass(given)) or cannot_fail(given)


def cannot_pass(given: GateInput) -> tuple[Reason, ...]:
    """Return why even the best outcome of every cell not measured would not be promoted; nothing when it might be.

    Each missing run is taken for one that the candidate resolves and the incumbent does not. Harm, gain and the
    exact tests can only get better with that (the sign-flip p-value is the probability that the differences of a random
    subset of the tasks sum to nothing or less, which no larger difference raises), so that no outcome could do more.
    """
    results = _extreme_case(given, Role.CANDIDATE)
    if harm := _harm(results, given.policy):
        return tuple(harm)
    _, _, gain = _judge(results, given)
    return tuple(reason for reason in gain if reason.blocking)


def cannot_fail(given: GateInput) -> bool:
    """Whether even the worst outcome of every cell not measured would be promoted.

    Each missing run is taken for one that the incumbent resolves and the candidate does not.
    """
    results = _extreme_case(given, Role.INCUMBENT)
    if _harm(results, given.policy):
        return False
    return not any(reason.blocking for reason in _judge(results, given)[2])


def _judge(results: tuple[TaskResult, ...], given: GateInput) -> tuple[Estimate, TestResult, list[Reason]]:
    differences = [Fraction(r.candidate_resolved - r.incumbent_resolved, r.runs) for r in results]
    estimate, test = _estimate(results, differences), _test(differences, given.policy, given.alpha)
    return estimate, test, _gain(differences, estimate, test, given.policy)


def _extreme_case(given: GateInput, winner: Role) -> tuple[TaskResult, ...]:
    """Return the results with every missing run taken for one that only the winner resolves."""
    resolved: dict[tuple[str, Role], int] = defaultdict(int)
    measured: dict[tuple[str, Role], int] = defaultdict(int)
    for row in given.rows:
        if not row.void:
            resolved[(row.identity.task, row.role)] += row.resolved
            measured[(row.identity.task, row.role)] += 1
    for task in given.tasks:
        resolved[(task, winner)] += given.runs - measured[(task, winner)]
    return _results_of(given, resolved)


def _decide_early(given: GateInput) -> Decision:
    measured = sum(not row.void for row in given.rows)
    planned = 2 * given.runs * len(given.tasks)
    numbers: dict[str, float | int | None] = {"measured": measured, "planned": planned}
    count = f"decided after {measured} of {planned} cells"
    if blocking := cannot_pass(given):
        text = f"{count}: the best outcome of all others would not be promoted"
        stopped = Reason(code="stopped-early", text=text, blocking=True, numbers=numbers)
        best = (
            Reason(
                code=f"best-case-{r.code}", text=f"at best: {r.text}", blocking=True, numbers=r.numbers, tasks=r.tasks
            )
            for r in blocking
        )
        return Decision(outcome=Outcome.KEEP_INCUMBENT, reasons=(stopped, *best))
    if cannot_fail(given):
        results = _extreme_case(given, Role.INCUMBENT)
        estimate, test, gain = _judge(results, given)
        worst = f"{estimate.estimand}; every run that was not measured is taken for the worst"
        text = f"{count}: the figures take every other for the worst, and are promoted even so"
        stopped = Reason(code="stopped-early", text=text, blocking=False, numbers=numbers)
        return Decision(
            outcome=Outcome.PROMOTE,
            reasons=(stopped, *gain),
            estimates=(estimate.model_copy(update={"estimand": worst}),),
            test=test,
            tasks=results,
        )
    text = "measuring was stopped although the rest could have changed the decision"
    fault = Reason(code="stopped-too-early", text=text, blocking=True)
    return Decision(outcome=Outcome.INSUFFICIENT_EVIDENCE, reasons=(fault,))


def _evidence_faults(given: GateInput) -> list[Reason]:
    faults: list[Reason] = []
    minimum = given.policy.min_runs
    if given.runs < minimum:
        text = f"{given.runs} runs a task and arm, the policy asks for {minimum}"
        faults.append(
            Reason(code="too-few-runs", text=text, blocking=True, numbers={"runs": given.runs, "min_runs": minimum})
        )
    cells: dict[tuple[str, Role], list[Row]] = defaultdict(list)
    for row in given.rows:
        cells[(row.identity.task, row.role)].append(row)
    broken = _broken_tasks(given, cells)
    if broken or not given.tasks:
        text = f"{len(broken)} of {len(given.tasks)} tasks lack valid rows, have too many, or rows of another task"
        faults.append(Reason(code="incomplete", text=text, blocking=True, tasks=broken))
    if _mixed(given.rows):
        text = "rows are not of sealed tasks, or mix skill texts, agents, runtimes, task versions or seeds"
        faults.append(Reason(code="mixed-evidence", text=text, blocking=True))
    return faults


def _broken_tasks(given: GateInput, cells: dict[tuple[str, Role], list[Row]]) -> tuple[str, ...]:
    expected = set(range(given.runs))
    broken = {task for task, _ in cells} - set(given.tasks)
    for task in given.tasks:
        for role in (Role.INCUMBENT, Role.CANDIDATE):
            runs = [row.identity.run for row in cells.get((task, role), []) if not row.void]
            whole = sorted(runs) == sorted(expected)
            void = any(row.void for row in cells.get((task, role), []))
            partial = given.stopped_early and not void and len(set(runs)) == len(runs) and expected.issuperset(runs)
            if not (whole or partial):
                broken.add(task)
    return tuple(sorted(broken))


def _mixed(rows: Sequence[Row]) -> bool:
    texts: dict[Role, set[str]] = defaultdict(set)
    settings: set[tuple[str, str]] = set()
    cells: dict[tuple[str, int], set[tuple[object, ...]]] = defaultdict(set)
    for row in rows:
        identity = row.identity
        texts[row.role].add(identity.fingerprint)
        settings.add((identity.agent_sha256, identity.runtime_sha256))
        cells[(identity.task, identity.run)].add(
            (identity.seed, identity.task_sha256, identity.oracle_sha256, identity.sandbox, identity.beginning_sha256)
        )
    return (
        any(row.split is not Split.SEALED for row in rows)
        or any(len(found) > 1 for found in texts.values())
        or len(settings) > 1
        or any(len(found) > 1 for found in cells.values())
    )


def _task_results(given: GateInput) -> tuple[TaskResult, ...]:
    resolved: dict[tuple[str, Role], int] = defaultdict(int)
    for row in given.rows:
        resolved[(row.identity.task, row.role)] += row.resolved
    return _results_of(given, resolved)


def _results_of(given: GateInput, resolved: dict[tuple[str, Role], int]) -> tuple[TaskResult, ...]:
    return tuple(
        TaskResult(
            task=task,
            runs=given.runs,
            incumbent_resolved=resolved[(task, Role.INCUMBENT)],
            candidate_resolved=resolved[(task, Role.CANDIDATE)],
        )
        for task in sorted(given.tasks)
    )


def _bounded(value: float) -> float:
    return round(max(-100.0, min(100.0, value * 100)), DIGITS)


def _estimate(results: tuple[TaskResult, ...], differences: list[Fraction]) -> Estimate:
    interval = paired_t_interval([float(value) for value in differences], CONFIDENCE)
    return Estimate(
        estimand="mean difference of the resolve rate, candidate minus incumbent",
        value=_bounded(float(sum(differences) / len(differences))),
        low=_bounded(interval.low),
        high=_bounded(interval.high),
        confidence=CONFIDENCE,
        interval=f"{interval.method} over tasks",
        unit="percentage points",
        tasks=len(results),
        runs=results[0].runs,
    )


def _test(differences: list[Fraction], policy: Policy, alpha: float) -> TestResult:
    wins = sum(value > 0 for value in differences)
    losses = sum(value < 0 for value in differences)
    result: PValue
    if policy.test == "mcnemar_exact":
        result = mcnemar_exact(wins, losses, "greater")
    else:
        result = sign_flip([float(value) for value in differences], "greater")
    return TestResult(
        name=_test_name(result, wins + losses),
        alternative="greater",
        p_value=result.p_value,
        alpha=alpha,
        wins=wins,
        losses=losses,
        ties=len(differences) - wins - losses,
    )


def _test_name(result: PValue, decided: int) -> str:
    if result.test == "sign_flip" and decided > MAX_ENUMERATED:
        return "resampled sign-flip test over tasks"
    return {"sign_flip": "exact sign-flip test over tasks"}.get(result.test, "exact McNemar test over tasks")


def _too_few_tasks(tasks: int, smallest: float, alpha: float) -> Reason:
    text = f"{tasks} sealed tasks: a win on each gives p = {smallest:.3g}, above the level {alpha:.3g} of this look"
    return Reason(
        code="too-few-tasks",
        text=text,
        blocking=True,
        numbers={"tasks": tasks, "smallest_p": smallest, "alpha": alpha},
    )


def _harm(results: tuple[TaskResult, ...], policy: Policy) -> list[Reason]:
    reasons = []
    lost = tuple(r.task for r in results if r.incumbent_resolved == r.runs and r.candidate_resolved == 0)
    if lost:
        text = f"{len(lost)} tasks that the incumbent resolves in every run are lost"
        reasons.append(Reason(code="task-lost", text=text, blocking=True, tasks=lost))
    limit = Fraction(policy.max_task_regression_pct).limit_denominator(10**6) / 100
    worse = tuple(r.task for r in results if Fraction(r.incumbent_resolved - r.candidate_resolved, r.runs) > limit)
    if worse:
        text = f"{len(worse)} tasks lose more than {policy.max_task_regression_pct:g} points of their resolve rate"
        numbers: dict[str, float | int | None] = {"max_task_regression_pct": policy.max_task_regression_pct}
        reasons.append(Reason(code="task-regression", text=text, blocking=True, tasks=worse, numbers=numbers))
    return reasons


def _gain(differences: list[Fraction], estimate: Estimate, test: TestResult, policy: Policy) -> list[Reason]:
    wanted = Fraction(policy.min_improvement_pct).limit_denominator(10**6) / 100
    enough = sum(differences) / len(differences) >= wanted
    significant = test.p_value <= test.alpha
    gain = Reason(
        code="improvement" if enough else "improvement-too-small",
        text=(
            f"{estimate.value:+.1f} points over {estimate.tasks} tasks x {estimate.runs} runs "
            f"(95 % interval {estimate.low:+.1f} to {estimate.high:+.1f}); the policy asks for "
            f"{policy.min_improvement_pct:g}"
        ),
        blocking=not enough,
        numbers={"value": estimate.value, "min_improvement_pct": policy.min_improvement_pct},
    )
    proof = Reason(
        code="significant" if significant else "not-significant",
        text=(
            f"{test.name}: p = {test.p_value:.3g} (one-sided), this look has {test.alpha:.3g}; "
            f"{test.wins} tasks better, {test.losses} worse, {test.ties} equal"
        ),
        blocking=not significant,
        numbers={"p_value": test.p_value, "alpha": test.alpha},
    )
    return [gain, proof]


def _caveats(results: tuple[TaskResult, ...]) -> list[Reason]:
    floor = tuple(r.task for r in results if r.incumbent_resolved == r.candidate_resolved == 0)
    ceiling = tuple(r.task for r in results if r.incumbent_resolved == r.candidate_resolved == r.runs)
    caveats = []
    if floor:
        text = f"{len(floor)} tasks are resolved by neither arm; they tell the arms not apart"
        caveats.append(Reason(code="floor-tasks", text=text, blocking=False, tasks=floor))
    if ceiling:
        text = f"{len(ceiling)} tasks are resolved by both arms in every run"
        caveats.append(Reason(code="ceiling-tasks", text=text, blocking=False, tasks=ceiling))
    return caveats
