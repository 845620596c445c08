"""Running a planned sweep: canaries first, then the rest in plan order, every step journalled."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from evolve.agents.base import Agent
from evolve.bench.breaker import Breaker
from evolve.bench.budget import Budget, Limits
from evolve.bench.cell import Attempt, run_cell
from evolve.bench.executors.threads import ThreadExecutor
from evolve.bench.journal import JOURNAL_FILE, Journal, SweepState
from evolve.bench.measured import ROWS_FILE
from evolve.bench.reuse import REPLIES_FOLDER, stored_reply
from evolve.bench.scheduler import Scheduler
from evolve.bench.sources import Sources
from evolve.corpus.loading import LoadedTask
from evolve.digest import sha256_bytes
from evolve.errors import BudgetExhausted, EnvironmentFault, EvidenceFault, EvolveError
from evolve.files import write_atomic, writer_lock
from evolve.records.base import jsonl_bytes, read_json, write_json
from evolve.records.cell_spec import CellSpec
from evolve.records.kinds import KIND_FACTS
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row
from evolve.sandbox.base import Sandbox
from evolve.skills import Skill
from evolve.stats.drift import canaries_disagree

PLAN_FILE = "plan.json"
STOPPED_EARLY = "no outcome of the remaining cells could change the decision"


def resume_command(plan: Plan) -> str:
    """Return the command that goes on with a sweep, or with the generation that it belongs to."""
    return f"evolve resume {generation_of(plan) or plan.sweep}"


def generation_of(plan: Plan) -> str | None:
    """Return the generation that a sweep was begun for, if there is one."""
    generation = re.match(r"g\d{4,}(?=-|$)", plan.context)
    return generation[0] if generation else None


def prompt_bytes(task: LoadedTask, skill_bytes: int) -> int:
    """Return how many bytes of text a session on a task begins with."""
    seed = sum(len(path) + len(entry.content) for path, entry in task.seed.files.items())
    return skill_bytes + len(task.task.prompt.encode()) + seed


class Progress(Protocol):
    """Told what a sweep does, as it does it."""

    def sweep_started(self, plan: Plan, to_pay: int) -> None:
        """Take the plan and how many cells will be paid for."""
        ...

    def cell_started(self, cell: PlannedCell) -> None:
        """Take a cell whose attempt begins."""
        ...

    def cell_ended(self, row: Row) -> None:
        """Take a row that was just measured."""
        ...

    def sweep_ended(self) -> None:
        """Learn that no more cells of this sweep follow."""
        ...

    def note(self, text: str) -> None:
        """Take a sentence that the user should read."""
        ...


@dataclass(frozen=True)
class RunOptions:
    """How a sweep is run; none of it may change a decision.

    Args:
        workers: How many cells run at once.
        budget: What may be spent; shared by all sweeps of one command.
        enough: Says, from the rows so far, that no outcome of the rest could change the decision.
        grace_s: How long running cells may go on after a stop.

    """

    workers: int = 1
    budget: Budget = field(default_factory=lambda: Budget(Limits()))
    enough: Callable[[tuple[Row, ...]], bool] | None = None
    grace_s: float = 10.0


@dataclass(frozen=True)
class SweepResult:
    """A finished sweep: one row a cell in plan order, and what else was paid for."""

    folder: Path
    plan: Plan
    rows: tuple[Row, ...]
    voided: tuple[Row, ...]
    canaries: tuple[tuple[PlannedCell, Row, Row], ...]
    dropped_arms: tuple[str, ...]
    stopped: str | None = None


@dataclass(frozen=True)
class Means:
    """What cells are run with."""

    agent: Agent
    sandbox: Sandbox
    tasks: Mapping[str, LoadedTask]
    skills: Mapping[str, Skill]
    sweeps: Path
    progress: Progress

    def run(self, spec: CellSpec) -> Attempt:
        """Make one attempt at a cell.

        Raises:
            EvidenceFault: The task or skill at hand is not the one that the cell names.

        """
        identity = spec.cell.identity
        task, skill = self.tasks[identity.task], self.skills[spec.cell.arm]
        at_hand = (task.task_sha256, task.oracle_sha256, skill.fingerprint)
        if at_hand != (identity.task_sha256, identity.oracle_sha256, identity.fingerprint):
            raise EvidenceFault(f"cell {spec.cell.index}: task or skill is not the planned one", code="cell-mismatch")
        return run_cell(spec.cell, task, skill, self.agent, self.sandbox, attempt=spec.attempt)


class _Sweep:
    """A sweep whose lock is held; it keeps the scheduler's books."""

    def __init__(self, folder: Path, plan: Plan, means: Means, options: RunOptions) -> None:
        self.folder = folder
        self.plan = plan
        self.means = means
        self.options = options
        self.journal = Journal(folder / JOURNAL_FILE)
        self.state: SweepState = self.journal.state
        self.sources = Sources(means.sweeps, folder)
        if self.journal.repaired_bytes:
            means.progress.note(f"journal: {self.journal.repaired_bytes} bytes of a torn last line taken off")
        if self.state.plan_sha256 is None:
            self.journal.append("planned", plan_sha256=plan.digest())
        elif self.state.plan_sha256 != plan.digest():
            raise EvidenceFault(f"{folder / PLAN_FILE}: not the plan that the journal began with", code="plan-changed")

    def drop_broken_sources(self) -> None:
        """Have every cell whose source cannot be copied be run instead."""
        for cell in self.plan.cells:
            if cell.action == "fresh" or cell.index in self.state.dropped_cells or cell.index in self.state.settled:
                continue
            try:
                self.sources.fetch(cell)
            except (EvidenceFault, OSError) as error:
                self.journal.append("reuse-dropped", cell=cell.index, reason=str(error))
                self.state.dropped_cells.add(cell.index)
                self.means.progress.note(f"cell {cell.index} is run, not reused: {error}")

    def reused(self, cell: PlannedCell) -> bool:
        """Whether a cell takes its row from another sweep."""
        dropped = cell.arm in self.state.dropped_arms or cell.index in self.state.dropped_cells
        return cell.action == "reuse" and not dropped

    def to_pay(self) -> list[PlannedCell]:
        """Return the cells still to be paid for, in plan order."""
        hopeless = {
            index for index, row in self.state.voided if row.kind is not None and not KIND_FACTS[row.kind].retried
        }
        done = self.state.settled.keys() | hopeless
        return [cell for cell in self.plan.cells if cell.index not in done and not self.reused(cell)]

    def lease(self, cell: PlannedCell) -> CellSpec:
        """Write down that an attempt at a cell begins."""
        attempt = self.state.attempts.get(cell.index, 0) + 1
        self.state.token += 1
        self.state.attempts[cell.index] = attempt
        self.journal.append("leased", cell=cell.index, attempt=attempt, token=self.state.token)
        self.means.progress.cell_started(cell)
        return CellSpec(cell=cell, attempt=attempt, token=self.state.token)

    def enter(self, spec: CellSpec, attempt: Attempt) -> None:
        """Write down what an attempt measured: the reply first, then the row that names it."""
        row, index = attempt.row, spec.cell.index
        if row.reply_sha256:
            write_atomic(stored_reply(self.folder, row.reply_sha256), attempt.reply.encode("utf-8"))
        event = "voided" if row.void else "settled"
        self.journal.append(event, cell=index, attempt=spec.attempt, token=spec.token, row=row)
        if row.void:
            self.state.voided.append((index, row))
        else:
            self.state.settled[index] = row
        self.means.progress.cell_ended(row)

    def cancel(self, spec: CellSpec) -> None:
        """Write down that an attempt was given up."""
        self.journal.append("cancelled", cell=spec.cell.index, attempt=spec.attempt, token=spec.token)
        self.state.cancelled += 1

    def run(self) -> str | None:
        """Run every open cell, canaries first; returns why the rest was not needed, if it was not.

        Raises:
            EnvironmentFault: The breaker stopped the sweep.
            BudgetExhausted: The rest of the budget cannot cover the next cell.

        """
        executor = ThreadExecutor(self.means.run, self.options.workers)
        scheduler = Scheduler(
            executor=executor,
            books=self,
            breaker=Breaker(self.plan.outage_streak),
            budget=self.options.budget,
            max_attempts=self.plan.max_attempts,
            worst_micros=self._worst_micros,
            folded=self._enough,
            grace_s=self.options.grace_s,
        )
        try:
            scheduler.run([cell for cell in self.to_pay() if cell.action == "canary"])
            self._raise_if_stopped(scheduler)
            self._drop_drifted()
            scheduler.run(self.to_pay())
            self._raise_if_stopped(scheduler)
        finally:
            executor.close()
        return STOPPED_EARLY if scheduler.enough else None

    def _worst_micros(self, cell: PlannedCell) -> int | None:
        task, skill = self.means.tasks[cell.identity.task], self.means.skills[cell.arm]
        size = prompt_bytes(task, len(skill.body.encode()))
        return self.means.agent.worst_cost_micros(task.task.limits, size)

    def _enough(self, cell: PlannedCell, attempts: list[Attempt]) -> bool:
        return self.options.enough is not None and self.options.enough(tuple(self.rows()))

    def _raise_if_stopped(self, scheduler: Scheduler) -> None:
        resume = resume_command(self.plan)
        if scheduler.breaker.reason is not None:
            hint = f"mend the cause, then: {resume}"
            raise EnvironmentFault(scheduler.breaker.reason, hint=hint, code="outage")
        if scheduler.budget.reason is not None:
            hint = f"go on with a larger one: {resume}, with the same --max option"
            raise BudgetExhausted(f"the budget is exhausted: {scheduler.budget.reason}", hint=hint)

    def canaries(self) -> list[tuple[PlannedCell, Row, Row]]:
        """Return each settled canary as (cell, the row it vouches for, the row it measured)."""
        settled, dropped = self.state.settled, self.state.dropped_cells
        cells = [c for c in self.plan.cells if c.action == "canary" and c.index in settled and c.index not in dropped]
        return [(cell, self.sources.fetch(cell), settled[cell.index]) for cell in cells]

    def _drop_drifted(self) -> None:
        """Drop the reuse of every arm whose canaries disagree with the rows that they vouch for."""
        measured = self.canaries()
        for arm in sorted({cell.arm for cell, _, _ in measured} - self.state.dropped_arms):
            pairs = [(old.resolved, new.resolved) for cell, old, new in measured if cell.arm == arm]
            if canaries_disagree(pairs):
                self.journal.append("reuse-dropped", arm=arm)
                self.state.dropped_arms.add(arm)
                self.means.progress.note(f"the canary of arm {arm} disagrees: its reused rows are dropped and paid for")

    def rows(self) -> list[Row]:
        """Return the rows known so far, in plan order; a void row stands where nothing settled."""
        voided = dict(self.state.voided)
        rows = []
        for cell in self.plan.cells:
            if cell.index in self.state.settled:
                rows.append(self.state.settled[cell.index])
            elif self.reused(cell):
                rows.append(self.sources.fetch(cell))
            elif cell.index in voided:
                rows.append(voided[cell.index])
        return rows


def run_sweep(folder: Path, plan: Plan, means: Means, options: RunOptions) -> SweepResult:
    """Run a sweep to its end, from wherever its journal says it stands.

    Args:
        folder: The sweep's folder; a plan that already lies there is the one that is run.
        plan: The plan to write when there is none.
        means: Agent, sandbox, tasks, and the skill of each arm.
        options: Workers, budget and early stop.

    Raises:
        BusyError: Another process runs it.
        EnvironmentFault: An outage, or the disk is full; what was paid for is kept.
        BudgetExhausted: The rest of the budget cannot cover the next cell.
        EvidenceFault: The journal is damaged.

    """
    with writer_lock(folder / ".lock", f"sweep {folder.name}"):
        if (folder / PLAN_FILE).exists():
            plan = read_json(Plan, folder / PLAN_FILE)
        else:
            write_json(folder / PLAN_FILE, plan)
        (folder / REPLIES_FOLDER).mkdir(exist_ok=True)
        sweep = _Sweep(folder, plan, means, options)
        stopped = sweep.state.stopped
        if not sweep.state.finished:
            sweep.drop_broken_sources()
            stopped = _run_telling(sweep, means.progress)
        rows = tuple(sweep.rows())
        data = jsonl_bytes(rows)
        write_atomic(folder / ROWS_FILE, data)
        if not sweep.state.finished:
            sweep.journal.append("finished", reason=stopped, rows_sha256=sha256_bytes(data))
        return SweepResult(
            folder=folder,
            plan=plan,
            rows=rows,
            voided=tuple(row for _, row in sweep.state.voided),
            canaries=tuple(sweep.canaries()),
            dropped_arms=tuple(sorted(sweep.state.dropped_arms)),
            stopped=stopped,
        )


def _run_telling(sweep: _Sweep, progress: Progress) -> str | None:
    progress.sweep_started(sweep.plan, len(sweep.to_pay()))
    try:
        return sweep.run()
    except BaseException:
        # The rows are derived from the journal; the first fault is the one to tell.
        with contextlib.suppress(EvolveError, OSError):
            write_atomic(sweep.folder / ROWS_FILE, jsonl_bytes(sweep.rows()))
        raise
    finally:
        progress.sweep_ended()
