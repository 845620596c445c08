"""Answers requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from quotes.partners import partner_of
from quotes.prices import price_of

Answer = tuple[int, str]


class Service:
    """Answers requests for prices.

    Args:
        clock: Returns the time in seconds.

    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    def handle(self, request: Mapping[str, str]) -> Answer:
        """Answer a request with a status and a text."""
        partner = partner_of(request.get("key"))
        if partner is None:
            return 401, "unknown key"
        price = price_of(request.get("item", ""))
        if price is None:
            return 404, "no such item"
        return 200, price
