"""What is ordered."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line of an order."""

    sku: str
    text: str
    count: int
    cents: int

    @property
    def total(self) -> int:
        """The price of all of it, in cents."""
        return self.count * self.cents
