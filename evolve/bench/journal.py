"""The append-only event log of a sweep; all state is derived from it."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evolve.digest import sha256_bytes
from evolve.errors import EnvironmentFault, EvidenceFault, EvolveError
from evolve.files import fsync_folder
from evolve.hostile import open_file
from evolve.interrupts import held_back
from evolve.records.base import parse_json
from evolve.records.event import Event
from evolve.records.kinds import KIND_FACTS
from evolve.records.row import Row

JOURNAL_FILE = "journal.jsonl"
_UNSEALED = b'"checksum":null'


@dataclass(frozen=True)
class Lease:
    """A session that has begun and not ended: an attempt at a cell, or an arm's warm-up, which has no cell.

    ``reserved_micros`` is the most that it can cost, if anybody knows.
    """

    token: int
    cell: int | None
    attempt: int | None
    reserved_micros: int | None = None


@dataclass(frozen=True)
class Spent:
    """Money that no row accounts for: a lost or cancelled attempt, or a warm-up; micro-USD, ``None`` unknown."""

    why: str
    cost_usd_micros: int | None


@dataclass
class SweepState:
    """What a journal says: rows that are settled, attempts that were begun, what was spent, what was dropped."""

    events: int = 0
    settled: dict[int, Row] = field(default_factory=dict)
    voided: list[tuple[int, Row]] = field(default_factory=list)
    void_counts: Counter[int] = field(default_factory=Counter)
    failing: bool = False
    gave_up: bool = False
    attempts: dict[int, int] = field(default_factory=dict)
    leases: dict[int, Lease] = field(default_factory=dict)
    spent: list[Spent] = field(default_factory=list)
    booked_micros: int = 0
    cancelled: int = 0
    dropped_arms: set[str] = field(default_factory=set)
    dropped_cells: set[int] = field(default_factory=set)
    plan_sha256: str | None = None
    finished: bool = False
    stopped: str | None = None
    stopped_at: int | None = None
    token: int = 0

    @property
    def interrupted(self) -> bool:
        """Whether the last run ended with sessions under way: lost with their process, or given up."""
        return bool(self.leases) or self.gave_up

    def take(self, event: Event) -> None:
        """Fold one more event into the state.

        Raises:
            EvidenceFault: The event lacks what its kind needs.

        """
        self.events += 1
        self.finished, self.stopped, self.stopped_at = False, None, None
        self.gave_up = event.event == "cancelled" or (event.event == "spent" and event.reason == "cancelled")
        if event.event == "planned":
            self.plan_sha256 = event.plan_sha256
        elif event.event == "leased":
            self._take_lease(event)
        elif event.event == "spent":
            self.leases.pop(event.token or 0, None)
            self.spent.append(Spent(event.reason or "unknown", event.cost_usd_micros))
            self.booked_micros += event.cost_usd_micros or 0
        elif event.event == "cancelled":
            self.cancelled += 1
        elif event.event == "outage":
            self.void_counts.clear()
            self.failing = False
        elif event.event == "reuse-dropped":
            self._take_dropped(event)
        elif event.event in ("settled", "voided"):
            self._take_row(event)
        elif event.event == "finished":
            self.finished, self.stopped, self.stopped_at = True, event.reason, event.cell

    def _take_lease(self, event: Event) -> None:
        lease = Lease(event.token or 0, event.cell, event.attempt, event.reserved_micros)
        self.token = max(self.token, lease.token)
        self.leases[lease.token] = lease
        if lease.cell is not None:
            self.attempts[lease.cell] = lease.attempt or 1

    def _take_dropped(self, event: Event) -> None:
        if event.arm is not None:
            self.dropped_arms.add(event.arm)
        elif event.cell is not None:
            self.dropped_cells.add(event.cell)

    def _take_row(self, event: Event) -> None:
        if event.row is None or event.cell is None:
            raise EvidenceFault(f"journal event {event.seq}: {event.event} without a row", code="broken-journal")
        lease = self.leases.pop(event.token or 0, None)
        cost = event.row.usage.cost_usd_micros
        if cost is None and lease is not None:
            cost = lease.reserved_micros
        self.booked_micros += cost or 0
        if event.event == "voided":
            self.voided.append((event.cell, event.row))
            self.void_counts[event.cell] += 1
            self.failing = event.row.kind is not None and KIND_FACTS[event.row.kind].systemic
        else:
            self.settled.setdefault(event.cell, event.row)
            self.failing = False


def fold(events: Iterable[Event]) -> SweepState:
    """Derive the state of a sweep from its events, in order."""
    state = SweepState()
    for event in events:
        state.take(event)
    return state


def sealed_line(event: Event) -> bytes:
    """Return an event as a line of a journal: canonical JSON with a checksum over the line without one."""
    bare = event.model_copy(update={"checksum": None}).canonical()
    return bare.replace(_UNSEALED, f'"checksum":"{sha256_bytes(bare)}"'.encode(), 1)


class Journal:
    """The one writer of a sweep's journal; the caller holds the sweep's lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state = SweepState()
        self.repaired_bytes = 0
        for event, torn in _read(path):
            if event is not None:
                self.state.take(event)
            self.repaired_bytes = torn
        if self.repaired_bytes:
            with path.open("r+b") as file:
                file.truncate(path.stat().st_size - self.repaired_bytes)
                os.fsync(file.fileno())

    def append(self, event: str, **fields: Any) -> None:
        """Append an event, wait until it is on disk, and fold it into the state.

        Raises:
            EnvironmentFault: It cannot be written; nothing after it may be believed.

        """
        with held_back():
            self._append(Event(seq=self.state.events, at=datetime.now(UTC), event=event, **fields))

    def _append(self, record: Event) -> None:
        new = not self.path.exists()
        try:
            with self.path.open("ab", buffering=0) as file:
                start = file.tell()
                data = sealed_line(record) + b"\n"
                try:
                    if file.write(data) != len(data):
                        raise OSError(28, "No space left on device")
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(start)
                    raise
            if new:
                fsync_folder(self.path.parent)
        except OSError as error:
            raise EnvironmentFault(
                f"{self.path}: cannot be written: {error.strerror}",
                hint="free some space, then: evolve resume",
                code="journal-write",
            ) from error
        self.state.take(record)


def _read(path: Path) -> Iterator[tuple[Event | None, int]]:
    """Yield (event, 0) for each whole line, and (nothing, length) for a torn last one, which is not believed.

    Raises:
        EvidenceFault: A line that is not the last is damaged.

    """
    if not path.exists():
        return
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                yield None, len(line)
                return
            event = parse_event(line[:-1], f"{path}:{number}")
            if event.seq != number - 1:
                raise EvidenceFault(f"{path}:{number}: the sequence number is wrong", code="broken-journal")
            yield event, 0


def opened(path: Path) -> io.BufferedReader:
    """Open a journal to be read.

    Raises:
        EvidenceFault: It is there and cannot be read, or is no file.
        FileNotFoundError: It is not there.

    """
    try:
        return open_file(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise EvidenceFault(f"{path}: cannot be read: {error.strerror}", code="broken-journal") from error


def parse_event(line: bytes, where: str) -> Event:
    """Parse one line of a journal.

    Raises:
        EvidenceFault: It is damaged.

    """
    try:
        event = parse_json(Event, line, where)
    except EvolveError as error:
        raise EvidenceFault(f"{where}: damaged: {error}", code="broken-journal") from error
    bare = line.replace(f'"checksum":"{event.checksum}"'.encode(), _UNSEALED, 1)
    if bare == line or sha256_bytes(bare) != event.checksum:
        raise EvidenceFault(f"{where}: the checksum is wrong", code="broken-journal")
    return event


def read_events(path: Path) -> list[Event]:
    """Read a journal without repairing it.

    Raises:
        EvidenceFault: A line is damaged.

    """
    return list(stream_events(path))


def stream_events(path: Path) -> Iterator[Event]:
    """Yield the events of a journal one at a time, without repairing it.

    Raises:
        EvidenceFault: A line is damaged.

    """
    return (event for event, _ in _read(path) if event is not None)


def read_state(path: Path) -> SweepState:
    """Derive the state of a sweep from its journal, one event in memory at a time.

    Raises:
        EvidenceFault: A line is damaged.

    """
    return fold(stream_events(path))
