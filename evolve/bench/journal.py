"""The append-only event log of a sweep; all state is derived from it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evolve.errors import EnvironmentFault, EvidenceFault, EvolveError
from evolve.files import fsync_folder
from evolve.records.base import parse_json
from evolve.records.event import Event
from evolve.records.row import Row

JOURNAL_FILE = "journal.jsonl"


@dataclass
class SweepState:
    """What a journal says: rows that are settled, attempts that were begun, what was dropped."""

    settled: dict[int, Row] = field(default_factory=dict)
    voided: list[tuple[int, Row]] = field(default_factory=list)
    attempts: dict[int, int] = field(default_factory=dict)
    lost: int = 0
    cancelled: int = 0
    dropped_arms: set[str] = field(default_factory=set)
    dropped_cells: set[int] = field(default_factory=set)
    plan_sha256: str | None = None
    finished: bool = False
    stopped: str | None = None
    token: int = 0


def seal(event: Event) -> Event:
    """Return the event with the checksum over the rest of it."""
    bare = event.model_copy(update={"checksum": None})
    return bare.model_copy(update={"checksum": bare.digest()})


def fold(events: list[Event]) -> SweepState:
    """Derive the state of a sweep from its events, in order."""
    state = SweepState()
    open_leases: set[int] = set()
    for event in events:
        state.finished = event.event == "finished"
        state.stopped = event.reason if state.finished else None
        if event.event == "planned":
            state.plan_sha256 = event.plan_sha256
        elif event.event == "reuse-dropped" and event.arm is not None:
            state.dropped_arms.add(event.arm)
        elif event.event == "reuse-dropped" and event.cell is not None:
            state.dropped_cells.add(event.cell)
        elif event.cell is not None:
            _fold_cell(state, open_leases, event, event.cell)
    state.lost = len(open_leases)
    return state


def _fold_cell(state: SweepState, open_leases: set[int], event: Event, cell: int) -> None:
    if event.event == "leased":
        state.attempts[cell] = event.attempt or 1
        state.token = max(state.token, event.token or 0)
        open_leases.add(cell)
        return
    open_leases.discard(cell)
    if event.event == "cancelled":
        state.cancelled += 1
        return
    if event.row is None:
        raise EvidenceFault(f"journal event {event.seq}: {event.event} without a row", code="broken-journal")
    if event.event == "settled":
        state.settled.setdefault(cell, event.row)
    else:
        state.voided.append((cell, event.row))


class Journal:
    """The one writer of a sweep's journal; the caller holds the sweep's lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events, self.repaired_bytes = _read(path)
        if self.repaired_bytes:
            with path.open("r+b") as file:
                file.truncate(path.stat().st_size - self.repaired_bytes)
                os.fsync(file.fileno())

    def append(self, event: str, **fields: Any) -> Event:
        """Append an event and wait until it is on disk.

        Raises:
            EnvironmentFault: It cannot be written; nothing after it may be believed.

        """
        record = seal(Event(seq=len(self.events), at=datetime.now(UTC), event=event, **fields))
        new = not self.path.exists()
        try:
            with self.path.open("ab", buffering=0) as file:
                start = file.tell()
                data = record.canonical() + b"\n"
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
        self.events.append(record)
        return record

    @property
    def state(self) -> SweepState:
        """The state derived from all events."""
        return fold(self.events)


def _read(path: Path) -> tuple[list[Event], int]:
    """Read a journal; a torn last line is not believed and its length is returned.

    Raises:
        EvidenceFault: A line that is not the last is damaged.

    """
    if not path.exists():
        return [], 0
    data = path.read_bytes()
    body, _, torn = data.rpartition(b"\n")
    events = [_parse(line, path, number) for number, line in enumerate(body.split(b"\n"), start=1)] if body else []
    return events, len(torn)


def parse_event(line: bytes, where: str) -> Event:
    """Parse one line of a journal.

    Raises:
        EvidenceFault: It is damaged.

    """
    try:
        event = parse_json(Event, line, where)
    except EvolveError as error:
        raise EvidenceFault(f"{where}: damaged: {error}", code="broken-journal") from error
    if seal(event).checksum != event.checksum or event.canonical() != line:
        raise EvidenceFault(f"{where}: the checksum or the form is wrong", code="broken-journal")
    return event


def _parse(line: bytes, path: Path, number: int) -> Event:
    event = parse_event(line, f"{path}:{number}")
    if event.seq != number - 1:
        raise EvidenceFault(f"{path}:{number}: the sequence number is wrong", code="broken-journal")
    return event


def read_events(path: Path) -> list[Event]:
    """Read a journal without repairing it.

    Raises:
        EvidenceFault: A line is damaged.

    """
    return _read(path)[0]
