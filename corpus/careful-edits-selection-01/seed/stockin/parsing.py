"""Reads one row."""

from __future__ import annotations

from collections.abc import Mapping

from stockin.items import Item


def parse_row(row: Mapping[str, str]) -> Item:
    """Return the item of a row.

    Raises:
        ValueError: The row is no item.

    """
    sku = (row["sku"] or "").strip()
    if not sku:
        raise ValueError("no sku")
    return Item(sku=sku, name=(row["name"] or "").strip(), qty=int(row["qty"] or "0"))
