"""The null distribution of a sum of differences whose signs are flipped."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

    Probabilities = numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]]

LATTICE_LIMIT = 200_000
RELATIVE_SLACK = 1e-9


def require_finite(values: Iterable[float], name: str = "differences") -> None:
    """Refuse values that are not numbers.

    Raises:
        ValueError: A value is not finite.

    """
    if any(not math.isfinite(value) for value in values):
        raise ValueError(f"{name} must be finite")


def require_counts(wins: int, losses: int) -> None:
    """Check that pairs won and lost are counts.

    Raises:
        ValueError: One is negative.

    """
    if wins < 0 or losses < 0:
        raise ValueError("counts cannot be negative")


def whole_numbers(differences: Sequence[float]) -> list[int] | None:
    """Return the differences as integers without a common divisor; ``None`` when they are not on such a lattice.

    Args:
        differences: Finite differences; zeros stay zeros, and the magnitudes may add up to 200,000.

    """
    if any(value != int(value) for value in differences):
        return None
    whole = [int(value) for value in differences]
    divisor = math.gcd(*whole) or 1
    whole = [value // divisor for value in whole]
    return whole if sum(map(abs, whole)) <= LATTICE_LIMIT else None


def add_signs(probabilities: Probabilities, magnitudes: Iterable[int]) -> Probabilities:
    """Return the distribution of the sum of the positive parts after more signs were drawn.

    The sum of all differences is twice that sum minus the sum of the magnitudes (Pagano and Tritchler 1983).

    Args:
        probabilities: The probability of each sum 0, 1, 2, ... so far; it may add up to less than one.
        magnitudes: Positive integers; each sign is drawn with probability one half.

    """
    import numpy

    for magnitude in sorted(magnitudes):
        grown = numpy.zeros(len(probabilities) + magnitude)
        grown[: len(probabilities)] = probabilities
        grown[magnitude:] += probabilities
        grown *= 0.5
        probabilities = grown
    return probabilities


def lattice_tails(whole: Sequence[int]) -> tuple[float, float, float]:
    """Return the exact null probabilities of a sum that is as great, as small and as far from zero, or more so.

    A probability below the smallest normal number is rounded up to it: a p-value is never zero.

    Args:
        whole: Integer differences, as ``whole_numbers`` gives them.

    """
    import numpy

    probabilities = add_signs(numpy.ones(1), [abs(value) for value in whole if value])
    total = len(probabilities) - 1
    positive = sum(value for value in whole if value > 0)

    def at_least(threshold: int) -> float:
        return min(1.0, max(math.fsum(probabilities[threshold:]), sys.float_info.min))

    far = max(positive, total - positive)
    both = 1.0 if 2 * far == total else min(1.0, 2 * at_least(far))
    return at_least(positive), at_least(total - positive), both
