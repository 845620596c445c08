"""What is graded: a reply, and the files as the agent left them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MAX_GRADED_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Submission:
    """A reply (line ends normalised) and the folder of the work."""

    reply: str
    folder: Path

    def file_text(self, path: str) -> str | None:
        """Return a file of the work as text; ``None`` when it is missing, a link, too large or not UTF-8."""
        file = self.folder / path
        try:
            if file.is_symlink() or file.stat().st_size > MAX_GRADED_BYTES:
                return None
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
