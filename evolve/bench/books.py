"""The books of a sweep: every step is in the journal before anything else follows from it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from evolve.agents.base import SessionEnd
from evolve.bench.cell import Attempt
from evolve.bench.journal import JOURNAL_FILE, Journal, SweepState
from evolve.bench.means import Means
from evolve.bench.reuse import checks_name, patch_name, stored_reply, stored_transcript
from evolve.bench.sources import Sources
from evolve.bench.tapes import stored_recording
from evolve.bench.vouching import arm_drift
from evolve.errors import EvidenceFault, EvolveError
from evolve.files import write_atomic
from evolve.records.cell_spec import CellSpec
from evolve.records.kinds import KIND_FACTS
from evolve.records.plan import PLAN_FILE as PLAN_FILE
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row

LOCK_FILE = ".lock"


def is_reused(cell: PlannedCell, state: SweepState) -> bool:
    """Whether a cell takes its row from another sweep."""
    return cell.action == "reuse" and cell.arm not in state.dropped_arms and cell.index not in state.dropped_cells


def open_cells(plan: Plan, state: SweepState) -> list[PlannedCell]:
    """Return the cells still to be paid for, in plan order: neither settled, nor reused, nor out of attempts."""
    final = {index for index, row in state.voided if row.kind is not None and not KIND_FACTS[row.kind].retried}
    return [
        cell
        for cell in plan.cells
        if cell.index not in state.settled
        and cell.index not in final
        and state.void_counts[cell.index] < plan.max_attempts
        and not is_reused(cell, state)
    ]


def first_of_each_arm(cells: Sequence[PlannedCell]) -> list[PlannedCell]:
    """Return the first cell of each arm: the one that an arm is warmed up with."""
    first: dict[str, PlannedCell] = {}
    for cell in cells:
        first.setdefault(cell.arm, cell)
    return list(first.values())


def _shown(path: Path) -> str:
    """Return a path as it is shortest from where the user is."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


class Books:
    """Journal, sources and plan of a sweep whose lock is held; all state is what the journal says."""

    def __init__(self, folder: Path, plan: Plan, means: Means) -> None:
        self.folder = folder
        self.plan = plan
        self._means = means
        self.journal = Journal(folder / JOURNAL_FILE)
        self.sources = Sources(means.sweeps, folder)
        if self.journal.repaired_bytes:
            means.progress.note(f"journal: {self.journal.repaired_bytes} bytes of a torn last line taken off")
        if self.state.plan_sha256 is None:
            self.journal.append("planned", plan_sha256=plan.digest())
        elif self.state.plan_sha256 != plan.digest():
            raise EvidenceFault(f"{folder / PLAN_FILE}: not the plan that the journal began with", code="plan-changed")

    @property
    def state(self) -> SweepState:
        """What the journal says."""
        return self.journal.state

    def close_lost_leases(self) -> None:
        """Book the attempts that a killed process left open, at the most that they can have cost.

        Who is interrupted while everything fails has met an outage: what voided in it is tried anew.
        """
        if self.state.failing and self.state.interrupted:
            self.outage("the run was interrupted while cells were failing")
        for lease in list(self.state.leases.values()):
            self._spend("lost", lease.reserved_micros, lease.cell, lease.attempt, lease.token)

    def copy_sources(self) -> None:
        """Copy what is reused into the sweep's folder; every cell whose source cannot be copied is run instead."""
        kept = []
        for cell in self.plan.cells:
            if cell.action == "fresh" or cell.index in self.state.dropped_cells:
                continue
            try:
                self.sources.fetch(cell)
                kept.append(cell)
            except (EvolveError, OSError) as error:
                self.journal.append("reuse-dropped", cell=cell.index, reason=str(error))
                self._means.progress.note(f"cell {cell.index} is run, not reused: {error}")
        self.sources.keep(kept)

    def drop_unvouched(self) -> None:
        """Have every arm be run whose canaries do not vouch for the rows that it reuses, sweep by sweep."""
        pools = {(cell.arm, cell.source.sweep) for cell in self.plan.cells if self.reused(cell) and cell.source}
        for arm, source in sorted(pools):
            reason = None if arm in self.state.dropped_arms else self._doubt(arm, source)
            if reason is not None:
                self._drop_arm(arm, f"rows of {source}: {reason}")

    def _doubt(self, arm: str, source: str) -> str | None:
        """Return why the canaries of an arm do not vouch for what it reuses from a sweep."""
        mine = [cell for cell in self.plan.cells if cell.arm == arm and cell.source and cell.source.sweep == source]
        planned = {c.index for c in mine if c.action == "canary" and c.index not in self.state.dropped_cells}
        pairs = [(old, new) for cell, old, new in self.canaries() if cell.index in planned]
        if len(pairs) < len(planned):
            return "a canary could not be measured"
        rows = [self.sources.fetch(cell) for cell in mine if self.reused(cell)]
        return arm_drift(pairs, rows, self.plan.agent_of(arm), self.plan.drift_level)

    def _drop_arm(self, arm: str, reason: str) -> None:
        more = sum(cell.arm == arm and self.reused(cell) for cell in self.plan.cells)
        self.journal.append("reuse-dropped", arm=arm, reason=reason)
        self._means.progress.sweep_grew(more)
        text = f"drift of arm {arm}: {reason}: its reused rows are dropped and {more} more cells are paid for"
        self._means.progress.note(text)

    def reused(self, cell: PlannedCell) -> bool:
        """Whether a cell takes its row from another sweep."""
        return is_reused(cell, self.state)

    def to_pay(self) -> list[PlannedCell]:
        """Return the cells still to be paid for, in plan order."""
        return open_cells(self.plan, self.state)

    def voids(self, cell: PlannedCell) -> int:
        """Return how many attempts at a cell voided already, outages aside."""
        return self.state.void_counts[cell.index]

    def outage(self, reason: str) -> None:
        """Write down that the breaker stopped the sweep: what voided in an outage is no cell's own fault."""
        self.journal.append("outage", reason=reason)

    def lease(self, cell: PlannedCell) -> CellSpec:
        """Write down that an attempt at a cell begins, and the most that it can cost."""
        attempt, token = self.state.attempts.get(cell.index, 0) + 1, self.state.token + 1
        worst = self._means.worst_micros(cell)
        self.journal.append("leased", cell=cell.index, attempt=attempt, token=token, reserved_micros=worst)
        spec = CellSpec(cell=cell, attempt=attempt, token=token)
        self._means.progress.cell_started(spec)
        return spec

    def enter(self, spec: CellSpec, attempt: Attempt) -> None:
        """Write down what an attempt measured: what lies beside it first, then the row that names them."""
        row = attempt.row
        if row.reply_sha256:
            write_atomic(stored_reply(self.folder, row.reply_sha256), attempt.reply.encode("utf-8"))
        if row.transcript_sha256:
            write_atomic(stored_transcript(self.folder, row.transcript_sha256), attempt.transcript.encode("utf-8"))
        if row.recording_sha256:
            write_atomic(stored_recording(self.folder, row.recording_sha256), attempt.recording.encode("utf-8"))
        if attempt.patch:
            write_atomic(self.folder / patch_name(row), attempt.patch.encode("utf-8"))
        if attempt.checks:
            write_atomic(self.folder / checks_name(row), attempt.checks.encode("utf-8"))
        event = "voided" if row.void else "settled"
        self.journal.append(event, cell=spec.cell.index, attempt=spec.attempt, token=spec.token, row=row)
        self._means.progress.cell_ended(spec, row, _shown(self._details(row)))

    def _details(self, row: Row) -> Path:
        """Return the file that tells most of an attempt."""
        if row.transcript_sha256:
            return stored_transcript(self.folder, row.transcript_sha256)
        if row.reply_sha256:
            return stored_reply(self.folder, row.reply_sha256)
        return self.folder / JOURNAL_FILE

    def cancel(self, spec: CellSpec) -> None:
        """Write down that an attempt was given up, and the most that it can have cost."""
        cell, attempt, token = spec.cell.index, spec.attempt, spec.token
        self.journal.append("cancelled", cell=cell, attempt=attempt, token=token)
        self._means.progress.cell_cancelled(spec)
        self._spend("cancelled", self._means.worst_micros(spec.cell), cell, attempt, token)

    def lease_warm_up(self, cell: PlannedCell) -> int:
        """Write down that the throw-away session of an arm begins; returns its token."""
        token, worst = self.state.token + 1, self._means.worst_micros(cell, warm_up=True)
        self.journal.append("leased", arm=cell.arm, token=token, reserved_micros=worst)
        return token

    def enter_warm_up(self, token: int, end: SessionEnd) -> None:
        """Write down what the throw-away session of an arm cost; unknown cost is booked as what was reserved."""
        cost = end.usage.cost_usd_micros
        self._spend("warm-up", self.state.leases[token].reserved_micros if cost is None else cost, None, None, token)

    def _spend(self, why: str, micros: int | None, cell: int | None, attempt: int | None, token: int) -> None:
        self.journal.append("spent", cell=cell, attempt=attempt, token=token, cost_usd_micros=micros, reason=why)
        self._means.progress.spent(why, micros)

    def canaries(self) -> list[tuple[PlannedCell, Row, Row]]:
        """Return each settled canary as (cell, the row it vouches for, the row it measured)."""
        settled, dropped = self.state.settled, self.state.dropped_cells
        cells = [c for c in self.plan.cells if c.action == "canary" and c.index in settled and c.index not in dropped]
        return [(cell, self.sources.fetch(cell), settled[cell.index]) for cell in cells]

    def rows(self, folded: Collection[int] | None = None) -> list[Row]:
        """Return the rows known so far, in plan order; a void row stands where nothing settled.

        Args:
            folded: When given, only these cells count among those that were paid for.

        """
        voided = dict(self.state.voided)
        rows = []
        for cell in self.plan.cells:
            if self.reused(cell) and cell.index not in self.state.settled:
                rows.append(self.sources.fetch(cell))
            elif folded is not None and cell.index not in folded:
                continue
            elif cell.index in self.state.settled:
                rows.append(self.state.settled[cell.index])
            elif cell.index in voided:
                rows.append(voided[cell.index])
        return rows
