"""Which passages two bodies share in the same order: the longest common subsequence, in nearly linear time."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evolve.propose.passages import Passage


@dataclass(frozen=True)
class Gap:
    """Where two bodies differ: old passages from ``start`` to ``end``, new ones from ``first`` to ``last``."""

    start: int
    end: int
    first: int
    last: int


def names_of(passages: Iterable[Passage]) -> list[str]:
    """Return a name for each passage that no other one has: its key, with a number where it stands there again."""
    seen: Counter[str] = Counter()
    found = []
    for passage in passages:
        seen[passage.key] += 1
        found.append(passage.key if seen[passage.key] == 1 else f"{passage.key}\n{seen[passage.key]}")
    return found


def text_of_name(name: str) -> str:
    """Return the text in the name of a passage, its spacing and case levelled."""
    return name.partition(": ")[2].partition("\n")[0]


def gaps(old: Sequence[str], new: Sequence[str]) -> Iterator[Gap]:
    """Yield where two sequences of distinct names differ, in order."""
    start = first = 0
    for end, last in [*_shared(old, new), (len(old), len(new))]:
        if end > start or last > first:
            yield Gap(start, end, first, last)
        start, first = end + 1, last + 1


def _shared(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest rising pairs of places of equal names (patience sorting)."""
    where = {name: place for place, name in enumerate(new)}
    pairs = [(place, where[name]) for place, name in enumerate(old) if name in where]
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        before.append(ends[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [place]
        ends[pile : pile + 1] = [number]
    found = []
    number = ends[-1] if ends else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]
