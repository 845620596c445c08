"""The decision of the gate as test cases: one for each reason, and one for each sealed task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from evolve.promote.evidence import Evidence, gate_input, required_pairs
from evolve.records.decision import Estimate, Reason, TaskResult
from evolve.records.kinds import Role
from evolve.records.promotion import Promotion
from evolve.records.row import Row
from evolve.report.junit import Case, suite

MAIN = "gate"
TASKS = "sealed tasks"
SIDES = (Role.INCUMBENT, Role.CANDIDATE)


def gate_junit(evidence: Evidence) -> bytes:
    """Return the decision on a candidate as a test suite.

    A blocking reason fails, any other passes. A task fails that the candidate lost; it is an error where a planned run
    of either arm was not validly measured, and skipped where it was left out as expensive.
    """
    promotion = evidence.promotion
    return suite(f"evolve gate {promotion.skill}", list(_cases(evidence)), _properties(promotion))


def _cases(evidence: Evidence) -> Iterator[Case]:
    promotion = evidence.promotion
    given = gate_input(promotion, evidence.rows)
    decision = promotion.decision
    yield from _reasons(MAIN, decision.reasons)
    yield from _tasks(TASKS, promotion, decision.tasks, given.main_pair().rows)
    pairs = {pair.candidate: pair for pair in required_pairs(promotion.arms)}
    for arm in decision.required:
        yield from _reasons(f"{MAIN}: {arm.arm}", arm.reasons)
        rows = given.pair(pairs[arm.arm]).rows if arm.arm in pairs else ()
        yield from _tasks(f"{TASKS}: {arm.arm}", promotion, arm.tasks, rows)
    for task in promotion.left_out:
        yield Case(TASKS, task, "skipped", "left out because it is expensive")


def _reasons(place: str, reasons: Sequence[Reason]) -> Iterator[Case]:
    seen: Counter[str] = Counter()
    for reason in reasons:
        seen[reason.code] += 1
        name = reason.code if seen[reason.code] == 1 else f"{reason.code} ({seen[reason.code]})"
        text = f"{reason.text}: {', '.join(reason.tasks)}" if reason.tasks else reason.text
        yield Case(place, name, "failure" if reason.blocking else "passed", text)


def _tasks(place: str, promotion: Promotion, results: Sequence[TaskResult], rows: Sequence[Row]) -> Iterator[Case]:
    by_task = {result.task: result for result in results}
    runs: dict[tuple[str, Role], set[int]] = {}
    for row in rows:
        if not row.void and row.identity.run < promotion.runs:
            runs.setdefault((row.identity.task, row.role), set()).add(row.identity.run)
    for task in (sealed.task for sealed in promotion.sealed):
        result = by_task.get(task)
        planned = result.runs if result else promotion.runs
        measured = {role: len(runs.get((task, role), ())) for role in SIDES}
        lacking = [f"{planned - count} of {planned} runs of the {role}" for role, count in measured.items()]
        lacking = [text for text, role in zip(lacking, SIDES, strict=True) if measured[role] < planned]
        told = _told(result, promotion.policy.metric) if result else "not compared"
        if lacking:
            yield Case(place, task, "error", f"not validly measured: {' and '.join(lacking)}; {told}")
        else:
            lost = result is not None and _lost(result, of_quality=promotion.policy.of_quality)
            yield Case(place, task, "failure" if lost else "passed", told)


def _lost(task: TaskResult, *, of_quality: bool) -> bool:
    if task.candidate_resolved != task.incumbent_resolved:
        return task.candidate_resolved < task.incumbent_resolved
    return of_quality and task.incumbent is not None and task.candidate is not None and task.candidate < task.incumbent


def _told(task: TaskResult, metric: str) -> str:
    parts = [f"incumbent {task.incumbent_resolved}/{task.runs}, candidate {task.candidate_resolved}/{task.runs} runs"]
    if task.incumbent is not None and task.candidate is not None:
        not_counted = "" if task.counted else " (not counted)"
        parts.append(f"{metric} {task.incumbent:,.6g} to {task.candidate:,.6g}{not_counted}")
    if task.extra_runs:
        parts.append(f"its regression was looked at in {task.extra_runs} more runs of each arm")
    return "; ".join([f"{parts[0]} resolved", *parts[1:]])


def _properties(promotion: Promotion) -> dict[str, str]:
    decision = promotion.decision
    found = {"outcome": decision.outcome.value}
    found |= {f"estimate: {one.estimand}": estimate_sentence(one) for one in decision.estimates}
    if (test := decision.test) is not None:
        signs = f"{test.wins} wins, {test.losses} losses, {test.ties} ties"
        found[f"test: {test.name}"] = f"p = {test.p_value:.4g} ({test.alternative}), level {test.alpha:.4g}; {signs}"
    return found | {"evidence sweep": promotion.sweep, "rows SHA-256": promotion.rows_sha256}


def estimate_sentence(estimate: Estimate) -> str:
    """Return an estimate with its unit, interval, tasks and runs, in plain text; a number never stands alone."""
    over = f"{estimate.tasks} tasks x {estimate.runs} runs"
    if estimate.value is None:
        return f"not comparable: {estimate.not_comparable}; {over}"
    interval = estimate.interval
    if estimate.low is not None and estimate.high is not None:
        level = f"{estimate.confidence * 100:.0f} % interval"
        interval = f"{level} {estimate.low:+.1f} to {estimate.high:+.1f}, {estimate.interval}"
    return f"{estimate.value:+.1f} {estimate.unit} ({interval}); {over}"
