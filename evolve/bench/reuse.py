"""Finding rows that may stand in for cells of a new sweep."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from evolve.bench.journal import JOURNAL_FILE
from evolve.bench.measured import stream_rows
from evolve.digest import sha256_bytes
from evolve.errors import EvolveError
from evolve.records.base import lean
from evolve.records.kinds import Role
from evolve.records.plan import Source
from evolve.records.row import Row

REPLIES_FOLDER = "replies"
TRANSCRIPTS_FOLDER = "transcripts"
PATCHES_FOLDER = "patches"
CHECKS_FOLDER = "checks"
SOURCES_DIFFER = "two sources differ"


@dataclass(frozen=True, slots=True)
class Reusable:
    """Where a reusable row was measured, and a digest of what came out; the row itself is not kept in memory."""

    sweep: str
    row_sha256: str
    measured_at: datetime
    outcome: bytes

    @property
    def source(self) -> Source:
        """The row as a plan names it."""
        return lean(Source(sweep=self.sweep, row_sha256=self.row_sha256, measured_at=self.measured_at))


@dataclass
class ReuseIndex:
    """Reusable rows by cell key, and why other keys have none."""

    rows: dict[str, Reusable] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)

    def find(self, key: str) -> Reusable | str:
        """Return the reusable row of a key, or the reason why there is none."""
        return self.rows.get(key) or self.refusals.get(key, "never measured")


def outcome_of(row: Row, *, repeatable: bool = True) -> bytes:
    """Return a digest of what two sources of one row must agree on: the verdict, and every byte if it is repeatable."""
    outcome = (row.resolved, row.kind, *((row.reply_sha256, row.work_sha256) if repeatable else ()))
    return hashlib.blake2b(repr(outcome).encode(), digest_size=16).digest()


def patch_name(row: Row) -> str:
    """Return the name of the file that holds what an attempt at an edit changed; train cells alone have one."""
    return f"{PATCHES_FOLDER}/{row.key[:24]}-{row.attempt}.diff"


def checks_name(row: Row) -> str:
    """Return the name of the file that holds what the public checks said of an attempt; train cells alone have one."""
    return f"{CHECKS_FOLDER}/{row.key[:24]}-{row.attempt}.json"


def stored_reply(sweep: Path, digest: str) -> Path:
    """Return where a sweep keeps a reply."""
    return sweep / REPLIES_FOLDER / f"{digest}.md"


def stored_transcript(sweep: Path, digest: str) -> Path:
    """Return where a sweep keeps a transcript."""
    return sweep / TRANSCRIPTS_FOLDER / f"{digest}.jsonl"


def build_index(
    sweeps: Path, *, now: datetime, max_age_days: int, only: str | None = None, repeatable: bool = True
) -> ReuseIndex:
    """Index the rows of all sweeps below a folder, or of one.

    A row is reusable when it is valid, was not a candidate's, is younger than the limit counted from its
    first measurement, and its reply still has its digest. Two sources that claim one key and differ block it; how
    much must be equal depends on whether the agent is repeatable.
    """
    index = ReuseIndex()
    if not sweeps.is_dir():
        return index
    oldest = now - timedelta(days=max_age_days)
    for path in sorted(sweeps.glob(f"{only or '*'}/{JOURNAL_FILE}")):
        with contextlib.suppress(EvolveError, OSError):
            for digest, row in stream_rows(path.parent):
                _add(index, row, digest, path.parent, oldest, now, repeatable)
    return index


def _add(
    index: ReuseIndex, row: Row, digest: str, sweep: Path, oldest: datetime, now: datetime, repeatable: bool
) -> None:
    key = row.key
    if row.reused is not None or index.refusals.get(key) == SOURCES_DIFFER:
        return
    refusal = _refusal(row, sweep, oldest, now)
    if refusal:
        if key not in index.rows:
            index.refusals[key] = refusal
        return
    known, outcome = index.rows.get(key), outcome_of(row, repeatable=repeatable)
    if known is not None and known.outcome != outcome:
        del index.rows[key]
        index.refusals[key] = SOURCES_DIFFER
        return
    if known is None or row.measured_at < known.measured_at:
        index.rows[key] = Reusable(sys.intern(sweep.name), digest, row.measured_at, outcome)


def _refusal(row: Row, sweep: Path, oldest: datetime, now: datetime) -> str | None:
    if row.role in (Role.CANDIDATE, Role.CONTROL):
        return f"a {row.role.value}'s rows are never reused"
    if row.void:
        return f"the row was void ({row.kind})"
    if row.measured_at < oldest:
        return f"measured {row.measured_at:%Y-%m-%d}, too long ago"
    if row.measured_at > now:
        return "measured in the future"
    if row.reply_sha256 and not _holds(stored_reply(sweep, row.reply_sha256), row.reply_sha256):
        return "its reply is gone or was changed"
    return None


def _holds(path: Path, digest: str) -> bool:
    try:
        return sha256_bytes(path.read_bytes()) == digest
    except OSError:
        return False
