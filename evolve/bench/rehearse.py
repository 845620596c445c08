"""The rehearsal: every task by a scripted agent, through the very path that a paid cell takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from evolve.agents.reference import Plays, ReferenceAgent
from evolve.bench.arms import PlanArm
from evolve.bench.cell import Room, run_cell
from evolve.bench.ground import Ground
from evolve.bench.identity import cell_identity
from evolve.corpus.loading import LoadedTask
from evolve.records.kinds import KIND_FACTS, Role
from evolve.records.plan import PlannedCell
from evolve.records.row import Row
from evolve.sandbox.base import Sandbox
from evolve.skills import Skill

PLAYS: tuple[Plays, ...] = ("good", "bad")


@dataclass(frozen=True)
class Rehearsed:
    """What became of one reference, and whether that is what must become of it."""

    task: str
    plays: Plays
    row: Row

    @property
    def as_expected(self) -> bool:
        """Whether the good one resolved, or the bad one failed by its own fault."""
        if self.plays == "good":
            return self.row.resolved
        return self.row.kind is not None and KIND_FACTS[self.row.kind].counts_against_arm


def rehearse(
    tasks: tuple[LoadedTask, ...],
    skills: Mapping[str, Skill],
    sandbox: Sandbox,
    ground_of: Callable[[LoadedTask], Ground] = lambda _: Ground(),
    told: Callable[[Rehearsed], None] = lambda _: None,
) -> list[Rehearsed]:
    """Run both references of every task as cells: workspace, skill, fingerprint, session, verify, oracle, row.

    Args:
        tasks: The tasks.
        skills: The incumbent skills, by name.
        sandbox: The graders' containment.
        ground_of: Returns what a task stands on beside its seed files.
        told: Told of each as it ends.

    """
    found = []
    for plays in PLAYS:
        agent = ReferenceAgent(plays, {task.id: getattr(task, plays) for task in tasks})
        for index, task in enumerate(tasks):
            arm = PlanArm("rehearsal", Role.CONTROL, skills[task.task.skills[0]])
            cell = PlannedCell(
                index=index,
                arm=arm.name,
                role=arm.role,
                split=task.task.split,
                identity=cell_identity(task, arm.fingerprint, agent.identity, sandbox, 0),
                action="fresh",
                reason="rehearsal",
            )
            room = partial(Room.make, task, arm.loaded, None, ground_of(task))
            attempt = run_cell(cell, task, arm, agent, sandbox, attempt=1, make_room=room)
            rehearsed = Rehearsed(task.id, plays, attempt.row)
            found.append(rehearsed)
            told(rehearsed)
    return found
