"""What an agent changed, as a patch that a proposer can read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from evolve.scoring.size import Change, is_generated, text_of

PATCH_BYTES = 64 * 1024
MAX_LINES = 4000
"""Lines of a file, before and after together, from which it is not compared: the comparison can take their square."""


def patch_of(changes: Iterable[Change]) -> str:
    """Return a unified diff, whole files only, the small ones first; what is left out is said with its reason."""
    shown: list[tuple[int, str, str]] = []
    left: list[str] = []
    for change in changes:
        text = _difference(change)
        if text is None:
            left.append(f"{change.path}: no text, written by a tool, or too long to compare")
        elif text:
            shown.append((len(text.encode("utf-8")), change.path, text))
    kept: list[tuple[str, str]] = []
    room = PATCH_BYTES
    for size, path, text in sorted(shown):
        if size <= room:
            room -= size
            kept.append((path, text))
        else:
            left.append(f"{path}: its {size} bytes of difference do not fit")
    parts = [text for _, text in sorted(kept)]
    if left:
        parts.append("\n".join(["Not shown:", *(f"- {line}" for line in sorted(left)), ""]))
    return "".join(parts)


def _difference(change: Change) -> str | None:
    """Return the unified diff of a file; ``None`` where there is none to read."""
    before, after = text_of(change.before, change.path), text_of(change.after, change.path)
    if before is None or after is None or is_generated(change.path, change.after or change.before or b""):
        return None
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > MAX_LINES:
        return None
    source = "/dev/null" if change.before is None else f"a/{change.path}"
    target = "/dev/null" if change.after is None else f"b/{change.path}"
    lines = list(difflib.unified_diff(old, new, source, target, lineterm=""))
    return "\n".join(lines) + "\n" if lines else ""
