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
        self._calls: deque[float] = deque()

    def handle(self, request: Mapping[str, str]) -> Answer:
        """Answer a request with a status and a text."""
        partner = partner_of(request.get("key"))
        if partner is None:
            return 401, "unknown key"
        if not self._admit():
            return 429, "slow down"
        price = price_of(request.get("item", ""))
        if price is None:
            return 404, "no such item"
        return 200, price

    def _admit(self) -> bool:
        now = self._clock()
        while self._calls and now - self._calls[0] >= WINDOW_S:
            self._calls.popleft()
        if len(self._calls) >= MAX_CALLS:
            return False
        self._calls.append(now)
        return True
