"""Counts visits; called by several threads."""

from __future__ import annotations

import threading


class Visits:
    """Counts the visits of pages."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def add(self, page: str) -> None:
        """Count a visit."""
        self._lock.acquire()
        try:
            if page not in self._counts:
                self._counts[page] = 0
            self._counts[page] = self._counts[page] + 1
        finally:
            self._lock.release()

    def top(self, count: int) -> list[str]:
        """Return the pages with most visits, and by name where those are equal."""
        self._lock.acquire()
        try:
            pages = list(self._counts.items())
        finally:
            self._lock.release()
        pages.sort(key=lambda pair: pair[0])
        pages.sort(key=lambda pair: pair[1], reverse=True)
        names = []
        for name, _ in pages:
            if len(names) < count:
                names.append(name)
        return names
