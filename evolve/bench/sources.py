"""Fetching the rows that a sweep reuses from the sweeps that measured them."""

from __future__ import annotations

from pathlib import Path

from evolve.bench.measured import stream_rows
from evolve.bench.reuse import stored_reply
from evolve.digest import sha256_bytes
from evolve.errors import EvidenceFault
from evolve.files import write_atomic
from evolve.records.plan import PlannedCell
from evolve.records.row import Reuse, Row


class Sources:
    """The rows of other sweeps, read once each; replies are checked while they are copied."""

    def __init__(self, sweeps: Path, folder: Path) -> None:
        self._sweeps = sweeps
        self._folder = folder
        self._rows: dict[str, dict[str, Row]] = {}
        self._fetched: dict[int, Row] = {}

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
        row = self._rows_of(source.sweep).get(source.row_sha256)
        if row is None or row.key != cell.identity.digest():
            raise EvidenceFault(f"{source.sweep}: the row of {cell.identity.task} is gone", code="reuse-broken")
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
