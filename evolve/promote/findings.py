"""What an audit says of one check."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from evolve.errors import EvolveError

MAX_VALUE_CHARS = 100
CONTEXT_CHARS = 20
NOTHING = "nothing"
NO_FIELD = "no such field"
CUT_OFF = "history cut off here (git fetch --unshallow)"


@dataclass(frozen=True)
class Finding:
    """One check: where, what, whether it holds, and what was expected and found when it does not."""

    file: str
    check: str
    holds: bool
    detail: str = ""

    @property
    def note(self) -> bool:
        """Whether it holds, and says something all the same."""
        return self.holds and bool(self.detail)


def compare(file: str, check: str, expected: object, found: object) -> Finding:
    """Return the finding that two values are equal, or where they first differ and what they are there."""
    if expected == found:
        return Finding(file, check, True)
    place, expected, found = _difference(expected, found)
    texts = (_text(expected), _text(found))
    told = fault(file, check, *_excerpts(*(texts if texts[0] != texts[1] else (repr(expected), repr(found)))))
    return Finding(file, check, False, f"at {place}: {told.detail}") if place else told


def fault(file: str, check: str, expected: str, found: str) -> Finding:
    """Return the finding that a check does not hold."""
    return Finding(file, check, False, f"expected {expected}, found {found or NOTHING}")


def judge(file: str, check: str, holds: bool, expected: str, found: str) -> Finding:
    """Return the finding that a check holds, or what was expected and found when it does not."""
    return Finding(file, check, True) if holds else fault(file, check, expected, found)


def unreadable(file: str, check: str, error: OSError | EvolveError) -> Finding:
    """Return the finding that a file cannot be read, or is not what it is read as."""
    found = error.message if isinstance(error, EvolveError) else error.strerror or str(error)
    return fault(file, check, "a file that is valid", found)


def _difference(expected: object, found: object, place: str = "") -> tuple[str, object, object]:
    """Return the first place at which two values differ, as ``tasks[2].runs``, and what they are there."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key in sorted({*expected, *found}, key=str):
            one, other = expected.get(key, NO_FIELD), found.get(key, NO_FIELD)
            if one != other:
                return _difference(one, other, f"{place}.{key}" if place else str(key))
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            if one != other:
                return _difference(one, other, f"{place}[{number}]")
    return place, expected, found


def _text(value: object) -> str:
    if value is None:
        return NOTHING
    # The order of a set of texts is another one in each process.
    return str(sorted(value, key=str) if isinstance(value, Set) else value) or repr(value)


def _excerpts(expected: str, found: str) -> tuple[str, str]:
    """Return two texts, cut to what can be read, so that the first difference is in what is left."""
    if max(len(expected), len(found)) <= MAX_VALUE_CHARS:
        return expected, found
    same = next((at for at, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), None)
    same = min(len(expected), len(found)) if same is None else same
    start = 0 if same < MAX_VALUE_CHARS // 2 else same - CONTEXT_CHARS
    return _cut(expected, start), _cut(found, start)


def _cut(text: str, start: int) -> str:
    end = start + MAX_VALUE_CHARS - 6
    return f"{'...' if start else ''}{text[start:end]}{'...' if len(text) > end else ''}"
