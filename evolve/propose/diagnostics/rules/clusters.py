"""Things that happen close together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from evolve.agents.transcript_events import Event

Item = TypeVar("Item")
MAX_WINDOW = 64  # keeps hostile transcripts from costing the square of their length; more is a cluster anyhow


def clusters(
    items: Iterable[Item], near: Callable[[Sequence[Item]], bool], enough: Callable[[Sequence[Item]], bool]
) -> Iterator[list[Item]]:
    """Yield runs of items in which every window of near ones is enough; runs do not overlap in their findings.

    Args:
        items: In order.
        near: Whether the items of a window are close enough; whatever is near stays so without its first item.
        enough: Whether a window is worth telling.

    """
    window: deque[Item] = deque()
    found: list[Item] | None = None
    for item in items:
        window.append(item)
        while len(window) > MAX_WINDOW or (window and not near(window)):
            window.popleft()
        if not enough(window):
            if found is not None:
                yield found
            found = None
        elif found is None:
            found = list(window)
        else:
            found.append(item)
    if found is not None:
        yield found


def close_in_time(first: Event, last: Event, seconds: int, turns: int) -> bool:
    """Whether two events are close: in seconds where both times are told, else in turns."""
    if first.time is not None and last.time is not None:
        return last.time - first.time <= seconds
    return last.turn - first.turn <= turns
