"""Following the journal of a sweep that somebody else writes: only what is new is read, and nothing is repaired."""

from __future__ import annotations

from pathlib import Path

from evolve.bench.journal import JOURNAL_FILE, SweepState, parse_event
from evolve.errors import EvidenceFault
from evolve.records.event import Event


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
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                lines = file.readlines()
        except FileNotFoundError:
            return []
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
