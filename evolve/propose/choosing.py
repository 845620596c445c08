"""Choosing worked examples and rules: how many, and which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Choice:
    """How many, and by what: spread evenly over their order, or as different from one another as can be."""

    count: int
    by: Literal["spread", "difference"]


EXAMPLES: tuple[Choice, ...] = (
    Choice(3, "spread"),
    Choice(1, "difference"),
    Choice(2, "difference"),
    Choice(5, "difference"),
)
"""The worked examples of each further proposal from the same parents."""

RULES: tuple[int | None, ...] = (None, 1, 2, 4)
"""How many rules each further proposal states, those that most tasks broke; ``None`` is all, learnt in rounds."""


def chosen(items: Sequence[T], choice: Choice, text: Callable[[T], str]) -> list[T]:
    """Return some items by a choice, in their order."""
    if choice.by == "spread":
        return spread(items, choice.count)
    return different(items, choice.count, text)


def spread(items: Sequence[T], count: int) -> list[T]:
    """Return some items, evenly spread over a sequence."""
    count = min(count, len(items))
    return [items[index * len(items) // count] for index in range(count)] if count > 0 else []


def different(items: Sequence[T], count: int, text: Callable[[T], str]) -> list[T]:
    """Return items of which each shares least words with those taken before it, beginning with the first."""
    words = [frozenset(text(item).casefold().split()) for item in items]
    taken: list[int] = []
    while len(taken) < min(count, len(items)):
        left = [number for number in range(len(items)) if number not in taken]
        closest = {number: max((_likeness(words[number], words[one]) for one in taken), default=0.0) for number in left}
        taken.append(min(left, key=lambda number: (closest[number], number)))
    return [items[number] for number in sorted(taken)]


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def most_broken(rules: Sequence[str], count: int | None) -> list[str]:
    """Return the distinct rules that were broken most often, those first that came up first among equals."""
    return [rule for rule, _ in Counter(rules).most_common(count)]
