"""Fetching the rows that a sweep reuses from the sweeps that measured them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from evolve.bench.measured import stream_rows
from evolve.bench.reuse import stored_reply
from evolve.digest import sha256_bytes
from evolve.errors import EvidenceFault, EvolveError
from evolve.files import write_atomic
from evolve.records.base import jsonl_bytes, read_jsonl
from evolve.records.plan import PlannedCell, Source
from evolve.records.row import Reuse, Row

SOURCES_FILE = "sources.jsonl"


class Sources:
    """The rows of other sweeps, read once each; rows and replies are checked while they are copied.

    Once a sweep has copied what it reuses, it needs the others no more.
    """

    def __init__(self, sweeps: Path, folder: Path) -> None:
        self._sweeps = sweeps
        self._folder = folder
        self._rows: dict[str, dict[str, Row]] = {}
        self._fetched: dict[int, Row] = {}
        self._own = _own_copies(folder / SOURCES_FILE)

    def keep(self, cells: Iterable[PlannedCell]) -> None:
        """Write copies of the rows that cells reuse or vouch for into the sweep's own folder."""
        found: dict[str, Row] = {}
        for cell in cells:
            if cell.source is not None:
                found[cell.source.row_sha256] = self._source_row(cell.source)
        if found.keys() - self._own.keys():
            self._own |= found
            write_atomic(self._folder / SOURCES_FILE, jsonl_bytes(list(self._own.values())))

    def _source_row(self, source: Source) -> Row:
        own = self._own.get(source.row_sha256)
        row = own if own is not None else self._rows_of(source.sweep).get(source.row_sha256)
        if row is None:
            raise EvidenceFault(f"{source.sweep}: a row that is reused is gone", code="reuse-broken")
        return row

    def fetch(self, cell: PlannedCell) -> Row:
        """Return the row that a cell reuses, or that its canary vouches for.

        Raises:
            EvidenceFault: The source is gone or was changed.

        """
        if cell.index not in self._fetched:
            self._fetched[cell.index] = self._fetch(cell)
        return self._fetched[cell.index]

    def _fetch(self, cell: PlannedCell) -> Row:
        source = cell.source
        if source is None:
            raise EvidenceFault(f"cell {cell.index} has no source to reuse", code="reuse-broken")
        row = self._source_row(source)
        if row.key != cell.identity.digest():
            raise EvidenceFault(f"{source.sweep}: the row of {cell.identity.task} is another", code="reuse-broken")
        if row.reply_sha256:
            self._copy_reply(self._sweeps / source.sweep, row.reply_sha256, cell.identity.task)
        reuse = Reuse(sweep=source.sweep, row_sha256=source.row_sha256)
        return row.model_copy(update={"arm": cell.arm, "role": cell.role, "reused": reuse})

    def _rows_of(self, sweep: str) -> dict[str, Row]:
        if sweep not in self._rows:
            self._rows[sweep] = dict(stream_rows(self._sweeps / sweep))
        return self._rows[sweep]

    def _copy_reply(self, origin: Path, digest: str, task: str) -> None:
        target = stored_reply(self._folder, digest)
        if target.exists() and sha256_bytes(target.read_bytes()) == digest:
            return
        data = stored_reply(origin, digest).read_bytes()
        if sha256_bytes(data) != digest:
            raise EvidenceFault(f"{origin.name}: the reply of {task} was changed", code="reuse-broken")
        write_atomic(target, data)


def _own_copies(path: Path) -> dict[str, Row]:
    """Return the rows that were copied, by digest; a row that is not what it was is another row."""
    if not path.exists():
        return {}
    with contextlib.suppress(EvolveError):
        return {row.digest(): row for row in read_jsonl(Row, path)}
    return {}
