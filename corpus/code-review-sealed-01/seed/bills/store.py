"""Where bills are kept."""

from __future__ import annotations


class Store:
    """Keeps bills by number; reading one takes a while."""

    def __init__(self, bills: dict[int, dict[str, str]]) -> None:
        self._bills = bills

    def read(self, number: int) -> dict[str, str]:
        """Return a bill."""
        return dict(self._bills[number])

    def write(self, number: int, total: str) -> None:
        """Change the sum of a bill."""
        self._bills[number]["sum"] = total
