"""The rows that a sweep measured, as its journal vouches for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from evolve.bench.journal import JOURNAL_FILE, opened, parse_event, read_state
from evolve.digest import sha256_bytes, sha256_file
from evolve.hostile import open_file
from evolve.records.base import parse_json, read_jsonl
from evolve.records.event import Event
from evolve.records.row import Row

ROWS_FILE = "rows.jsonl"
TAIL_BYTES = 64 * 1024


def _last_event(path: Path) -> Event | None:
    with opened(path) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        lines = file.read().split(b"\n")
    if len(lines) < 2 or lines[-1]:
        return None
    return parse_event(lines[-2], str(path))


def stream_rows(sweep: Path) -> Iterator[tuple[str, Row]]:
    """Yield (digest, row) of every row that a sweep settled itself or reused, one at a time.

    ``rows.jsonl`` is read only where the journal's last event holds its digest, and its lines are canonical; else
    the rows come out of the journal, event by event.

    Raises:
        EvidenceFault: The journal is damaged.
        InputError: A row is invalid.

    """
    rows = _vouched_rows(sweep)
    if rows is None:
        yield from ((row.digest(), row) for row in _settled(sweep))
        return
    with open_file(rows) as file:
        for number, line in enumerate(file, start=1):
            bare = line.rstrip(b"\n")
            yield sha256_bytes(bare), parse_json(Row, bare, f"{rows}:{number}")


def _vouched_rows(sweep: Path) -> Path | None:
    """Return the file of rows of a sweep that came to its end, if its journal vouches for it."""
    journal, rows = sweep / JOURNAL_FILE, sweep / ROWS_FILE
    last = _last_event(journal) if journal.exists() else None
    whole = last is not None and last.cell is None  # a sweep that ended early has settled rows that did not count
    vouched = whole and last and last.rows_sha256 and rows.exists() and sha256_file(rows) == last.rows_sha256
    return rows if vouched else None


def _settled(sweep: Path) -> Iterable[Row]:
    return read_state(sweep / JOURNAL_FILE).settled.values()


def counted_rows(sweep: Path) -> list[Row]:
    """Return the rows that count in a sweep: ``rows.jsonl`` where the journal vouches for it, else what has settled.

    Raises:
        EvidenceFault: The journal is damaged.
        InputError: A row is invalid.

    """
    journal, rows = sweep / JOURNAL_FILE, sweep / ROWS_FILE
    last = _last_event(journal) if journal.exists() else None
    if last is not None and last.rows_sha256 and rows.exists() and sha256_file(rows) == last.rows_sha256:
        return list(read_jsonl(Row, rows))
    return measured_rows(sweep)


def measured_rows(sweep: Path) -> list[Row]:
    """Return the rows that a sweep settled itself or reused; raises as :func:`stream_rows` does."""
    rows = _vouched_rows(sweep)
    return list(_settled(sweep) if rows is None else read_jsonl(Row, rows))
