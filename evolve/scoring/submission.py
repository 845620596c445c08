"""What is graded: a reply, and the files as the agent left them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

MAX_GRADED_BYTES = 1024 * 1024
_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*([^\n`]*)\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)


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


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block: its info string, its content, and where it stands in the text."""

    info: str
    content: str
    start: int
    end: int


def code_blocks(text: str) -> list[CodeBlock]:
    """Find the fenced code blocks of a text, in order."""
    return [CodeBlock(m[2].strip(), m[3], m.start(), m.end()) for m in _FENCE.finditer(text)]


def code_of(reply: str) -> str:
    """Return the code in a reply: its first fenced block, else the whole reply."""
    blocks = code_blocks(reply)
    return blocks[0].content if blocks else reply
