"""Reading what a sweep keeps of a cell; what was changed since is not shown for it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evolve.agents.steps import Steps, read_steps
from evolve.agents.transcript_events import objects_of
from evolve.agents.transcripts import read_transcript
from evolve.bench.reuse import checks_name, patch_name, stored_reply, stored_transcript
from evolve.corpus.loading import LoadedTask
from evolve.digest import sha256_file
from evolve.hostile import read_below
from evolve.propose.diagnostics.diagnose import diagnose_transcript
from evolve.records.row import Row
from evolve.report.page.visible import shown
from evolve.scoring.verify import Said

MAX_BYTES: Final = 32 * 1024 * 1024
MAX_CHECKS: Final = 100


@dataclass(frozen=True)
class Kept:
    """What is kept of a cell beside its row; ``None``: nothing is, or not as it was.

    Args:
        task: Its task, as it was measured.
        reply: What the agent replied.
        patch: What it changed, as a diff.
        said: What the public checks said; of train tasks alone, and where one said anything.
        steps: Its transcript.
        hints: What the transcript's diagnosis says.

    """

    task: LoadedTask | None = None
    reply: str | None = None
    patch: str | None = None
    said: tuple[Said, ...] = ()
    steps: Steps | None = None
    hints: tuple[str, ...] = ()


def kept_of(sweeps: Sequence[Path], row: Row, adapter: str, task: LoadedTask | None, *, hints: int = 20) -> Kept:
    """Return what sweeps keep of a cell.

    Args:
        sweeps: Their folders; what a reused row refers to may lie in the sweep beside them.
        row: The row.
        adapter: The adapter's name, as the plan's agent identity tells it.
        task: The task as it is now; one that was changed since is not taken.
        hints: The most sentences about the transcript.

    """
    same = task is not None and task.task_sha256 == row.identity.task_sha256
    folders = tuple(dict.fromkeys(_folders(sweeps, row)))
    transcript = _found(folders, row.transcript_sha256, stored_transcript)
    events = read_transcript(transcript, adapter) if transcript is not None else None
    reply = _found(folders, row.reply_sha256, stored_reply)
    return Kept(
        task=task if same else None,
        reply=_text(reply) if reply is not None else None,
        patch=_beside(folders, patch_name(row)),
        said=_said(_beside(folders, checks_name(row))),
        steps=read_steps(objects_of(transcript), adapter, shown) if transcript is not None else None,
        hints=tuple(diagnose_transcript(events).lines(hints)) if events is not None else (),
    )


def _folders(sweeps: Sequence[Path], row: Row) -> Iterator[Path]:
    yield from sweeps
    if row.reused is not None:
        yield from (sweep.parent / Path(row.reused.sweep).name for sweep in sweeps)


def _found(folders: Sequence[Path], digest: str | None, stored: Callable[[Path, str], Path]) -> Path | None:
    """Return the file with a digest, if one of the folders keeps it as it was."""
    if digest is None:
        return None
    for folder in folders:
        path = stored(folder, digest)
        with contextlib.suppress(OSError):
            if path.is_file() and sha256_file(path) == digest:
                return path
    return None


def _text(path: Path) -> str | None:
    data = read_below(path.parent, path.name, MAX_BYTES)
    return None if data is None else data.decode("utf-8", errors="replace")


def _beside(folders: Sequence[Path], name: str) -> str | None:
    """Return a file that no digest of the row names, from the first folder that has it."""
    for folder in folders:
        data = read_below(folder, name, MAX_BYTES)
        if data is not None:
            return data.decode("utf-8", errors="replace")
    return None


def _said(text: str | None) -> tuple[Said, ...]:
    try:
        found = json.loads(text) if text is not None else []
    except (ValueError, RecursionError):
        return ()
    told = found if isinstance(found, list) else []
    return tuple(
        Said(str(one.get("check")), one.get("passed") is True, str(one.get("output", "")))
        for one in told[:MAX_CHECKS]
        if isinstance(one, dict)
    )
