"""Every threshold of the diagnostics, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evolve.propose.diagnostics.finding import FindingKind


@dataclass(frozen=True, slots=True)
class Threshold:
    """One number from which on something is worth saying.

    Args:
        of: The findings that it is for.
        name: Its name.
        value: The number.
        unit: What it counts.
        reason: Why it is this number.

    """

    of: FindingKind
    name: str
    value: int
    unit: str
    reason: str


_BREAK, _MISS, _GROWTH = FindingKind.CACHE_BREAK, FindingKind.CACHE_MISS, FindingKind.PROMPT_GROWTH
_FRAGMENTS, _SWEEP, _CHURN = FindingKind.READ_FRAGMENTATION, FindingKind.GREP_SWEEP, FindingKind.TOOL_CHURN

CACHE_BREAK_TOKENS: Final = Threshold(
    _BREAK, "cache_break_tokens", 2_000, "tokens", "caches work in blocks of up to 1,024 tokens; less is rounding"
)
CACHE_MISS_TOKENS: Final = Threshold(
    _MISS, "cache_miss_tokens", 8_192, "tokens", "twice the largest prompt that a provider declines to cache"
)
PROMPT_GROWTH_FACTOR: Final = Threshold(
    _GROWTH, "prompt_growth_factor", 2, "times", "each doubling is told once, so that a long session is not all hints"
)
PROMPT_GROWTH_TOKENS: Final = Threshold(
    _GROWTH, "prompt_growth_tokens", 40_000, "tokens", "below it, a prompt costs less than what it was read for"
)
READ_ONLY_STALL_TURNS: Final = Threshold(
    FindingKind.READ_ONLY_STALL, "read_only_stall_turns", 8, "turns", "an orientation is shorter"
)
BROAD_RESULT_BYTES: Final = Threshold(
    FindingKind.BROAD_RESULT, "broad_result_bytes", 64 * 1024, "bytes", "about 16,000 tokens that stay in every prompt"
)
BROAD_RESULT_LINES: Final = Threshold(
    FindingKind.BROAD_RESULT, "broad_result_lines", 1_000, "lines", "nobody needs as many lines at once"
)
FRAGMENT_READS: Final = Threshold(_FRAGMENTS, "fragment_reads", 3, "reads", "two reads may be a look and its sequel")
FRAGMENT_LINES: Final = Threshold(
    _FRAGMENTS, "fragment_lines", 800, "lines", "what one read could have brought without being broad"
)
FRAGMENT_SECONDS: Final = Threshold(
    _FRAGMENTS, "fragment_seconds", 600, "seconds", "later, it is another question to the same file"
)
FRAGMENT_TURNS: Final = Threshold(_FRAGMENTS, "fragment_turns", 12, "turns", "the same, where no time is told")
SWEEP_SEARCHES: Final = Threshold(_SWEEP, "sweep_searches", 5, "searches", "fewer are how something is looked for")
SWEEP_TURNS: Final = Threshold(_SWEEP, "sweep_turns", 10, "turns", "spread over more, they are several questions")
DUPLICATE_SECONDS: Final = Threshold(
    FindingKind.DUPLICATE_CALL, "duplicate_seconds", 120, "seconds", "later, looking again may be meant"
)
DUPLICATE_TURNS: Final = Threshold(
    FindingKind.DUPLICATE_CALL, "duplicate_turns", 6, "turns", "the same, where no time is told"
)
PARALLEL_TURNS: Final = Threshold(
    FindingKind.MISSED_PARALLELISM, "parallel_turns", 3, "turns", "of two, the second may follow from the first"
)
CHURN_EDITS: Final = Threshold(_CHURN, "churn_edits", 4, "edits", "a change, its correction and a polish are three")
CHURN_TURNS: Final = Threshold(_CHURN, "churn_turns", 12, "turns", "spread over more, it is work on a large file")
CHURN_FAILURES: Final = Threshold(
    _CHURN, "churn_failures", 2, "failures", "one failing run between two edits is how tests are used"
)

THRESHOLDS: Final = (
    CACHE_BREAK_TOKENS,
    CACHE_MISS_TOKENS,
    PROMPT_GROWTH_FACTOR,
    PROMPT_GROWTH_TOKENS,
    READ_ONLY_STALL_TURNS,
    BROAD_RESULT_BYTES,
    BROAD_RESULT_LINES,
    FRAGMENT_READS,
    FRAGMENT_LINES,
    FRAGMENT_SECONDS,
    FRAGMENT_TURNS,
    SWEEP_SEARCHES,
    SWEEP_TURNS,
    DUPLICATE_SECONDS,
    DUPLICATE_TURNS,
    PARALLEL_TURNS,
    CHURN_EDITS,
    CHURN_TURNS,
    CHURN_FAILURES,
)
