"""What the prompts of a session show: caches that break or miss, and growth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evolve.agents.transcript_events import Event, EventKind, TurnUsage
from evolve.propose.diagnostics.finding import Finding, FindingKind
from evolve.propose.diagnostics.thresholds import (
    CACHE_BREAK_TOKENS,
    CACHE_MISS_TOKENS,
    PROMPT_GROWTH_FACTOR,
    PROMPT_GROWTH_TOKENS,
)


def tells_input(events: Sequence[Event]) -> bool:
    """Whether the input of any turn is told."""
    return any(event.usage is not None and event.usage.input is not None for event in events)


def tells_cache(events: Sequence[Event]) -> bool:
    """Whether it is told of any turn what of its input was cached."""
    return any(usage.input is not None and usage.cached is not None for _, usage in _used(events))


def _used(events: Sequence[Event]) -> Iterator[tuple[Event, TurnUsage]]:
    return ((event, event.usage) for event in events if event.kind is EventKind.TURN and event.usage is not None)


def cache_breaks(events: Sequence[Event]) -> Iterator[Finding]:
    """Find turns that read less from the cache than the turn before, though they send no less."""
    before: dict[int, tuple[int, int]] = {}
    for event, usage in _used(events):
        if usage.input is None or usage.cached is None:
            before.pop(event.session, None)
            continue
        sent, cached = before.get(event.session, (usage.input, usage.cached))
        lost = cached - usage.cached
        if usage.input >= sent and lost >= CACHE_BREAK_TOKENS.value:
            detail = f"{usage.cached:,} of {usage.input:,} input tokens came from the cache, {lost:,} fewer than before"
            yield Finding(FindingKind.CACHE_BREAK, event.turn, detail, lost)
        before[event.session] = (usage.input, usage.cached)


def cache_misses(events: Sequence[Event]) -> Iterator[Finding]:
    """Find turns after a session's first that are worth caching and read nothing from the cache."""
    begun: set[int] = set()
    for event in events:
        if event.kind is not EventKind.TURN:
            continue
        usage = event.usage
        if event.session in begun and usage is not None and usage.cached == 0:
            size = usage.input or 0
            if size >= CACHE_MISS_TOKENS.value:
                detail = f"none of {size:,} input tokens came from the cache"
                yield Finding(FindingKind.CACHE_MISS, event.turn, detail, size)
        begun.add(event.session)


def prompt_growth(events: Sequence[Event]) -> Iterator[Finding]:
    """Find turns whose input has grown by the factor since the session's first, or since the last such turn."""
    bars: dict[int, int] = {}
    for event, usage in _used(events):
        if usage.input is None:
            continue
        bar = bars.setdefault(event.session, max(usage.input, 1))
        if usage.input >= max(bar * PROMPT_GROWTH_FACTOR.value, PROMPT_GROWTH_TOKENS.value):
            detail = f"its input is {usage.input:,} tokens, after {bar:,}"
            yield Finding(FindingKind.PROMPT_GROWTH, event.turn, detail, usage.input)
            bars[event.session] = usage.input


def largest_growth(events: Sequence[Event]) -> tuple[int, int] | None:
    """Return (largest input of a turn, input of its session's first turn) of the session that grew most.

    ``None`` where no input is told. It is measured as :func:`prompt_growth` does: session by session, from the first
    input that is told, which counts as 1 at the least.
    """
    first: dict[int, int] = {}
    largest: dict[int, int] = {}
    for event, usage in _used(events):
        if usage.input is not None:
            first.setdefault(event.session, max(usage.input, 1))
            largest[event.session] = max(usage.input, largest.get(event.session, 1))
    grown = max(first, key=lambda session: largest[session] / first[session], default=None)
    return None if grown is None else (largest[grown], first[grown])
