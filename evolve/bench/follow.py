"""Following the journal of a sweep that somebody else writes: only what is new is read, and nothing is repaired."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from evolve.bench.journal import JOURNAL_FILE, SweepState, opened, parse_event
from evolve.digest import sha256_bytes
from evolve.errors import EvidenceFault
from evolve.hostile import open_file
from evolve.records.base import read_json
from evolve.records.event import Event
from evolve.records.plan import PLAN_FILE, Plan


class Follower:
    """Reads a journal as it grows.

    A torn last line is left for later: it is being written, or it will be taken off by whoever goes on.
    """

    def __init__(self, sweep: Path) -> None:
        self.state = SweepState()
        self.last: Event | None = None
        self._path = sweep / JOURNAL_FILE
        self._offset = 0

    def new_events(self) -> list[Event]:
        """Return the events since the last call, folded into the state.

        Raises:
            EvidenceFault: A line is damaged, or the journal is another than the one that was followed.

        """
        lines = self._new_lines()
        found = []
        for line in lines:
            if not line.endswith(b"\n"):
                break
            event = parse_event(line[:-1], f"{self._path}, byte {self._offset}")
            if event.seq != self.state.events:
                text = f"{self._path}, byte {self._offset}: the sequence number is wrong"
                raise EvidenceFault(text, code="broken-journal")
            self.state.take(event)
            self._offset += len(line)
            self.last = event
            found.append(event)
        return found

    def plan(self) -> Plan:
        """Read the plan of the sweep, as far as its journal was followed.

        Raises:
            EvidenceFault: It is another than the one that the journal began with.
            InputError: It is gone or invalid.

        """
        return _checked_plan(self._path.with_name(PLAN_FILE), self.state.plan_sha256)

    def _new_lines(self) -> list[bytes]:
        try:
            with opened(self._path) as file:
                if file.seek(0, os.SEEK_END) < self._offset:
                    text = f"{self._path}: shorter than it was: it is another than the one that was followed"
                    raise EvidenceFault(text, code="broken-journal")
                file.seek(self._offset)
                return file.readlines()
        except FileNotFoundError:
            if self._offset:
                raise EvidenceFault(f"{self._path}: gone while it was followed", code="broken-journal") from None
            return []


def plan_of(sweep: Path) -> Plan:
    """Read the plan of a sweep, which must be the one that its journal began with, where there is a journal.

    Raises:
        EvidenceFault: It is another, or the journal begins with a line that is damaged.
        InputError: It is gone or invalid.

    """
    journal, began_with = sweep / JOURNAL_FILE, None
    with contextlib.suppress(FileNotFoundError), opened(journal) as file:
        line = file.readline()
        if line.endswith(b"\n"):
            began_with = parse_event(line[:-1], f"{journal}:1").plan_sha256
    return _checked_plan(sweep / PLAN_FILE, began_with)


def _checked_plan(path: Path, began_with: str | None) -> Plan:
    plan = read_json(Plan, path)
    if began_with is not None and not _holds(path, began_with) and plan.digest() != began_with:
        raise EvidenceFault(f"{path}: not the plan that the journal began with", code="plan-changed")
    return plan


def _holds(path: Path, digest: str) -> bool:
    """Whether a file holds the plan of a digest as it was written, which is seen quicker than by the plan."""
    with contextlib.suppress(OSError), open_file(path) as file:
        return sha256_bytes(file.read().rstrip(b"\n")) == digest
    return False
