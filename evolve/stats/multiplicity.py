"""Keeping error rates over several tests."""

from __future__ import annotations

import math
from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return Holm's step-down adjusted p-values, in the order given (Holm 1979)."""
    n = len(p_values)
    adjusted = [0.0] * n
    running = 0.0
    for rank, index in enumerate(sorted(range(n), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (n - rank) * p_values[index]))
        adjusted[index] = running
    return tuple(adjusted)


def alpha_at(look: int, alpha: float) -> float:
    """Return the level of the how-manieth look: alpha 6 / (pi^2 look^2), which sums to alpha over all looks.

    Raises:
        ValueError: ``look`` is below 1.

    """
    if look < 1:
        raise ValueError("looks are counted from 1")
    return alpha * 6 / (math.pi**2 * look**2)
