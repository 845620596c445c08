"""Words of a reply: how many there are, and how densely they say something new."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

WINDOW: Final = 50
"""Words of a window, and so the fewest that a density is said of."""
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order and without case: letters, digits and underscores, apostrophes inside."""
    return [word.casefold() for word in _WORD.findall(text)]


def distinct_in_windows(words: Sequence[str], window: int = WINDOW) -> tuple[int, int] | None:
    """Return (distinct words, words), each summed over all windows of so many words in a row.

    Their quotient is the moving-average type-token ratio (Covington and McFall, Cutting the Gordian knot, Journal of
    Quantitative Linguistics 17(2), 2010), which does not fall with the length of a text as a plain type-token ratio
    does. ``None`` for a text that is shorter than one window.

    Args:
        words: The words, in order.
        window: The words of a window; at least 1.

    """
    if len(words) < window:
        return None
    inside = Counter(words[:window])
    distinct = len(inside)
    for gone, new in zip(words, words[window:], strict=False):
        inside[gone] -= 1
        if not inside[gone]:
            del inside[gone]
        inside[new] += 1
        distinct += len(inside)
    return distinct, window * (len(words) - window + 1)
