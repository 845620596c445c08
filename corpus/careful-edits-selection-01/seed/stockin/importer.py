"""Reads a stock list into a store."""

from __future__ import annotations

import csv
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

from stockin.items import Item
from stockin.parsing import parse_row


@dataclass(frozen=True)
class Report:
    """How an import went: how many items were taken, and the lines that were not."""

    taken: int
    skipped: tuple[int, ...]


def import_stock(path: str | Path, store: MutableMapping[str, Item]) -> Report:
    """Read a list; the store has its items afterwards, by sku."""
    items: list[Item] = []
    skipped: list[int] = []
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        for row in reader:
            try:
                items.append(parse_row(row))
            except ValueError:
                skipped.append(reader.line_num)
    store.update({item.sku: item for item in items})
    return Report(taken=len(items), skipped=tuple(skipped))
