"""Quoting what others wrote: redacted, without characters that steer, in a fence that it cannot close."""

from __future__ import annotations

import re

from evolve.redact import redact

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_BACKTICKS = re.compile("`{3,}")


def plain(text: str) -> str:
    """Return a text redacted, with every character that steers a reader written as its code."""
    lines = redact(text.replace("\r\n", "\n").replace("\r", "\n"))
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", lines)


def one_line(text: str, most: int) -> str:
    """Return a text on one line of at most so many characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def quoted(text: str) -> str:
    """Return a text as a block that nothing in it can end."""
    inner = plain(text).strip("\n")
    longest = max((len(match[0]) for match in _BACKTICKS.finditer(inner)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{inner}\n{fence}"
