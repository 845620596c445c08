"""Auditing when rows were measured, and what was reused: first time, identity, content, canaries and drift."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from evolve.errors import EvolveError
from evolve.promote.checks import CLOCK_SLACK
from evolve.promote.evidence import PROMOTION_FILE, ROWS_FILE
from evolve.promote.findings import Finding, compare, fault, judge
from evolve.promote.places import plain_bytes
from evolve.promote.vouched import unvouched_arms
from evolve.records.base import parse_json, read_jsonl
from evolve.records.kinds import Role
from evolve.records.ledger import LedgerEntry
from evolve.records.promotion import Promotion
from evolve.records.row import Row


class Measured:
    """Which rows the evidence folders of a workspace measured, by sweep and digest; rows are read when asked for."""

    def __init__(self, promotion_root: Path) -> None:
        self._folders: dict[str, Path] = {}
        self._digests: dict[str, frozenset[str]] = {}
        self._rows: dict[str, Mapping[str, Row]] = {}
        for path in sorted(promotion_root.glob(f"*/*/{PROMOTION_FILE}")):
            with contextlib.suppress(EvolveError, OSError):
                promotion = parse_json(Promotion, plain_bytes(path), str(path))
                self._folders[promotion.sweep] = path.parent
                self._digests[promotion.sweep] = frozenset((*promotion.row_sha256, *promotion.surplus_sha256))

    def digests(self, sweep: str) -> frozenset[str] | None:
        """Return the digests of the rows that a sweep measured; ``None`` where no evidence of it is here."""
        return self._digests.get(sweep)

    def row(self, sweep: str, digest: str) -> Row | None:
        """Return a row as a sweep measured it; ``None`` where it is not at hand."""
        if sweep not in self._rows:
            found: dict[str, Row] = {}
            with contextlib.suppress(EvolveError, OSError, KeyError):
                found = {row.digest(): row for row in read_jsonl(Row, self._folders[sweep] / ROWS_FILE)}
            self._rows[sweep] = found
        return self._rows[sweep].get(digest)


def reuse_findings(file: str, promotion: Promotion, rows: list[Row], measured: Measured) -> Iterator[Finding]:
    """Check what was reused, and what vouches for it."""
    reused = [row for row in rows if row.reused is not None]
    yield compare(file, "reused rows", len(reused), promotion.reuse.reused_rows)
    yield compare(file, "reused candidate rows", 0, sum(row.role is Role.CANDIDATE for row in reused))
    by_cell = {(row.arm, row.identity.task, row.identity.run): row for row in rows}
    for canary in promotion.reuse.canaries:
        row = by_cell.get((canary.arm, canary.task, canary.run))
        found = None if row is None or row.reused is not None else row.resolved
        yield compare(file, f"canary {canary.task} run {canary.run}", canary.canary_resolved, found)
    for row in reused:
        yield from _source_findings(file, row, measured)
    unvouched = unvouched_arms(promotion, rows)
    for arm in sorted({row.arm for row in reused}):
        drifted = unvouched.get(arm, "")
        yield judge(file, f"reuse of arm {arm}", arm not in unvouched, "canaries that vouch for it", drifted)


def _source_findings(file: str, row: Row, measured: Measured) -> Iterator[Finding]:
    """Check a reused row against the evidence that measured it, where that is at hand."""
    if row.reused is None or (known := measured.digests(row.reused.sweep)) is None:
        return
    what = f"reused row of {row.identity.task} run {row.identity.run}"
    if row.reused.row_sha256 not in known:
        found = f"{row.reused.row_sha256}, which it did not measure"
        yield fault(file, what, f"a row that {row.reused.sweep} measured", found)
        return
    source = measured.row(row.reused.sweep, row.reused.row_sha256)
    if source is not None:
        own = row.model_copy(update={"arm": source.arm, "role": source.role, "reused": None})
        yield compare(file, f"{what}, as {row.reused.sweep} measured it", source.json_value(), own.json_value())


def time_findings(file: str, promotion: Promotion, rows: list[Row], look: LedgerEntry) -> Iterator[Finding]:
    """Check that fresh rows were measured between look and decision, and reused ones before, and not too long before.

    A look is entered in the ledger before its first cell, so that no row can be chosen with its outcome known.
    """
    oldest = look.at - timedelta(days=promotion.policy.reuse_max_age_days)
    until = promotion.generated_at
    yield _within(file, "times of fresh rows", [row for row in rows if row.reused is None], look.at, until)
    yield _within(file, "times of reused rows", [row for row in rows if row.reused is not None], oldest, look.at)


def _within(file: str, check: str, rows: list[Row], start: datetime, end: datetime) -> Finding:
    outside = [row for row in rows if not start - CLOCK_SLACK <= row.measured_at <= end + CLOCK_SLACK]
    cells = (f"{row.arm} {row.identity.task} run {row.identity.run} at {_said(row.measured_at)}" for row in outside)
    found = ", ".join(cells)
    return judge(file, check, not outside, f"all from {_said(start)} to {_said(end)}", found)


def _said(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
