"""What the transcript of one row shows."""

from __future__ import annotations

from pathlib import Path

from evolve.agents.transcript_events import Transcript
from evolve.agents.transcripts import read_transcript
from evolve.bench.reuse import stored_transcript
from evolve.digest import sha256_file
from evolve.errors import InputError
from evolve.propose.diagnostics.diagnose import Diagnosis, diagnose_transcript
from evolve.propose.diagnostics.step_digest import cut_digest, digest_lines
from evolve.records.kinds import Split
from evolve.records.row import Row


def transcript_of(sweep: Path, row: Row, adapter: str) -> Transcript | None:
    """Return the events of a row's transcript; ``None`` where there is none that can be read, or it was changed.

    Args:
        sweep: The sweep that holds the row; the transcript of a reused one may lie in the sweep beside it.
        row: The row.
        adapter: The adapter's name, as the plan's agent identity tells it.

    """
    if row.transcript_sha256 is None:
        return None
    source = [sweep.parent / Path(row.reused.sweep).name] if row.reused is not None else []
    for folder in (sweep, *source):
        path = stored_transcript(folder, row.transcript_sha256)
        if _holds(path, row.transcript_sha256):
            return read_transcript(path, adapter)
    return None


def _holds(path: Path, digest: str) -> bool:
    try:
        return sha256_file(path) == digest
    except OSError:
        return False


def diagnosis_of(sweep: Path, row: Row, adapter: str) -> Diagnosis | None:
    """Return what the transcript of a train row shows; ``None``: not diagnosed, which is not "nothing found".

    Args:
        sweep: The sweep that holds the row.
        row: The row.
        adapter: The adapter's name, as the plan's agent identity tells it.

    Raises:
        InputError: The row is of another split; who proposes must never see it.

    """
    _refuse_other_splits(row)
    transcript = transcript_of(sweep, row, adapter)
    return None if transcript is None else diagnose_transcript(transcript)


def digest_of_transcript(sweep: Path, row: Row, adapter: str, *, max_chars: int) -> str | None:
    """Return the steps of a train row that mattered, a line each; ``None`` where there is no transcript to read.

    Args:
        sweep: The sweep that holds the row.
        row: The row.
        adapter: The adapter's name, as the plan's agent identity tells it.
        max_chars: The most characters; edits and errors are kept first, of them and the rest the newest.

    Raises:
        InputError: The row is of another split; who proposes must never see it.

    """
    _refuse_other_splits(row)
    transcript = transcript_of(sweep, row, adapter)
    return None if transcript is None else cut_digest(digest_lines(transcript.events), max_chars)


def _refuse_other_splits(row: Row) -> None:
    if row.split is not Split.TRAIN:
        raise InputError(f"{row.identity.task}: a {row.split} row must not reach an operator", code="split-hygiene")
