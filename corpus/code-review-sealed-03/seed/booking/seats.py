"""Seats of a show; web workers call it from several threads."""

from __future__ import annotations

import threading


class SoldOut(Exception):
    """No seat is left."""


class Seats:
    """Sells the seats of a show."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._left = count
        self._sold: dict[str, int] = {}

    def sell(self, customer: str) -> int:
        """Sell a seat and return its number, counted down from the last.

        Raises:
            SoldOut: No seat is left.

        """
        with self._lock:
            if self._left == 0:
                raise SoldOut(customer)
            seat = self._left
            self._left -= 1
            self._sold[customer] = seat
            return seat

    def left(self) -> int:
        """Return how many seats are left."""
        with self._lock:
            return self._left
