"""Feeding cells to an executor through a window, and folding what comes back strictly in plan order."""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from evolve.bench.breaker import Breaker
from evolve.bench.budget import Admission, Budget
from evolve.bench.cell import Attempt
from evolve.bench.executors.base import Delivered, Executor
from evolve.records.cell_spec import CellSpec
from evolve.records.kinds import KIND_FACTS
from evolve.records.plan import PlannedCell

WINDOW_FACTOR = 2
POLL_S = 0.5


class Books(Protocol):
    """Writes down what happens to cells, durably, before anything else follows from it."""

    def lease(self, cell: PlannedCell) -> CellSpec:
        """Write down that an attempt at a cell begins."""
        ...

    def enter(self, spec: CellSpec, attempt: Attempt) -> None:
        """Write down what an attempt measured, as soon as it has ended."""
        ...

    def cancel(self, spec: CellSpec) -> None:
        """Write down that an attempt was given up."""
        ...

    def voids(self, cell: PlannedCell) -> int:
        """Return how many attempts at a cell voided in earlier runs."""
        ...

    def outage(self, reason: str) -> None:
        """Write down that the breaker has stopped everything."""
        ...


@dataclass
class _Flight:
    """A cell that was begun: its attempts, how many of them the breaker has seen, and whether another follows."""

    cell: PlannedCell
    attempts: list[Attempt] = field(default_factory=list)
    folded: int = 0
    open: bool = True
    before: int = 0


@dataclass
class Scheduler:
    """Runs cells in order; every decision on the way is made on the fold, so that workers cannot change it.

    Args:
        executor: Where cells run.
        books: Where leases and results are written.
        breaker: Stops on an outage.
        budget: Stops when the rest cannot cover the next cell.
        max_attempts: Attempts at a cell that voids.
        worst_micros: The most that a cell can cost, or ``None``.
        folded: Told of each cell in plan order, with all of its attempts; true when no more cells are needed.
        grace_s: How long running cells may go on after a stop.
        tick: Called at least twice a second while cells run.

    """

    executor: Executor
    books: Books
    breaker: Breaker
    budget: Budget
    max_attempts: int
    worst_micros: Callable[[PlannedCell], int | None]
    folded: Callable[[PlannedCell, list[Attempt]], bool]
    grace_s: float = 10.0
    tick: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._arrived: queue.SimpleQueue[Delivered] = queue.SimpleQueue()
        self._flights: deque[_Flight] = deque()
        self._retries: deque[_Flight] = deque()
        self._running: dict[int, CellSpec] = {}
        self._announced: set[int] = set()
        self._enough = False

    def run(self, cells: Sequence[PlannedCell]) -> None:
        """Run cells until they are done, enough is known, or the breaker or the budget stops.

        Raises:
            KeyboardInterrupt: As it arrives; what runs was given a grace and is written down.
            BaseException: A fault of ours, as it was raised in a worker.

        """
        waiting = deque(cells)
        try:
            while True:
                self._feed(waiting)
                if not self._running:
                    return
                self._take()
                if self.breaker.reason is not None:
                    self._give_up()
                    self.books.outage(self.breaker.reason)
                    return
        except BaseException:
            self._give_up()
            raise

    def _feed(self, waiting: deque[PlannedCell]) -> None:
        """Keep every worker busy: what must be tried again first, then new cells as far as the window reaches."""
        while len(self._running) < self.executor.workers and not self._enough:
            if self._retries:
                self._submit(self._retries.popleft().cell)
            elif not waiting or len(self._flights) >= WINDOW_FACTOR * self.executor.workers:
                break
            elif self._admitted(waiting[0]):
                cell = waiting.popleft()
                flight = _Flight(cell, before=self.books.voids(cell))
                self._flights.append(flight)
                self._submit(flight.cell)
            else:
                break
        self._announce(waiting)

    def _announce(self, waiting: deque[PlannedCell]) -> None:
        """Tell the executor which cells come next, as far as the window reaches."""
        for cell in islice(waiting, self.executor.workers):
            if cell.index not in self._announced:
                self._announced.add(cell.index)
                self.executor.prepare(cell)

    def _admitted(self, cell: PlannedCell) -> bool:
        if self.budget.reason is not None:
            return False
        worst = self.worst_micros(cell)
        worst = None if worst is None else worst * self.max_attempts
        return self.budget.admit(cell.index, worst, self.budget.elapsed_s) is Admission.YES

    def _submit(self, cell: PlannedCell) -> None:
        spec = self.books.lease(cell)
        self._running[spec.token] = spec
        self.executor.submit(spec, self._arrived.put)

    def _take(self, timeout_s: float | None = None) -> bool:
        """Take one result, if one arrives in time; write it down, try again where that is due, and fold."""
        delivered = self._wait(timeout_s)
        if delivered is None:
            return False
        spec = self._running.pop(delivered.spec.token, None)
        if spec is None:
            return True
        if delivered.attempt is None:
            raise delivered.fault or RuntimeError("a cell ended without a result")
        self.books.enter(spec, delivered.attempt)
        flight = next(flight for flight in self._flights if flight.cell.index == spec.cell.index)
        flight.attempts.append(delivered.attempt)
        flight.open = self._again(flight)
        self._fold()
        if flight.open:
            self._retries.append(flight)
        return True

    def _wait(self, timeout_s: float | None) -> Delivered | None:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left = POLL_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return None
            try:
                return self._arrived.get(timeout=min(left, POLL_S))
            except queue.Empty:
                self.tick()

    def _again(self, flight: _Flight) -> bool:
        kind = flight.attempts[-1].row.kind
        retried = kind is not None and KIND_FACTS[kind].retried and not flight.attempts[-1].refused
        return retried and flight.before + len(flight.attempts) < self.max_attempts

    def _fold(self) -> None:
        while self._flights:
            flight = self._flights[0]
            for attempt in flight.attempts[flight.folded :]:
                self.breaker.fold(attempt.row, refused=attempt.refused)
            flight.folded = len(flight.attempts)
            if flight.open or self.breaker.reason is not None:
                return
            self._flights.popleft()
            worst = self.worst_micros(flight.cell)
            told = [attempt.row.usage.cost_usd_micros for attempt in flight.attempts]
            costs = [worst if cost is None else cost for cost in told]
            known = None if any(cost is None for cost in costs) else sum(cost or 0 for cost in costs)
            self.budget.settle(flight.cell.index, known)
            self._enough = self.folded(flight.cell, flight.attempts) or self._enough

    def _give_up(self) -> None:
        """Give what runs a grace, then write down that it was given up."""
        deadline = time.monotonic() + self.grace_s
        while self._running and (left := deadline - time.monotonic()) > 0:
            delivered = self._wait(left)
            if delivered is None:
                break
            spec = self._running.pop(delivered.spec.token, None)
            if spec is not None and delivered.attempt is not None:
                self.books.enter(spec, delivered.attempt)
        for spec in self._running.values():
            self.books.cancel(spec)
        self._running.clear()
