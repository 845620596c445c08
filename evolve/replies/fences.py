"""Fenced code blocks in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*([^\n`]*)\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)


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
