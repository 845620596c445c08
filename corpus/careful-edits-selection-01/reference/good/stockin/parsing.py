"""Reads one row."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from stockin.items import Item


def parse_cents(text: str | None) -> int:
    """Return a price in cents.

    Raises:
        ValueError: It is no price.

    """
    try:
        price = Decimal((text or "").strip())
    except InvalidOperation as error:
        raise ValueError(f"no price: {text!r}") from error
    if not price.is_finite() or abs(price) >= 10**9:
        raise ValueError(f"no price: {text!r}")
    cents = price * 100
    if cents != int(cents):
        raise ValueError(f"parts of a cent: {text!r}")
    return int(cents)


def parse_row(row: Mapping[str, str]) -> Item:
    """Return the item of a row.

    Raises:
        ValueError: The row is no item.

    """
    sku = (row["sku"] or "").strip()
    if not sku:
        raise ValueError("no sku")
    return Item(
        sku=sku,
        name=(row["name"] or "").strip(),
        qty=int(row["qty"] or "0"),
        price_cents=parse_cents(row["price"]),
    )
