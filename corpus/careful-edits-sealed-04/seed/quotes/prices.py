"""The prices of today."""

from __future__ import annotations

PRICES = {"tea": "4.20", "coffee": "6.90", "cocoa": "5.10"}


def price_of(item: str) -> str | None:
    """Return the price of an item, or None."""
    return PRICES.get(item)
