"""Whether the evidence suffices: everything planned was measured, once, and is of one kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from evolve.gate.gain import smallest_p
from evolve.gate.inputs import GateInput
from evolve.gate.table import RowsByTask, tables_of
from evolve.records.decision import Numbers, Reason, TestResult
from evolve.records.kinds import Role, Split
from evolve.records.policy import Metric
from evolve.records.row import Row
from evolve.stats.paired import sign_flip

PAIR = (Role.INCUMBENT, Role.CANDIDATE)
Cells = dict[tuple[str, Role], list[Row]]


def evidence_faults(given: GateInput, rows: RowsByTask) -> list[Reason]:
    """Return everything that makes the evidence insufficient; each fault is listed, not only the first."""
    faults: list[Reason] = []
    minimum = given.policy.min_runs
    if given.runs < minimum:
        text = f"{given.runs} runs a task and arm, the policy asks for {minimum}"
        faults.append(_fault("too-few-runs", text, numbers={"runs": given.runs, "min_runs": minimum}))
    cells: Cells = defaultdict(list)
    for row in given.rows:
        cells[(row.identity.task, row.role)].append(row)
    broken = _broken_tasks(given, cells)
    if broken or not given.tasks:
        text = f"{len(broken)} of {len(given.tasks)} tasks lack valid rows, have too many, or rows of another task"
        faults.append(_fault("incomplete", text, broken))
    if _mixed(given.rows):
        text = "rows are not of sealed tasks, or mix skill texts, agents, runtimes, task versions or seeds"
        faults.append(_fault("mixed-evidence", text))
    if missing := rows.measured(given.policy.metric).missing:
        text = (
            f"{given.policy.metric.value} is not comparable: {len(missing)} tasks have rows that nobody measured it of"
        )
        faults.append(_fault("unmeasured", text, missing))
    if given.policy.sequential == "off":  # else the control is looked at after the round that decides
        faults += control_faults(given, given.runs, partial=given.stopped_early)
    return faults


def _fault(code: str, text: str, tasks: tuple[str, ...] = (), numbers: Numbers | None = None) -> Reason:
    return Reason(code=code, text=text, blocking=True, tasks=tasks, numbers=numbers or {})


def _broken_tasks(given: GateInput, cells: Cells) -> tuple[str, ...]:
    planned = set(range(given.runs))
    broken = {task for task, _ in cells} - set(given.tasks)
    for task in given.tasks:
        extra = _extra_runs(given, cells, task)
        for role in PAIR:
            rows = cells.get((task, role), [])
            runs = [row.identity.run for row in rows if not row.void]
            once = len(set(runs)) == len(runs) and extra == {run for run in runs if run >= given.runs}
            partial = given.stopped_early and not any(row.void for row in rows)
            if not once or not (partial or planned.issubset(runs)):
                broken.add(task)
    return tuple(sorted(broken))


def _extra_runs(given: GateInput, cells: Cells, task: str) -> set[int]:
    """Return the runs beyond the plan that both arms have, or should have: without a gap, within what is allowed."""
    beyond = {
        row.identity.run
        for role in PAIR
        for row in cells.get((task, role), [])
        if not row.void and row.identity.run >= given.runs
    }
    if not beyond or (given.stopped_early and given.policy.sequential == "off"):
        return set()
    allowed = given.policy.extra_runs if given.policy.proven else 0
    return set(range(given.runs, min(max(beyond) + 1, given.runs + allowed)))


def _mixed(rows: Sequence[Row]) -> bool:
    texts: dict[Role, set[str]] = defaultdict(set)
    settings: set[tuple[str, str]] = set()
    cells: dict[tuple[str, int], set[tuple[object, ...]]] = defaultdict(set)
    for row in rows:
        one = row.identity
        texts[row.role].add(one.fingerprint)
        settings.add((one.agent_sha256, one.runtime_sha256))
        shared = (one.seed, one.task_sha256, one.oracle_sha256, one.sandbox, one.beginning_sha256)
        cells[(one.task, one.run)].add(shared)
    return (
        any(row.split is not Split.SEALED for row in rows)
        or any(len(found) > 1 for found in texts.values())
        or not texts[Role.CONTROL] <= (texts[Role.INCUMBENT] or texts[Role.CONTROL])
        or len(settings) > 1
        or any(len(found) > 1 for found in cells.values())
    )


def too_few_tasks(given: GateInput, tasks: int) -> list[Reason]:
    """Return whether there are too few tasks for any outcome to be significant."""
    if not given.policy.proven or smallest_p(tasks) <= given.alpha:
        return []
    text = (
        f"{tasks} sealed tasks: a win on each gives p = {smallest_p(tasks):.3g}, "
        f"above the level {given.alpha:.3g} of this look"
    )
    numbers: Numbers = {"tasks": tasks, "smallest_p": smallest_p(tasks), "alpha": given.alpha}
    return [_fault("too-few-tasks", text, numbers=numbers)]


def control_faults(given: GateInput, rounds: int, *, partial: bool = False) -> list[Reason]:
    """Return whether the control is missing, incomplete, or differs from the incumbent whose text it has.

    Args:
        given: What is decided on.
        rounds: The first runs of every task that are looked at.
        partial: Whether the control may lack rows, as in a sweep that was cut short and promotes nothing.

    """
    cells: dict[str, list[int]] = {}
    for row in given.rows:
        if row.role is Role.CONTROL:
            cells.setdefault(row.identity.task, [])
            if not row.void and (row.identity.run < rounds or row.identity.run >= given.runs):
                cells[row.identity.task].append(row.identity.run)
    if not cells:
        if given.policy.control and not partial:
            text = "the policy asks for a control, an arm of the incumbent's own text; none was measured"
            return [_fault("no-control", text)]
        return []
    broken = tuple(task for task in sorted(given.tasks) if sorted(cells.get(task, [])) != list(range(rounds)))
    if broken and not partial:
        text = f"the control lacks valid rows in {len(broken)} of {len(given.tasks)} tasks"
        return [_fault("control-incomplete", text, broken)]
    test = control_test(given, rounds)
    if test is None or test.p_value > test.alpha:
        return []
    text = (
        f"the control has the incumbent's own text and differs from it: {test.wins} tasks better, {test.losses} worse, "
        f"p = {test.p_value:.3g} (two-sided), below {test.alpha:g}; what was measured is not the skill"
    )
    return [_fault("control-differs", text, numbers={"p_value": test.p_value, "control_alpha": test.alpha})]


def control_test(given: GateInput, rounds: int) -> TestResult | None:
    """Return the two-sided test of the control against the incumbent, over tasks in which both have so many runs."""
    swapped = {Role.INCUMBENT: Role.INCUMBENT, Role.CONTROL: Role.CANDIDATE}
    rows = tuple(
        row.model_copy(update={"role": swapped[row.role]})
        for row in given.rows
        if row.role in swapped and row.identity.run < rounds
    )
    tasks = [
        task
        for task in tables_of(GateInput(rows, given.tasks, rounds, given.policy, given.alpha), Metric.RESOLVE_RATE)
        if len(task.incumbent) == len(task.candidate) == rounds
    ]
    if not tasks:
        return None
    differences = [float(task.resolved("candidate") - task.resolved("incumbent")) for task in tasks]
    wins, losses = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    return TestResult(
        name="exact sign-flip test over tasks, control against incumbent",
        alternative="two-sided",
        p_value=sign_flip(differences).p_value,
        alpha=given.policy.control_alpha,
        wins=wins,
        losses=losses,
        ties=len(differences) - wins - losses,
    )
