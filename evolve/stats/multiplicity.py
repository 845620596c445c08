"""Keeping error rates over several tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

# One over the sum of log(max(j, 2)) / (j exp(sqrt(log j))) over all j, rounded down, so that the shares of all looks
# add up to 1 and not more. onlineFDR has 0.07720838, with which they add up to 0.976.
_LORD_NORMALISER = 0.0790819
# The share of alpha that may be spent before the first rejection; onlineFDR has 1/10.
_LORD_INITIAL_SHARE = 0.5


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return Holm's step-down adjusted p-values, in the order given (Holm 1979)."""
    n = len(p_values)
    adjusted = [0.0] * n
    running = 0.0
    for rank, index in enumerate(sorted(range(n), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (n - rank) * p_values[index]))
        adjusted[index] = running
    return tuple(adjusted)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return step-up adjusted p-values for the false discovery rate, in the order given (Benjamini and Hochberg 1995).

    Rejecting those up to a level keeps the false discovery rate at that level when the tests are independent, or
    positively dependent (Benjamini and Yekutieli 2001).

    Args:
        p_values: The p-values of all tests.

    """
    n = len(p_values)
    adjusted = [0.0] * n
    running = 1.0
    for rank, index in reversed(list(enumerate(sorted(range(n), key=lambda i: p_values[i]), start=1))):
        # The product may fall below the p-value in its last digit.
        running = min(running, max(p_values[index], p_values[index] * n / rank))
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


def level_of_look(
    account: Literal["inverse-square", "lord"], look: int, alpha: float, promotions: Sequence[int] = ()
) -> float:
    """Return the level of a look by either account.

    Args:
        account: How alpha is spent.
        look: Which look it is, counted from 1.
        alpha: The level of the account.
        promotions: The earlier looks that ended in a promotion, which ``lord`` earns level back with.

    Raises:
        ValueError: As ``alpha_at`` and ``lord_alpha`` do.

    """
    return lord_alpha(look, alpha, promotions) if account == "lord" else alpha_at(look, alpha)


def spent(looks: int, alpha: float) -> float:
    """Return how much of alpha the first so many looks use up together, by ``alpha_at``.

    Raises:
        ValueError: ``looks`` is negative.

    """
    if looks < 0:
        raise ValueError("the number of looks cannot be negative")
    return math.fsum(alpha_at(look, alpha) for look in range(1, looks + 1))


def lord_alpha(look: int, alpha: float, promotions: Sequence[int] = ()) -> float:
    """Return the level of a look that keeps the false discovery rate over an endless stream of looks (LORD++).

    gamma(t) w0 + (alpha - w0) gamma(t - first rejection) + alpha sum of gamma(t - each later rejection), with
    w0 = alpha / 2 and gamma(j) proportional to log(max(j, 2)) / (j exp(sqrt(log j))) (Ramdas, Yang, Wainwright and
    Jordan 2017; the gamma is that of Javanmard and Montanari 2018, equation 31). It holds when the p-values of true
    null hypotheses are independent of the others.

    Args:
        look: The look t, counted from 1.
        alpha: The false discovery rate.
        promotions: The earlier looks that ended in a rejection, in any order.

    Raises:
        ValueError: ``look`` is below 1, ``alpha`` outside 0..1, or a rejection is not an earlier look or given twice.

    """
    if look < 1 or not 0 < alpha < 1:
        raise ValueError("looks are counted from 1, and alpha must lie between 0 and 1")
    rejections = sorted(promotions)
    if len(set(rejections)) < len(rejections) or any(not 1 <= rejection < look for rejection in rejections):
        raise ValueError("each rejection must be a look of its own before this one")
    initial = _LORD_INITIAL_SHARE * alpha
    level = _lord_gamma(look) * initial
    for order, rejection in enumerate(rejections):
        level += _lord_gamma(look - rejection) * (alpha if order else alpha - initial)
    return level


def _lord_gamma(j: int) -> float:
    return _LORD_NORMALISER * math.log(max(j, 2)) / (j * math.exp(math.sqrt(math.log(j))))
