"""The rows that a sweep measured, as its journal vouches for them."""

from __future__ import annotations

import os
from pathlib import Path

from evolve.bench.journal import JOURNAL_FILE, fold, parse_event, read_events
from evolve.digest import sha256_file
from evolve.records.base import read_jsonl
from evolve.records.event import Event
from evolve.records.row import Row

ROWS_FILE = "rows.jsonl"
TAIL_BYTES = 64 * 1024


def _last_event(path: Path) -> Event | None:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        lines = file.read().split(b"\n")
    if len(lines) < 2 or lines[-1]:
        return None
    return parse_event(lines[-2], str(path))


def measured_rows(sweep: Path) -> list[Row]:
    """Return the rows that a sweep settled itself or reused.

    ``rows.jsonl`` is read only where the journal's last event holds its digest; else the rows come out of the
    journal, event by event.

    Raises:
        EvidenceFault: The journal is damaged.
        InputError: A row is invalid.

    """
    journal, rows = sweep / JOURNAL_FILE, sweep / ROWS_FILE
    if not journal.exists():
        return []
    last = _last_event(journal)
    if last is not None and last.rows_sha256 and rows.exists() and sha256_file(rows) == last.rows_sha256:
        return list(read_jsonl(Row, rows))
    return list(fold(read_events(journal)).settled.values())
