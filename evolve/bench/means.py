"""What cells are run with: agent, sandbox, tasks and skills at hand, and the folders they are run in."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evolve.agents.base import Agent, Session, SessionEnd
from evolve.bench.arms import PlanArm
from evolve.bench.cell import Attempt, Room, run_cell
from evolve.bench.ground import Ground
from evolve.bench.identity import cell_identity
from evolve.bench.progress import Progress
from evolve.corpus.loading import LoadedTask
from evolve.digest import sha256_json
from evolve.errors import EvidenceFault, EvolveError
from evolve.records.cell_spec import CellSpec
from evolve.records.plan import PlannedCell
from evolve.sandbox.base import Sandbox
from evolve.scratch import Scratch

WARM_UP_TOKENS = 16
WARM_UP_PROMPT = "Reply with the one word: ready."
SEEN_FACTOR = 1.5


@dataclass(frozen=True)
class Means:
    """What cells are run with.

    Args:
        agent: Who works in every arm that has no agent of its own.
        sandbox: Where what was written is executed by checks.
        tasks: The corpus, by task id.
        arms: The arms, by name.
        sweeps: The folder of all sweeps.
        progress: Told what happens.
        largest_micros: The most that a cell of (agent, task) was ever seen to cost, for agents that cannot say it
            beforehand.
        ground_of: Returns what a task stands on beside its seed files.

    """

    agent: Agent
    sandbox: Sandbox
    tasks: Mapping[str, LoadedTask]
    arms: Mapping[str, PlanArm]
    sweeps: Path
    progress: Progress
    largest_micros: Mapping[tuple[str, str], int] = field(default_factory=dict)
    ground_of: Callable[[LoadedTask], Ground] = lambda _: Ground()

    def agent_of(self, arm: PlanArm) -> Agent:
        """Return who works in an arm."""
        return self.agent if arm.agent is None else arm.agent

    def worst_micros(self, cell: PlannedCell, *, warm_up: bool = False) -> int | None:
        """Return the most that one attempt at a cell can cost: the agent's limit, or the largest seen x 1.5."""
        return self.worst_of(self.tasks[cell.identity.task], self.arms[cell.arm], warm_up=warm_up)

    def worst_of(self, task: LoadedTask, arm: PlanArm, *, warm_up: bool = False) -> int | None:
        """Return the most that one attempt at a task in an arm can cost."""
        limits = task.task.limits
        if warm_up:
            limits = limits.model_copy(update={"max_output_tokens": WARM_UP_TOKENS})
        agent, skills = self.agent_of(arm), sum(len(skill.body.encode()) for skill in arm.loaded)
        worst = agent.worst_cost_micros(limits, prompt_bytes(task, skills))
        if worst is not None or not self.largest_micros:
            return worst
        seen = self.largest_micros.get((sha256_json(agent.identity), task.id))
        return None if seen is None else round(seen * SEEN_FACTOR)


def prompt_bytes(task: LoadedTask, skill_bytes: int) -> int:
    """Return how many bytes of text a session on a task begins with."""
    seed = sum(len(path) + len(entry.content) for path, entry in task.seed.files.items())
    return skill_bytes + len(task.task.prompt.encode()) + seed


class Workshop:
    """Runs the cells of one sweep; the folders of cells that come next are made while others run."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._scratch = Scratch()
        self._prepared: dict[int, Room] = {}
        self._lock = threading.Lock()

    def _at_hand(self, cell: PlannedCell) -> tuple[LoadedTask, PlanArm]:
        identity = cell.identity
        task, arm = self._means.tasks[identity.task], self._means.arms[cell.arm]
        at_hand = (task.task_sha256, task.oracle_sha256, arm.fingerprint)
        if at_hand != (identity.task_sha256, identity.oracle_sha256, identity.fingerprint):
            raise EvidenceFault(f"cell {cell.index}: task or skill is not the planned one", code="cell-mismatch")
        agent = self._means.agent_of(arm).identity
        if cell_identity(task, arm.fingerprint, agent, self._means.sandbox, identity.run).sandbox != identity.sandbox:
            raise EvidenceFault(f"cell {cell.index}: not contained as it was planned", code="cell-mismatch")
        return task, arm

    def prepare(self, cell: PlannedCell) -> None:
        """Make the folders of a cell before its turn; what fails here is told when it is run."""
        with contextlib.suppress(EvolveError, OSError):
            task, arm = self._at_hand(cell)
            room = self._room(task, arm)
            with self._lock:
                self._prepared[cell.index] = room

    def _room(self, task: LoadedTask, arm: PlanArm) -> Room:
        only_reads = self._means.agent_of(arm).only_reads
        ground = self._means.ground_of(task)
        return Room.make(task, arm.loaded, self._scratch.folder, ground, shared=only_reads)

    def run(self, spec: CellSpec) -> Attempt:
        """Make one attempt at a cell.

        Raises:
            EvidenceFault: The task or skill at hand is not the one that the cell names.

        """
        cell, means = spec.cell, self._means
        task, arm = self._at_hand(cell)

        def room() -> Room:
            with self._lock:
                prepared = self._prepared.pop(cell.index, None)
            return prepared or self._room(task, arm)

        return run_cell(
            cell,
            task,
            arm,
            means.agent_of(arm),
            means.sandbox,
            attempt=spec.attempt,
            make_room=room,
            phase=lambda phase: means.progress.cell_phase(cell, phase),
        )

    def warm_up(self, cell: PlannedCell) -> SessionEnd:
        """Run a throw-away session with the skill of a cell's arm, so that no cell pays for a cold cache alone."""
        task, arm = self._at_hand(cell)
        limits = task.task.limits.model_copy(update={"max_output_tokens": WARM_UP_TOKENS})
        short = task.task.model_copy(update={"limits": limits, "kind": "answer", "prompt": WARM_UP_PROMPT})
        room = Room.make(task, arm.loaded, self._scratch.folder)
        try:
            session = Session(task=short, work=room.work, skills=room.skills, seed=cell.identity.seed, warm_up=True)
            return self._means.agent_of(arm).run(session)
        finally:
            room.remove()

    def close(self) -> None:
        """Remove all folders."""
        self._scratch.close()
