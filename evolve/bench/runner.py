"""Running a planned sweep: warm-ups and canaries first, then the rest in plan order, every step journalled."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from evolve.bench.books import LOCK_FILE, PLAN_FILE, Books, first_of_each_arm
from evolve.bench.breaker import Breaker
from evolve.bench.budget import Budget, Limits
from evolve.bench.cell import Attempt
from evolve.bench.executors.base import Executor, Prepare, Run
from evolve.bench.executors.threads import ThreadExecutor
from evolve.bench.journal import JOURNAL_FILE, Journal, Spent, read_state
from evolve.bench.means import Means, Workshop
from evolve.bench.measured import ROWS_FILE
from evolve.bench.progress import Progress
from evolve.bench.reuse import REPLIES_FOLDER
from evolve.bench.scheduler import Scheduler
from evolve.digest import sha256_bytes, sha256_file
from evolve.errors import BudgetExhausted, EnvironmentFault, EvidenceFault, EvolveError
from evolve.files import write_atomic, writer_lock
from evolve.records.base import jsonl_bytes, read_json, write_json
from evolve.records.kinds import KIND_FACTS, ErrorKind, Role
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row

STOPPED_EARLY = "no outcome of the remaining cells could change the decision"
MOST_CHECKS = 200


def resume_command(plan: Plan) -> str:
    """Return the command that goes on with a sweep, or with the generation that it belongs to."""
    return f"evolve resume {generation_of(plan) or plan.sweep}"


def generation_of(plan: Plan) -> str | None:
    """Return the generation that a sweep was begun for, if there is one."""
    generation = re.match(r"g\d{4,}(?=-|$)", plan.context)
    return generation[0] if generation else None


@dataclass(frozen=True)
class RunOptions:
    """How a sweep is run; none of it may change a decision.

    Args:
        workers: How many cells run at once.
        budget: What may be spent; shared by all sweeps of one command.
        enough: Says, from the rows so far, that no outcome of the rest could change the decision.
        grace_s: How long running cells may go on after a stop.
        executor: Makes the executor from what runs a cell, how many at once, and what prepares one.
        include_expensive: Whether expensive tasks are measured too.
        unsafe_host: Whether agents and graders run without containment; their rows say so, and are never promoted.

    """

    workers: int = 1
    budget: Budget = field(default_factory=lambda: Budget(Limits()))
    enough: Callable[[tuple[Row, ...]], bool] | None = None
    grace_s: float = 10.0
    executor: Callable[[Run, int, Prepare], Executor] = ThreadExecutor
    unsafe_host: bool = False
    include_expensive: bool = False


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
    surplus: tuple[Row, ...] = ()
    spent: tuple[Spent, ...] = ()


class _Frontier:
    """How far the plan is known without a gap, and whether that is enough; the same for every number of workers.

    A row that has arrived before its turn does not count, so that the sweep ends at the same cell however many ran at
    once, and however often it was interrupted.
    """

    def __init__(self, books: Books, enough: Callable[[tuple[Row, ...]], bool] | None) -> None:
        self._books = books
        self._enough = enough
        self._pending = {cell.index for cell in books.to_pay()}
        self._last_paid = max((cell.index for cell in books.plan.cells if not books.reused(cell)), default=-1)
        self._position = 0
        self._stride = max(1, len(books.plan.cells) // MOST_CHECKS)
        self.stopped_at: int | None = None

    def advance(self, folded: PlannedCell | None = None) -> bool:
        """Take the cell that was folded; true when no more cells are needed."""
        if folded is not None:
            self._pending.discard(folded.index)
        cells = self._books.plan.cells
        while self._enough and self._position < len(cells) and cells[self._position].index not in self._pending:
            self._position += 1
            last = cells[self._position - 1].index
            due = self._position % self._stride == 0 and last < self._last_paid and self.stopped_at is None
            if due and self._enough(tuple(self._books.rows(known_at(self._books.plan, last)))):
                self.stopped_at = last
        return self.stopped_at is not None


def known_at(plan: Plan, last: int | None) -> set[int] | None:
    """Return the cells that count when a sweep ended early behind a cell; all of them (``None``) when it did not."""
    if last is None:
        return None
    return {cell.index for cell in plan.cells if cell.index <= last or cell.action == "canary"}


@dataclass
class _Sweep:
    """A sweep whose lock is held, as it is run."""

    books: Books
    means: Means
    options: RunOptions

    def run(self) -> int | None:
        """Run every open cell; returns the cell behind which the rest was not needed, if it was not.

        Raises:
            EnvironmentFault: The breaker stopped the sweep.
            BudgetExhausted: The rest of the budget cannot cover the next cell.

        """
        books = self.books
        canaries = [cell for cell in books.to_pay() if cell.action == "canary"]
        if not canaries:
            books.drop_unvouched()
            frontier = _Frontier(books, self.options.enough)
            if frontier.advance():
                return frontier.stopped_at
        workshop = Workshop(self.means)
        executor = self.options.executor(workshop.run, self.options.workers, workshop.prepare)
        try:
            if books.plan.cache == "warm" and self._may_begin():
                self._warm_up(workshop)
            first = self._scheduler(executor, lambda *_: False)
            first.run(canaries)
            self._raise_if_stopped(first.breaker)
            books.drop_unvouched()
            frontier = _Frontier(books, self.options.enough)
            if not frontier.advance():
                rest = self._scheduler(executor, lambda cell, _: frontier.advance(cell))
                rest.breaker.streak, rest.breaker.by_arm = first.breaker.streak, first.breaker.by_arm
                rest.run(books.to_pay())
                if frontier.stopped_at is None:
                    self._raise_if_stopped(rest.breaker)
            return frontier.stopped_at
        finally:
            executor.close()
            workshop.close()

    def _may_begin(self) -> bool:
        """Whether the budget lets the next cell begin, so that a warm-up is not paid for nothing."""
        cells = self.books.to_pay()
        cells.sort(key=lambda cell: cell.action != "canary")
        if not cells:
            return False
        worst = self.means.worst_micros(cells[0])
        warm = [self.means.worst_micros(cell, warm_up=True) for cell in first_of_each_arm(cells)]
        costs = [None if worst is None else worst * self.books.plan.max_attempts, *warm]
        return self.options.budget.would_admit(None if None in costs else sum(cost or 0 for cost in costs))

    def _scheduler(self, executor: Executor, folded: Callable[[PlannedCell, list[Attempt]], bool]) -> Scheduler:
        return Scheduler(
            executor=executor,
            books=self.books,
            breaker=Breaker(
                self.books.plan.outage_streak,
                comparators_count=all(arm.role is Role.COMPARATOR for arm in self.books.plan.arms),
            ),
            budget=self.options.budget,
            max_attempts=self.books.plan.max_attempts,
            worst_micros=self.means.worst_micros,
            folded=folded,
            grace_s=self.options.grace_s,
            tick=self.means.progress.tick,
        )

    def _warm_up(self, workshop: Workshop) -> None:
        """Run one throw-away session for each arm that is paid for, one after the other."""
        for cell in first_of_each_arm(self.books.to_pay()):
            token = self.books.lease_warm_up(cell)
            end = workshop.warm_up(cell)
            self.books.enter_warm_up(token, end)
            self.options.budget.book(self.books.state.spent[-1].cost_usd_micros)
            if end.kind is ErrorKind.CONTAMINATED and self._is_of_the_pair(cell):
                raise self._outage(f"the warm-up of arm {cell.arm} is contaminated: {end.detail}")
            if end.refused and self._is_of_the_pair(cell):
                raise self._outage(f"the provider refuses: {end.detail}")
            if end.kind is not None and KIND_FACTS[end.kind].systemic:
                self.means.progress.note(f"the warm-up of arm {cell.arm} failed ({end.kind}: {end.detail}); going on")

    def _is_of_the_pair(self, cell: PlannedCell) -> bool:
        return cell.role is not Role.COMPARATOR or all(arm.role is Role.COMPARATOR for arm in self.books.plan.arms)

    def _outage(self, reason: str) -> EnvironmentFault:
        return EnvironmentFault(reason, hint=f"mend the cause, then: {resume_command(self.books.plan)}", code="outage")

    def _raise_if_stopped(self, breaker: Breaker) -> None:
        if breaker.reason is not None:
            raise self._outage(breaker.reason)
        if self.options.budget.reason is not None:
            hint = f"{resume_command(self.books.plan)}, with a larger --max option; what was spent so far counts"
            raise BudgetExhausted(f"the budget is exhausted: {self.options.budget.reason}", hint=hint)


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
    with writer_lock(folder / LOCK_FILE, f"sweep {folder.name}"):
        if not (folder / PLAN_FILE).exists():
            _refuse_another_plan(folder, plan)
            write_json(folder / PLAN_FILE, plan)
        elif sha256_file(folder / PLAN_FILE) != sha256_bytes(plan.canonical() + b"\n"):
            plan = read_json(Plan, folder / PLAN_FILE)
        (folder / REPLIES_FOLDER).mkdir(exist_ok=True)
        books = Books(folder, plan, means)
        begun = books.state.attempts.keys() - {cell.index for cell in books.to_pay()}
        options.budget.carry(books.state.booked_micros, len(begun))
        stopped_at = books.state.stopped_at
        if not books.state.finished:
            books.close_lost_leases()
            books.copy_sources()
            stopped_at = _run_telling(_Sweep(books, means, options), means.progress)
        return _finish(books, stopped_at)


def _refuse_another_plan(folder: Path, plan: Plan) -> None:
    begun = read_state(folder / JOURNAL_FILE).plan_sha256
    if begun is not None and begun != plan.digest():
        raise EvidenceFault(
            f"{folder}: the plan that this sweep was begun with is gone, and cannot be made again",
            hint=f"bring {PLAN_FILE} back, or move the folder away to measure afresh",
            code="plan-gone",
        )


def begin_sweep(folder: Path, plan: Plan) -> bool:
    """Write down that a sweep begins, before anything is spent; false when it had begun already.

    Raises:
        BusyError: Another process runs it.

    """
    with writer_lock(folder / LOCK_FILE, f"sweep {folder.name}"):
        journal = Journal(folder / JOURNAL_FILE)
        if journal.state.plan_sha256 is not None:
            return False
        write_json(folder / PLAN_FILE, plan)
        journal.append("planned", plan_sha256=plan.digest())
        return True


def _finish(books: Books, stopped_at: int | None) -> SweepResult:
    folder, state = books.folder, books.state
    rows = tuple(books.rows(known_at(books.plan, stopped_at)))
    data = jsonl_bytes(rows)
    write_atomic(folder / ROWS_FILE, data)
    stopped = None if stopped_at is None else STOPPED_EARLY
    if not state.finished:
        books.journal.append("finished", reason=stopped, cell=stopped_at, rows_sha256=sha256_bytes(data))
    counted = {id(row) for row in rows}
    return SweepResult(
        folder=folder,
        plan=books.plan,
        rows=rows,
        voided=tuple(row for _, row in state.voided),
        canaries=tuple(books.canaries()),
        dropped_arms=tuple(sorted(state.dropped_arms)),
        stopped=stopped,
        surplus=tuple(row for row in state.settled.values() if id(row) not in counted),
        spent=tuple(state.spent),
    )


def _run_telling(sweep: _Sweep, progress: Progress) -> int | None:
    books = sweep.books
    reused = sum(books.reused(cell) for cell in books.plan.cells)
    progress.sweep_started(books.plan, len(books.to_pay()), reused, sweep.options.workers)
    try:
        return sweep.run()
    except BaseException:
        # The rows are derived from the journal; the first fault is the one to tell.
        with contextlib.suppress(EvolveError, OSError):
            write_atomic(books.folder / ROWS_FILE, jsonl_bytes(books.rows()))
        raise
    finally:
        progress.sweep_ended()
