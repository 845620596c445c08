"""What is graded: a reply, and the files as the agent left them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evolve.hostile import read_below

MAX_GRADED_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Submission:
    """A reply (line ends normalised), the folder of the work, and what is mounted in it read-only."""

    reply: str
    folder: Path
    mounts: Mapping[str, Path] = field(default_factory=dict)

    def file_text(self, path: str) -> str | None:
        """Return a file of the work as text; ``None`` when it is missing, a link, too large or not UTF-8."""
        data = read_below(self.folder, path, MAX_GRADED_BYTES)
        try:
            return None if data is None else data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError:
            return None
