"""Finding the recordings of a sweep's cells."""

from __future__ import annotations

from pathlib import Path

from evolve.bench.journal import JOURNAL_FILE
from evolve.bench.measured import measured_rows
from evolve.digest import sha256_bytes
from evolve.errors import EvidenceFault, InputError

RECORDINGS_FOLDER = "recordings"


def stored_recording(sweep: Path, digest: str) -> Path:
    """Return where a sweep keeps a recording."""
    return sweep / RECORDINGS_FOLDER / f"{digest}.jsonl"


class Tapes:
    """The recordings of one sweep, by task, seed and text of the skill."""

    def __init__(self, sweep: Path) -> None:
        """Index a sweep.

        Raises:
            InputError: There is no such sweep, or it recorded nothing.

        """
        if not (sweep / JOURNAL_FILE).exists():
            raise InputError(f"evolve.yaml: agent.replay: no sweep named {sweep.name!r}", code="no-recording")
        self._sweep = sweep
        self._digests = {
            (row.identity.task, row.identity.seed, row.identity.fingerprint): row.recording_sha256
            for row in measured_rows(sweep)
            if row.recording_sha256
        }
        if not self._digests:
            hint = "set agent.record: true while it is measured"
            raise InputError(
                f"evolve.yaml: agent.replay: {sweep.name} recorded nothing", hint=hint, code="no-recording"
            )

    def find(self, task: str, seed: int, fingerprint: str) -> str | None:
        """Return the recording of a cell, if there is one.

        Raises:
            EvidenceFault: It is gone or was changed.

        """
        digest = self._digests.get((task, seed, fingerprint))
        if digest is None:
            return None
        path = stored_recording(self._sweep, digest)
        data = path.read_bytes() if path.exists() else b""
        if sha256_bytes(data) != digest:
            raise EvidenceFault(f"{path}: gone, or not what was recorded", code="broken-recording")
        return data.decode("utf-8")
