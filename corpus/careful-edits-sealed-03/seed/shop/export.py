"""Writes orders for the bookkeeper's program: one line each, fields split by commas."""

from __future__ import annotations

from collections.abc import Iterable

from shop.money import format_cents
from shop.orders import Line


def export(lines: Iterable[Line]) -> str:
    """Return sku, count and amount of every line."""
    return "".join(f"{line.sku},{line.count},{format_cents(line.total)}\n" for line in lines)
