"""One thing that a transcript shows, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from evolve.agents.transcript_events import Event
from evolve.redact import redact

MAX_SHOWN_CHARS = 120


class FindingKind(StrEnum):
    """What can be found; docs/diagnostics.md says what each means."""

    CACHE_BREAK = "cache-break"
    CACHE_MISS = "cache-miss"
    PROMPT_GROWTH = "prompt-growth"
    READ_ONLY_STALL = "read-only-stall"
    BROAD_RESULT = "broad-result"
    READ_FRAGMENTATION = "read-fragmentation"
    GREP_SWEEP = "grep-sweep"
    DUPLICATE_CALL = "duplicate-call"
    TOOL_ERROR = "tool-error"
    MISSED_PARALLELISM = "missed-parallelism"
    TOOL_CHURN = "tool-churn"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Args:
        kind: What it is.
        turn: The turn in which it begins.
        detail: One sentence about it, safe to be shown.
        size: How large it is, in the unit of its kind's threshold.

    """

    kind: FindingKind
    turn: int
    detail: str
    size: int


def shown(text: str | None, limit: int = MAX_SHOWN_CHARS) -> str:
    """Return text of an agent as one short line: no secret, nothing that steers a terminal or ends a line."""
    # Far more than is shown, so that no secret is cut in two before it is recognised.
    clean = redact((text or "")[: limit * 40]).encode("utf-8", errors="replace").decode("utf-8")
    flat = " ".join("".join(c if c.isprintable() else " " for c in clean).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def named(call: Event) -> str:
    """Return a call as it is told: its tool, and what it was about."""
    about = call.path or call.asked or ""
    return shown(f"{call.tool or 'a tool'} {about}".strip())
