"""A sweep as a page: how far it has come, each of its arms, and every cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evolve.bench.books import LOCK_FILE, is_reused
from evolve.bench.follow import Follower
from evolve.bench.measured import counted_rows
from evolve.bench.status import SweepStatus, status_of
from evolve.files import holder_of
from evolve.records.event import Event
from evolve.records.kinds import Role
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row
from evolve.report.markdown import money
from evolve.report.page.rests import Fact
from evolve.report.page.visible import shown
from evolve.view.linked import Cell, LinkedTable, cells, count

CELLS = "cells"
HEADER = ("cell", "task", "run", "arm", "outcome", "cost, USD", "session, s", "turns", "void attempts")
SORTS = ("number", "text", "number", "text", "text", "number", "number", "number", "number")
RESOLVED, FAILED, VOID = "resolved", "failed", "void"
CUT_OFF = "cut off"


@dataclass
class SweepBook:
    """Everything that is known of a sweep.

    Args:
        folder: Its folder.
        plan: Its plan.
        follower: What its journal says.
        reused: The rows that it reuses, by cell.
        touched: How many events there were before the last that was about a cell, by cell.
        told: What who follows it was told last: how many events there were and whether it ran, its stage, and parts
            of its page.

    """

    folder: Path
    plan: Plan
    follower: Follower
    reused: dict[int, Row]
    touched: dict[int, int] = field(default_factory=dict)
    told: tuple[tuple[int, bool], str, dict[str, str]] | None = None

    @classmethod
    def open(cls, folder: Path) -> SweepBook:
        """Read a sweep.

        Raises:
            EvidenceFault: Its journal is damaged, or began with another plan.
            InputError: Its plan or a row is invalid.

        """
        follower = Follower(folder)
        events = follower.new_events()
        plan = follower.plan()
        book = cls(folder, plan, follower, {})
        book._touch(events)
        if any(cell.action == "reuse" for cell in plan.cells):
            rows = {(row.identity.task, row.identity.run, row.arm): row for row in counted_rows(folder)}
            for cell in plan.cells:
                row = rows.get((cell.identity.task, cell.identity.run, cell.arm))
                if row is not None and is_reused(cell, follower.state):
                    book.reused[cell.index] = row
        return book

    def refresh(self) -> None:
        """Read what has happened since.

        Raises:
            EvidenceFault: The journal is damaged.

        """
        self._touch(self.follower.new_events())
        self.reused = {
            index: row for index, row in self.reused.items() if is_reused(self._cells[index], self.follower.state)
        }
        for derived in ("_indices", "voids"):
            self.__dict__.pop(derived, None)

    def _touch(self, events: Iterable[Event]) -> None:
        for event in events:
            touched: Iterable[int] = () if event.cell is None else (event.cell,)
            if event.event == "reuse-dropped" and event.arm is not None:
                touched = (cell.index for cell in self.plan.cells if cell.arm == event.arm)
            elif event.event == "outage":  # what voided in it waits again
                touched = (index for index, _ in self.follower.state.voided)
            self.touched.update(dict.fromkeys(touched, event.seq))

    @property
    def events(self) -> int:
        """How many events its journal has."""
        return self.follower.state.events

    @property
    def runs(self) -> bool:
        """Whether somebody runs it."""
        return holder_of(self.folder / LOCK_FILE) is not None

    @property
    def leased(self) -> set[int]:
        """The cells with a session that has begun and not ended."""
        return {lease.cell for lease in self.follower.state.leases.values() if lease.cell is not None}

    def since(self, events: int) -> list[PlannedCell]:
        """Return the cells to which something happened since there were so many events."""
        return [self._cells[index] for index, seq in sorted(self.touched.items()) if seq >= events]

    @property
    def status(self) -> SweepStatus:
        """Where it stands."""
        return status_of(self.folder, self.plan, self.follower)

    def row(self, cell: PlannedCell) -> Row | None:
        """Return the row of a cell, if it has one that counts."""
        return self.follower.state.settled.get(cell.index) or self.reused.get(cell.index)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Every row that counts, in plan order."""
        return tuple(row for cell in self.plan.cells if (row := self.row(cell)) is not None)

    @cached_property
    def voids(self) -> dict[int, list[Row]]:
        """Return the attempts that said nothing, by cell."""
        found: dict[int, list[Row]] = {}
        for index, row in self.follower.state.voided:
            found.setdefault(index, []).append(row)
        return found

    def attempt(self, index: int, attempt: int | None) -> Row | None:
        """Return the row of a cell, or of one of its attempts that said nothing."""
        cell = self._cells.get(index)
        if cell is None or attempt is None:
            return None if cell is None else self.row(cell)
        return next((row for row in self.voids.get(index, []) if row.attempt == attempt), None)

    def index_of(self, row: Row) -> int | None:
        """Return the cell that a row belongs to, if it is one of this sweep that has a row."""
        identity = row.identity
        return self._indices.get((identity.task, identity.run, row.arm))

    @cached_property
    def _cells(self) -> dict[int, PlannedCell]:
        return {cell.index: cell for cell in self.plan.cells}

    @cached_property
    def _indices(self) -> dict[tuple[str, int, str], int]:
        cells = (cell for cell in self.plan.cells if self.row(cell) is not None)
        return {(cell.identity.task, cell.identity.run, cell.arm): cell.index for cell in cells}

    @property
    def compares(self) -> bool:
        """Whether some arm stands beside an incumbent."""
        return len(self.plan.arms) > 1 and any(arm.role is Role.INCUMBENT for arm in self.plan.arms)


def sweep_facts(status: SweepStatus) -> tuple[Fact, ...]:
    """Return how far a sweep has come, one fact each."""
    stage = f"running, process {status.pid}" if status.pid is not None else status.stage
    ended = [] if status.why is None else [Fact("it stopped because", shown(status.why))]
    if status.stage == "interrupted":
        ended.append(Fact("it goes on with", f"evolve resume {shown(status.sweep, 200)}"))
    return (
        Fact("it is", stage),
        *ended,
        Fact("cells done", f"{status.done:,} of {status.cells:,}"),
        Fact("resolved of those that were paid for", f"{status.resolved:,} of {status.settled:,}"),
        Fact("reused", count(status.reused, "cell")),
        Fact("void attempts", f"{status.void:,}"),
        Fact("under way" if status.pid is not None else CUT_OFF, count(status.under_way, "session")),
        Fact("spent, at the most", money(status.spent_micros)),
        Fact("planned", f"{status.began:%Y-%m-%d %H:%M:%S} UTC"),
        Fact("last event", f"{status.last:%Y-%m-%d %H:%M:%S} UTC"),
        Fact("it measures", f"{status.purpose}, for {shown(status.context, 200)}"),
    )


def cells_table(book: SweepBook, *, opens: bool) -> LinkedTable:
    """Return every planned cell with what became of it."""
    rows = tuple(cell_rows(book, book.plan.cells, opens=opens))
    caption = (
        f"{count(len(rows), 'cell')} in the order in which they were planned; a figure that nobody reported is empty."
    )
    return LinkedTable(CELLS, caption, HEADER, rows, SORTS, names_rows=True)


def cell_rows(book: SweepBook, planned: Iterable[PlannedCell], *, opens: bool) -> Iterator[tuple[Cell, ...]]:
    """Yield what became of each cell."""
    under_way = dict.fromkeys(book.leased, "under way" if book.runs else CUT_OFF)
    for cell in planned:
        yield _cell_row(book, cell, under_way.get(cell.index, ""), opens=opens)


def _cell_row(book: SweepBook, cell: PlannedCell, under_way: str, *, opens: bool) -> tuple[Cell, ...]:
    row, voids = book.row(cell), book.voids.get(cell.index, [])
    text, kind = _standing(book, cell, row, under_way)
    usage = row.usage if row is not None else None
    cost, took, turns = (None, None, None) if usage is None else (usage.cost_usd_micros, usage.session_ms, usage.turns)
    href = f"cell/{cell.index}.html" if opens and row is not None else ""
    void = Cell(str(len(voids)), f"cell/{cell.index}-{voids[-1].attempt}.html" if opens else "") if voids else Cell("0")
    return (
        Cell(str(cell.index), href),
        *cells(shown(cell.identity.task, 200), cell.identity.run, shown(cell.arm, 100)),
        Cell(text, "", kind),
        *cells(
            "" if cost is None else f"{cost / 1_000_000:.4f}",
            "" if took is None else f"{took / 1000:.1f}",
            "" if turns is None else turns,
        ),
        void,
    )


def _standing(book: SweepBook, cell: PlannedCell, row: Row | None, under_way: str) -> tuple[str, str]:
    if row is not None:
        reused = ", reused" if row.reused is not None else ""
        return (f"resolved{reused}", RESOLVED) if row.resolved else (f"{row.kind}{reused}", FAILED)
    if under_way:
        return under_way, ""
    return ("void", VOID) if book.follower.state.void_counts[cell.index] else ("waits", "")


def arms_of(book: SweepBook) -> LinkedTable:
    """Return each arm with what it has come to."""
    rows = tuple(_arm(book, name, role) for name, role in ((arm.name, arm.role) for arm in book.plan.arms))
    caption = "Each arm: cells with a row, those that were resolved, and what its rows cost."
    return LinkedTable("arms", caption, ("arm", "role", "cells", "resolved", "cost"), rows)


def _arm(book: SweepBook, name: str, role: Role) -> tuple[Cell, ...]:
    rows = [row for row in book.rows if row.arm == name]
    planned = sum(cell.arm == name for cell in book.plan.cells)
    costs = [row.usage.cost_usd_micros for row in rows if row.reused is None]
    known = [cost for cost in costs if cost is not None]
    cost = money(sum(known)) if len(known) == len(costs) else f"at least {money(sum(known))}"
    return cells(
        shown(name, 100), role, f"{len(rows):,} of {planned:,}", f"{sum(row.resolved for row in rows):,}", cost
    )


def voided_pages(book: SweepBook) -> Iterator[tuple[int, int]]:
    """Yield (cell, attempt) of every attempt that said nothing."""
    yield from ((index, row.attempt) for index, rows in book.voids.items() for row in rows)
