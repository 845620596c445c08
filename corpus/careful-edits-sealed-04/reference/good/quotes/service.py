"""Answers requests."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping

from quotes.partners import partner_of
from quotes.prices import price_of

Answer = tuple[int, str]
MAX_CALLS = 5
WINDOW_S = 60


class Service:
    """Answers requests for prices.

    Args:
        clock: Returns the time in seconds.

    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: dict[str, deque[float]] = {}

    def handle(self, request: Mapping[str, str]) -> Answer:
        """Answer a request with a status and a text; every partner has calls of its own."""
        partner = partner_of(request.get("key"))
        if partner is None:
            return 401, "unknown key"
        if not self._admit(partner):
            return 429, "slow down"
        price = price_of(request.get("item", ""))
        if price is None:
            return 404, "no such item"
        return 200, price

    def _admit(self, partner: str) -> bool:
        now = self._clock()
        calls = self._calls.setdefault(partner, deque())
        while calls and now - calls[0] >= WINDOW_S:
            calls.popleft()
        if len(calls) >= MAX_CALLS:
            return False
        calls.append(now)
        return True
