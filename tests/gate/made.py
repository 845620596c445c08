"""Tables of runs, made into rows, for the tests of the gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evolve.gate.decide import GateInput, decide
from evolve.records.decision import Decision, Reason
from evolve.records.kinds import Outcome, Role
from evolve.records.row import Row, Usage
from evolve.stats.multiplicity import alpha_at
from tests.builders import make_policy, make_row

ALPHA = alpha_at(1, 0.05)
PROMOTE, KEEP, INSUFFICIENT = Outcome.PROMOTE, Outcome.KEEP_INCUMBENT, Outcome.INSUFFICIENT_EVIDENCE

# One run: whether it resolved, and what it cost in every cost; None is a cost that nobody measured.
Cell = tuple[bool, int | None]
# One task: the runs of the incumbent and those of the candidate.
Task = tuple[Sequence[Cell], Sequence[Cell]]


def usage(cost: int | None) -> Usage:
    """Return what a run used, the same figure in every cost."""
    return Usage(cost_usd_micros=cost, input_tokens=cost, output_tokens=cost, turns=cost)


def cell_row(task: str, run: int, role: Role, cell: Cell, **fields: Any) -> Row:
    """Return the row of one run."""
    resolved, cost = cell
    return make_row(task, run, role=role, resolved=resolved, usage=usage(cost), **fields)


def task_rows(task: str, runs: Task, first: int = 0) -> list[Row]:
    """Return the rows of a task, from a run on."""
    return [
        cell_row(task, run, role, cell)
        for role, cells in zip((Role.INCUMBENT, Role.CANDIDATE), runs, strict=True)
        for run, cell in enumerate(cells, start=first)
    ]


def rows_of(table: Sequence[Task]) -> list[Row]:
    """Return the rows of a table, whose tasks are named t-00, t-01, and so on."""
    return [row for number, runs in enumerate(table) for row in task_rows(f"t-{number:02}", runs)]


def input_of(rows: Sequence[Row], tasks: int, *, runs: int = 3, alpha: float = ALPHA, **policy: Any) -> GateInput:
    """Return what the gate decides on."""
    return GateInput(tuple(rows), tuple(f"t-{n:02}" for n in range(tasks)), runs, make_policy(**policy), alpha)


def decided(table: Sequence[Task], extra: Sequence[Row] = (), **policy: Any) -> Decision:
    """Decide on a table."""
    return decide(input_of([*rows_of(table), *extra], len(table), **policy))


def counts(incumbent: int, candidate: int, runs: int = 3, cost: int = 10) -> Task:
    """Return a task by how many of its runs each arm resolved, all at one cost."""
    return [(run < incumbent, cost) for run in range(runs)], [(run < candidate, cost) for run in range(runs)]


def costs(incumbent: Sequence[int | None], candidate: Sequence[int | None]) -> Task:
    """Return a task by what its runs cost, all resolved."""
    return [(True, cost) for cost in incumbent], [(True, cost) for cost in candidate]


def codes(decision: Decision) -> dict[str, Reason]:
    """Return the reasons of a decision by code."""
    return {reason.code: reason for reason in decision.reasons}


def blocking(decision: Decision) -> set[str]:
    """Return the codes of what stands against a promotion."""
    return {reason.code for reason in decision.reasons if reason.blocking}
