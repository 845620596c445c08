"""Whose transcripts can be read, and by what."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from evolve.agents.claude_code_transcript import read_claude_code
from evolve.agents.codex_transcript import read_codex
from evolve.agents.transcript_events import Transcript, objects_of

_READERS: dict[str, Callable[[Iterable[dict[str, Any] | None]], Transcript]] = {
    "claude-code": read_claude_code,
    "codex": read_codex,
}


def tells(adapter: str) -> bool:
    """Whether the transcripts of an adapter can be read into events."""
    return adapter in _READERS


def read_transcript(path: Path, adapter: str) -> Transcript | None:
    """Return the events of a stored transcript, line by line; ``None`` when nobody can read it, or it is gone."""
    if adapter not in _READERS:
        return None
    try:
        return _READERS[adapter](objects_of(path))
    except OSError:
        return None
