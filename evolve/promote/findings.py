"""What an audit says of one check."""

from __future__ import annotations

from dataclasses import dataclass

MAX_VALUE_CHARS = 100


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
    """Return the finding that two values are equal, or what they are when they are not."""
    holds = expected == found
    return Finding(file, check, holds, "" if holds else f"expected {_short(expected)}, found {_short(found)}")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 3]}..."
