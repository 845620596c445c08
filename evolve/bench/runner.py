"""Running a planned sweep: canaries first, then the rest in plan order, every step journalled."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from evolve.agents.base import Agent
from evolve.bench.cell import run_cell
from evolve.bench.journal import JOURNAL_FILE, Journal, SweepState
from evolve.bench.measured import ROWS_FILE, measured_rows
from evolve.bench.reuse import REPLIES_FOLDER, stored_reply
from evolve.corpus.loading import LoadedTask
from evolve.digest import sha256_bytes
from evolve.errors import EnvironmentFault, EvidenceFault, EvolveError
from evolve.files import write_atomic, writer_lock
from evolve.records.base import jsonl_bytes, read_json, write_json
from evolve.records.kinds import KIND_FACTS
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Reuse, Row
from evolve.sandbox.base import Sandbox
from evolve.skills import Skill
from evolve.stats.drift import canaries_disagree

PLAN_FILE = "plan.json"


def resume_command(plan: Plan) -> str:
    """Return the command that goes on with a sweep, or with the generation that it belongs to."""
    return f"evolve resume {generation_of(plan) or plan.sweep}"


def generation_of(plan: Plan) -> str | None:
    """Return the generation that a sweep was begun for, if there is one."""
    generation = re.match(r"g\d{4,}(?=-|$)", plan.context)
    return generation[0] if generation else None


class Progress(Protocol):
    """Told what a sweep does, as it does it."""

    def sweep_started(self, plan: Plan, to_pay: int) -> None:
        """Take the plan and how many cells will be paid for."""
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
class SweepResult:
    """A finished sweep: one row a cell in plan order, and what else was paid for."""

    folder: Path
    plan: Plan
    rows: tuple[Row, ...]
    voided: tuple[Row, ...]
    canaries: tuple[tuple[PlannedCell, Row, Row], ...]
    dropped_arms: tuple[str, ...]


@dataclass(frozen=True)
class Means:
    """What cells are run with."""

    agent: Agent
    sandbox: Sandbox
    tasks: Mapping[str, LoadedTask]
    skills: Mapping[str, Skill]
    sweeps: Path
    progress: Progress


class _Sweep:
    """A sweep whose lock is held."""

    def __init__(self, folder: Path, plan: Plan, means: Means) -> None:
        self.folder = folder
        self.plan = plan
        self.means = means
        self.journal = Journal(folder / JOURNAL_FILE)
        self.state: SweepState = self.journal.state
        self._streak = 0
        self._tries: Counter[int] = Counter()
        self._origins: dict[Path, dict[str, Row]] = {}
        if self.journal.repaired_bytes:
            means.progress.note(f"journal: {self.journal.repaired_bytes} bytes of a torn last line taken off")
        if self.state.plan_sha256 is None:
            self.journal.append("planned", plan_sha256=plan.digest())
        elif self.state.plan_sha256 != plan.digest():
            raise EvidenceFault(f"{folder / PLAN_FILE}: not the plan that the journal began with", code="plan-changed")

    def _rows_of(self, origin: Path) -> dict[str, Row]:
        if origin not in self._origins:
            self._origins[origin] = {row.digest(): row for row in measured_rows(origin)}
        return self._origins[origin]

    def source_row(self, cell: PlannedCell) -> Row:
        """Return the row that a cell reuses, its reply copied and both checked.

        Raises:
            EvidenceFault: The source is gone or was changed.

        """
        source = cell.source
        if source is None:
            raise EvidenceFault(f"cell {cell.index} has no source to reuse", code="reuse-broken")
        origin = self.means.sweeps / source.sweep
        row = self._rows_of(origin).get(source.row_sha256)
        if row is None:
            raise EvidenceFault(f"{origin / ROWS_FILE}: the row of {cell.identity.task} is gone", code="reuse-broken")
        if row.reply_sha256:
            data = stored_reply(origin, row.reply_sha256).read_bytes()
            if sha256_bytes(data) != row.reply_sha256:
                raise EvidenceFault(f"{origin}: the reply of {cell.identity.task} was changed", code="reuse-broken")
            write_atomic(stored_reply(self.folder, row.reply_sha256), data)
        return row.model_copy(
            update={
                "arm": cell.arm,
                "role": cell.role,
                "reused": Reuse(sweep=source.sweep, row_sha256=source.row_sha256),
            }
        )

    def to_pay(self) -> list[PlannedCell]:
        """Return the cells still to be paid for, canaries first."""
        open_cells = [
            cell
            for cell in self.plan.cells
            if cell.index not in self.state.settled
            and (cell.action != "reuse" or cell.arm in self.state.dropped_arms)
            and self._attempts_left(cell)
        ]
        return sorted(open_cells, key=lambda cell: (cell.action != "canary", cell.index))

    def _attempts_left(self, cell: PlannedCell) -> bool:
        last = next((row for index, row in reversed(self.state.voided) if index == cell.index), None)
        if last is not None and last.kind is not None and not KIND_FACTS[last.kind].retried:
            return False
        # A resume follows a mended cause, so the cap counts the attempts of this run alone.
        return self._tries[cell.index] < self.plan.max_attempts

    def run(self) -> None:
        """Run every open cell, with the drift test as soon as the canaries have settled."""
        while True:
            cells = self.to_pay()
            canaries_are_due = bool(cells) and cells[0].action == "canary"
            if not canaries_are_due and self._drop_drifted():
                continue
            if not cells:
                return
            self._attempt(cells[0])

    def _attempt(self, cell: PlannedCell) -> None:
        attempt = self.state.attempts.get(cell.index, 0) + 1
        token = self.state.token + 1
        self._tries[cell.index] += 1
        self.journal.append("leased", cell=cell.index, attempt=attempt, token=token)
        task, skill = self.means.tasks[cell.identity.task], self.means.skills[cell.arm]
        made = run_cell(cell, task, skill, self.means.agent, self.means.sandbox, attempt=attempt)
        row = made.row
        if row.reply_sha256:
            write_atomic(stored_reply(self.folder, row.reply_sha256), made.reply.encode("utf-8"))
        event = "voided" if row.void else "settled"
        self.journal.append(event, cell=cell.index, attempt=attempt, token=token, row=row)
        self.state.attempts[cell.index] = attempt
        self.state.token = token
        if row.void:
            self.state.voided.append((cell.index, row))
        else:
            self.state.settled[cell.index] = row
        self.means.progress.cell_ended(row)
        self._mind_outage(row)

    def _mind_outage(self, row: Row) -> None:
        systemic = row.kind is not None and KIND_FACTS[row.kind].systemic
        self._streak = self._streak + 1 if systemic else 0
        if self._streak >= self.plan.outage_streak:
            raise EnvironmentFault(
                f"{self._streak} cells in a row failed with {row.kind}: {row.detail}",
                hint=f"mend the cause, then: {resume_command(self.plan)}",
                code="outage",
            )

    def canaries(self) -> list[tuple[PlannedCell, Row, Row]]:
        """Return each settled canary as (cell, the row it vouches for, the row it measured)."""
        settled = self.state.settled
        cells = [cell for cell in self.plan.cells if cell.action == "canary" and cell.index in settled]
        return [(cell, self.source_row(cell), settled[cell.index]) for cell in cells]

    def _drop_drifted(self) -> bool:
        """Drop the reuse of every arm whose canaries disagree; whether there was one."""
        found = False
        measured = self.canaries()
        for arm in sorted({cell.arm for cell, _, _ in measured} - self.state.dropped_arms):
            pairs = [(old.resolved, new.resolved) for cell, old, new in measured if cell.arm == arm]
            if canaries_disagree(pairs):
                self.journal.append("reuse-dropped", arm=arm)
                self.state.dropped_arms.add(arm)
                self.means.progress.note(f"the canary of arm {arm} disagrees: its reused rows are dropped and paid for")
                found = True
        return found

    def rows(self) -> list[Row]:
        """Return the rows known so far, in plan order; a void row stands where nothing settled."""
        voided = {index: row for index, row in self.state.voided}
        rows = []
        for cell in self.plan.cells:
            if cell.index in self.state.settled:
                rows.append(self.state.settled[cell.index])
            elif cell.action == "reuse" and cell.arm not in self.state.dropped_arms:
                rows.append(self.source_row(cell))
            elif cell.index in voided:
                rows.append(voided[cell.index])
        return rows


def run_sweep(folder: Path, plan: Plan, means: Means) -> SweepResult:
    """Run a sweep to its end, from wherever its journal says it stands.

    Args:
        folder: The sweep's folder; a plan that already lies there is the one that is run.
        plan: The plan to write when there is none.
        means: Agent, sandbox, tasks, and the skill of each arm.

    Raises:
        BusyError: Another process runs it.
        EnvironmentFault: An outage, or the disk is full; what was paid for is kept.
        EvidenceFault: The journal or a source of reuse is damaged.

    """
    with writer_lock(folder / ".lock", f"sweep {folder.name}"):
        if (folder / PLAN_FILE).exists():
            plan = read_json(Plan, folder / PLAN_FILE)
        else:
            write_json(folder / PLAN_FILE, plan)
        (folder / REPLIES_FOLDER).mkdir(exist_ok=True)
        sweep = _Sweep(folder, plan, means)
        means.progress.sweep_started(plan, len(sweep.to_pay()))
        try:
            sweep.run()
        except BaseException:
            # The rows are derived from the journal; the first fault is the one to tell.
            with contextlib.suppress(EvolveError, OSError):
                write_atomic(folder / ROWS_FILE, jsonl_bytes(sweep.rows()))
            raise
        finally:
            means.progress.sweep_ended()
        rows = jsonl_bytes(sweep.rows())
        write_atomic(folder / ROWS_FILE, rows)
        if not sweep.state.finished:
            sweep.journal.append("finished", rows_sha256=sha256_bytes(rows))
        return SweepResult(
            folder=folder,
            plan=plan,
            rows=tuple(sweep.rows()),
            voided=tuple(row for _, row in sweep.state.voided),
            canaries=tuple(sweep.canaries()),
            dropped_arms=tuple(sorted(sweep.state.dropped_arms)),
        )
