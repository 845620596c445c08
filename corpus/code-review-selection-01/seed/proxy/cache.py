"""Keeps pages for a while."""

from __future__ import annotations

import time


class Cache:
    """Keeps values by key for some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._kept: dict[str, tuple[float, bytes]] = {}

    def get(self, key: str) -> bytes | None:
        """Return what was kept, if it is young enough."""
        found = self._kept.get(key)
        if found is None or time.monotonic() - found[0] > self._seconds:
            return None
        return found[1]

    def put(self, key: str, value: bytes) -> None:
        """Keep a value."""
        self._kept[key] = (time.monotonic(), value)
