"""Untrusted text as a page shows it: whatever is hidden or steers is a visible escape, and nothing is endless."""

from __future__ import annotations

import re
from typing import Final

LINE_CHARS: Final = 1_000
# Controls, marks of direction, what has no width, variation selectors, tags, and surrogates, which UTF-8 cannot hold.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def visible(text: object) -> str:
    """Return text in which characters that hide or steer are written as escapes; line ends and tabs stay."""
    return _HIDDEN.sub(_escape, str(text))


def shown(text: object, most: int = LINE_CHARS) -> str:
    """Return visible text of which what is beyond so many characters is counted only."""
    whole = str(text)
    left = len(whole) - most
    return visible(whole[:most]) + (f" \u2026 ({left:,} more characters)" if left > 0 else "")


def plain_ascii(text: object, most: int) -> str:
    """Return text as a plot shows it, whose font has not every character: in ASCII, cut to a length."""
    whole = str(text)
    cut = visible(whole[:most]).encode("ascii", "backslashreplace").decode("ascii").replace("\n", " ")
    return cut if len(whole) <= most else f"{cut}..."
