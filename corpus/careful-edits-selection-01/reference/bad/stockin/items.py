"""What is in stock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """An item of a stock list."""

    sku: str
    name: str
    qty: int
    price_cents: int
