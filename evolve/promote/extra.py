"""More runs of both arms for tasks whose regression may be noise: one small sweep a round, blind to the arm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evolve.bench.books import PLAN_FILE
from evolve.bench.plan import Group
from evolve.gate.decide import GateInput, extra_runs_wanted
from evolve.records.base import read_json
from evolve.records.kinds import Role
from evolve.records.plan import Plan

EXTRA_OF = "extra-of-"


def extra_context(sweep: str) -> str:
    """Return the context of the rounds that belong to a sealed sweep."""
    return f"{EXTRA_OF}{sweep}"


def main_sweep_of(plan: Plan) -> str | None:
    """Return the sealed sweep that a round belongs to, if the plan is one of a round."""
    return plan.context.removeprefix(EXTRA_OF) if plan.context.startswith(EXTRA_OF) else None


def extra_sweeps(sweeps: Path, sweep: str) -> list[Path]:
    """Return the folders of a sealed sweep's rounds, in order."""
    found = []
    for path in sweeps.glob(f"sealed-*/{PLAN_FILE}"):
        plan = read_json(Plan, path)
        if plan.context == extra_context(sweep):
            found.append((plan.first_run, path.parent))
    return [folder for _, folder in sorted(found)]


@dataclass(frozen=True)
class Round:
    """A round that is wanted: which tasks, from which run on, and how many runs."""

    tasks: tuple[str, ...]
    first_run: int
    runs: int


def next_round(given: GateInput, before: int) -> Round | None:
    """Return the round that a decision waits for, if it waits for one.

    Args:
        given: What is decided on, the rounds so far included.
        before: Extra runs of each arm so far.

    """
    wanted = {task: runs for task, runs in extra_runs_wanted(given).items() if runs > before}
    if not wanted:
        return None
    return Round(tuple(sorted(wanted)), given.runs + before, min(wanted.values()) - before)


def groups_of(groups: tuple[Group, ...], tasks: tuple[str, ...]) -> tuple[Group, ...]:
    """Return the pairs of a sealed sweep over some of its tasks, without comparators and control."""
    pair = (Role.INCUMBENT, Role.CANDIDATE)
    return tuple(
        Group(
            arms=tuple(arm for arm in group.arms if arm.role in pair),
            tasks=tuple(task for task in group.tasks if task.id in tasks),
        )
        for group in groups
    )
