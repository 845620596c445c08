from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.bench.breaker import Breaker
from evolve.bench.budget import Admission, Budget, Limits
from evolve.bench.cell import Attempt
from evolve.bench.executors.base import Delivered
from evolve.bench.executors.threads import ThreadExecutor
from evolve.bench.scheduler import WINDOW_FACTOR, Scheduler
from evolve.records.cell_spec import CellSpec
from evolve.records.kinds import ErrorKind, Role, Split
from evolve.records.plan import PlannedCell
from evolve.records.row import Usage
from tests.builders import make_identity, make_row


def cell(index: int) -> PlannedCell:
    return PlannedCell(
        index=index,
        arm="incumbent",
        role=Role.INCUMBENT,
        split=Split.SEALED,
        identity=make_identity(f"t-{index}"),
        action="fresh",
        reason="never measured",
    )


CELLS = [cell(index) for index in range(24)]


@dataclass
class Script:
    """What each attempt at each cell gives: an error kind or none, and a cost."""

    kinds: dict[int, list[ErrorKind | None]] = field(default_factory=dict)
    costs: dict[int, int | None] = field(default_factory=dict)
    refused: frozenset[int] = frozenset()

    def attempt(self, spec: CellSpec) -> Attempt:
        index = spec.cell.index
        kinds = self.kinds.get(index, [None])
        kind = kinds[min(spec.attempt, len(kinds)) - 1]
        row = make_row(f"t-{index}", 0, resolved=kind is None)
        usage = Usage(cost_usd_micros=self.costs.get(index, 10))
        row = row.model_copy(update={"kind": kind, "resolved": kind is None, "usage": usage, "detail": "down"})
        return Attempt(row, "", refused=index in self.refused)


@dataclass
class NoteBook:
    """Books in memory."""

    leased: list[tuple[int, int]] = field(default_factory=list)
    entered: list[int] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    outages: list[str] = field(default_factory=list)
    voided: int = 0
    _attempts: dict[int, int] = field(default_factory=dict)

    def lease(self, cell: PlannedCell) -> CellSpec:
        attempt = self._attempts.get(cell.index, 0) + 1
        self._attempts[cell.index] = attempt
        self.leased.append((cell.index, attempt))
        return CellSpec(cell=cell, attempt=attempt, token=len(self.leased))

    def enter(self, spec: CellSpec, attempt: Attempt) -> None:
        self.entered.append(spec.cell.index)

    def cancel(self, spec: CellSpec) -> None:
        self.cancelled.append(spec.cell.index)

    def voids(self, cell: PlannedCell) -> int:
        return self.voided

    def outage(self, reason: str) -> None:
        self.outages.append(reason)


class ShuffledExecutor:
    """Ends cells in a random order, one at a time, so that folding must put them back."""

    def __init__(self, script: Script, workers: int, seed: int) -> None:
        self.workers = workers
        self._script, self._rng = script, random.Random(seed)
        self._held: list[tuple[CellSpec, Callable[[Delivered], None]]] = []

    def submit(self, spec: CellSpec, deliver: Callable[[Delivered], None]) -> None:
        self._held.append((spec, deliver))
        if len(self._held) >= self.workers or self._rng.random() < 0.3:
            self.release()
        else:
            threading.Timer(0.002, self.release).start()

    def release(self) -> None:
        held, self._held = self._held, []
        self._rng.shuffle(held)
        for spec, deliver in held:
            deliver(Delivered(spec, self._script.attempt(spec)))

    def prepare(self, cell: PlannedCell) -> None:
        return

    def close(self) -> None:
        return


@dataclass
class Outcome:
    folded: list[int]
    breaker: str | None
    budget: str | None
    booked: int
    books: NoteBook


def schedule(
    script: Script, workers: int, *, seed: int = 0, limits: Limits | None = None, stop_after: int | None = None
) -> Outcome:
    folded: list[int] = []

    def fold(cell: PlannedCell, attempts: list[Attempt]) -> bool:
        folded.append(cell.index)
        return cell.index == stop_after

    books = NoteBook()
    scheduler = Scheduler(
        executor=ShuffledExecutor(script, workers, seed),
        books=books,
        breaker=Breaker(5),
        budget=Budget(limits or Limits()),
        max_attempts=3,
        worst_micros=lambda _: 15,
        folded=fold,
        grace_s=1,
    )
    scheduler.run(CELLS)
    budget = scheduler.budget
    return Outcome(folded, scheduler.breaker.reason, budget.reason, budget.booked_micros, books)


kinds = st.lists(
    st.sampled_from(
        [None, None, None, ErrorKind.SESSION_ERROR, ErrorKind.VERIFY_FAILED, ErrorKind.EVIDENCE_UNVERIFIED]
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.integers(0, 23), kinds, max_size=12), st.integers(0, 1000))
def test_cells_are_folded_in_plan_order_whatever_the_workers_do(
    script: dict[int, list[ErrorKind | None]], seed: int
) -> None:
    alone, four, eight = (schedule(Script(script), workers, seed=seed) for workers in (1, 4, 8))
    assert alone.folded == sorted(alone.folded)
    assert alone.folded == four.folded == eight.folded
    assert alone.breaker == four.breaker == eight.breaker
    if alone.breaker is None:
        assert sorted(alone.books.leased) == sorted(four.books.leased) == sorted(eight.books.leased)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 15), min_size=24, max_size=24), st.integers(30, 300), st.integers(0, 1000))
def test_the_budget_ends_at_the_same_cell_for_every_number_of_workers(costs: list[int], usd: int, seed: int) -> None:
    script = Script(costs=dict(enumerate(costs)))
    runs = [schedule(script, workers, seed=seed, limits=Limits(usd_micros=usd)) for workers in (1, 3, 8)]
    assert runs[0].folded == runs[1].folded == runs[2].folded
    assert all(run.booked <= usd for run in runs)
    assert runs[0].budget == runs[1].budget == runs[2].budget


def test_every_cell_is_begun_once_when_nothing_fails() -> None:
    run = schedule(Script(), 4)
    assert run.folded == list(range(24))
    assert sorted(run.books.leased) == [(index, 1) for index in range(24)]


def test_no_more_than_the_window_is_ahead_of_the_fold() -> None:
    release = threading.Event()

    def run(spec: CellSpec) -> Attempt:
        if spec.cell.index == 0:
            release.wait(5)
        return Script().attempt(spec)

    books, ready = NoteBook(), list[PlannedCell]()
    executor = ThreadExecutor(run, 2, ready.append)
    scheduler = Scheduler(executor, books, Breaker(5), Budget(Limits()), 3, lambda _: 0, lambda *_: False)
    thread = threading.Thread(target=scheduler.run, args=(CELLS,))
    thread.start()
    time.sleep(0.3)
    assert len(books.leased) == WINDOW_FACTOR * 2
    assert [cell.index for cell in ready] == [2, 3, 4, 5]
    release.set()
    thread.join(5)
    assert len(books.leased) == 24
    executor.close()


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_a_streak_of_systemic_failures_stops_everything(workers: int) -> None:
    run = schedule(Script({index: [ErrorKind.SESSION_ERROR] for index in range(4, 24)}), workers)
    assert run.breaker == "5 attempts in a row failed with session-error: down"
    assert run.folded == [0, 1, 2, 3, 4]
    assert len(run.books.leased) <= 4 + 5 + 3 * WINDOW_FACTOR * workers


@pytest.mark.parametrize(("before", "attempts"), [(0, 3), (1, 2), (2, 1)])
def test_what_voided_in_earlier_runs_counts_towards_the_attempts(before: int, attempts: int) -> None:
    books = NoteBook(voided=before)
    executor = ShuffledExecutor(Script({0: [ErrorKind.SESSION_ERROR]}), 1, 0)
    scheduler = Scheduler(executor, books, Breaker(9), Budget(Limits()), 3, lambda _: 0, lambda *_: False)
    scheduler.run(CELLS[:1])
    assert len(books.leased) == attempts


def test_closing_waits_for_what_is_being_prepared() -> None:
    made: list[int] = []

    def prepare(cell: PlannedCell) -> None:
        time.sleep(0.2)
        made.append(cell.index)

    executor = ThreadExecutor(Script().attempt, 1, prepare)
    executor.prepare(CELLS[0])
    time.sleep(0.05)
    executor.close()
    assert made == [0]


def test_a_refused_account_stops_at_once() -> None:
    run = schedule(Script({2: [ErrorKind.SESSION_ERROR]}, refused=frozenset({2})), 1)
    assert run.breaker == "the provider refuses: down"
    assert run.books.leased == [(0, 1), (1, 1), (2, 1)]


def test_an_own_failure_of_the_arm_ends_a_streak() -> None:
    script: dict[int, list[ErrorKind | None]] = {index: [ErrorKind.INFRA_ERROR, None] for index in range(8)}
    assert schedule(Script(script), 2).breaker is None


def test_a_cancelled_attempt_says_nothing_either_way() -> None:
    breaker = Breaker(2)
    systemic = make_row(kind=ErrorKind.INFRA_ERROR)
    for row in (systemic, make_row(kind=ErrorKind.CANCELLED), systemic):
        breaker.fold(row, refused=False)
    assert breaker.reason is not None


def test_when_enough_is_known_no_cell_is_begun() -> None:
    run = schedule(Script(), 1, stop_after=6)
    assert run.folded == list(range(7))
    assert len(run.books.leased) == 7


@pytest.mark.parametrize(
    ("limits", "worst", "elapsed", "said"),
    [
        (Limits(usd_micros=100), None, 0, "worst cost of a cell is unknown"),
        (Limits(usd_micros=100), 101, 0, "0.0001 USD are left"),
        (Limits(cells=0), 0, 0, "as many as are allowed"),
        (Limits(wall_s=60), 0, 60, "60 s have passed of the 60 s allowed"),
    ],
)
def test_what_is_over_the_limit_is_refused_with_the_reason(
    limits: Limits, worst: int | None, elapsed: float, said: str
) -> None:
    budget = Budget(limits)
    assert budget.admit(0, worst, elapsed) is Admission.NO
    assert said in str(budget.reason)


def test_a_cell_of_unknown_cost_keeps_its_reservation() -> None:
    budget = Budget(Limits(usd_micros=100))
    assert budget.admit(0, 60, 0) is Admission.YES
    budget.settle(0, None)
    assert budget.booked_micros == 60
    assert budget.admit(1, 60, 0) is Admission.NO


def test_a_cell_waits_for_those_under_way_before_it_is_refused() -> None:
    budget = Budget(Limits(usd_micros=100))
    assert budget.admit(0, 60, 0) is Admission.YES
    assert budget.admit(1, 60, 0) is Admission.WAIT
    budget.settle(0, 10)
    assert budget.admit(1, 60, 0) is Admission.YES


def test_a_fault_in_a_worker_reaches_the_caller_and_what_runs_is_written_down() -> None:
    def run(spec: CellSpec) -> Attempt:
        if spec.cell.index == 3:
            raise KeyboardInterrupt
        if spec.cell.index > 3:
            time.sleep(5)
        return Script().attempt(spec)

    books = NoteBook()
    executor = ThreadExecutor(run, 3, lambda _: None)
    scheduler = Scheduler(executor, books, Breaker(5), Budget(Limits()), 3, lambda _: 0, lambda *_: False, grace_s=0.1)
    with pytest.raises(KeyboardInterrupt):
        scheduler.run(CELLS)
    begun = {index for index, _ in books.leased}
    assert begun == {*books.entered, *books.cancelled, 3}


def test_a_cell_spec_survives_being_written_and_read() -> None:
    spec = CellSpec(cell=cell(3), attempt=2, token=9)
    assert CellSpec.model_validate_json(spec.canonical(), strict=True) == spec


class HoldsTheFirst:
    """Delivers the first cell only after the second, so that the second is complete when the first one trips."""

    workers = 2

    def __init__(self, script: Script) -> None:
        self._script = script
        self._held: list[Callable[[], None]] = []

    def submit(self, spec: CellSpec, deliver: Callable[[Delivered], None]) -> None:
        def give() -> None:
            deliver(Delivered(spec, self._script.attempt(spec)))

        if spec.cell.index == 0 and spec.attempt == 1:
            self._held.append(give)
            return
        give()
        while self._held:
            self._held.pop()()

    def prepare(self, cell: PlannedCell) -> None:
        return

    def close(self) -> None:
        return


def test_nothing_behind_the_attempt_that_stopped_everything_is_folded() -> None:
    """A cell that is complete already must not be folded after the stop: one worker would never have run it."""
    folded: list[int] = []

    def fold(cell: PlannedCell, attempts: list[Attempt]) -> bool:
        folded.append(cell.index)
        return False

    script = Script({0: [ErrorKind.SESSION_ERROR]})
    scheduler = Scheduler(HoldsTheFirst(script), NoteBook(), Breaker(3), Budget(Limits()), 3, lambda _: 0, fold)
    scheduler.run(CELLS)
    assert scheduler.breaker.reason is not None
    assert folded == []
