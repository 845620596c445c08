"""How far a sweep has come, from its plan and its journal alone; whoever runs it is not disturbed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from evolve.bench.books import LOCK_FILE, is_reused
from evolve.bench.follow import Follower
from evolve.bench.journal import SweepState
from evolve.files import holder_of
from evolve.records.plan import Plan

Stage = Literal["running", "interrupted", "finished", "stopped"]


@dataclass(frozen=True)
class SweepStatus:
    """Where a sweep stands.

    Args:
        sweep: The name of its folder, by which every command knows it.
        purpose: What it measures.
        context: What it belongs to.
        stage: Whether it is over, and how; ``interrupted`` ones can be resumed.
        pid: The process that runs it.
        cells: Cells planned.
        settled: Cells that were paid for and have a row.
        reused: Cells whose row is taken from another sweep.
        resolved: Settled cells that were resolved.
        void: Attempts that said nothing.
        under_way: Sessions that have begun and not ended.
        spent_micros: What was spent at the most, in micro-USD.
        began: When it was planned.
        last: When something happened last.
        why: Why it stopped early.

    """

    sweep: str
    purpose: str
    context: str
    stage: Stage
    pid: int | None
    cells: int
    settled: int
    reused: int
    resolved: int
    void: int
    under_way: int
    spent_micros: int
    began: datetime
    last: datetime
    why: str | None = None

    @property
    def done(self) -> int:
        """Cells that need nothing more."""
        return self.settled + self.reused


def sweep_status(folder: Path) -> SweepStatus:
    """Return where a sweep stands.

    Raises:
        InputError: Its plan is gone or invalid.
        EvidenceFault: Its journal is damaged, or began with another plan.

    """
    follower = Follower(folder)
    follower.new_events()
    return status_of(folder, follower.plan(), follower)


def status_of(folder: Path, plan: Plan, follower: Follower) -> SweepStatus:
    """Return where a sweep stands, as far as its journal was followed."""
    state, pid = follower.state, holder_of(folder / LOCK_FILE)
    reused = sum(is_reused(cell, state) for cell in plan.cells)
    return SweepStatus(
        sweep=folder.name,
        purpose=plan.purpose,
        context=plan.context,
        stage=_stage(state, pid),
        pid=pid,
        cells=len(plan.cells),
        settled=len(state.settled),
        reused=reused,
        resolved=sum(row.resolved for row in state.settled.values()),
        void=len(state.voided),
        under_way=len(state.leases),
        spent_micros=state.booked_micros,
        began=plan.created_at,
        last=plan.created_at if follower.last is None else follower.last.at,
        why=state.stopped,
    )


def _stage(state: SweepState, pid: int | None) -> Stage:
    if pid is not None:
        return "running"
    if not state.finished:
        return "interrupted"
    return "stopped" if state.stopped is not None else "finished"
