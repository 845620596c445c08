"""Prints invoices."""

from __future__ import annotations

from collections.abc import Iterable

from shop.money import show_cents
from shop.orders import Line

CURRENCY = "EUR"


def print_invoice(number: int, lines: Iterable[Line]) -> str:
    """Return an invoice as text."""
    rows, total = [f"Invoice {number}"], 0
    for line in lines:
        rows.append(f"{line.count} x {line.text}: {show_cents(line.total)} {CURRENCY}")
        total += line.total
    rows.append(f"Total: {show_cents(total)} {CURRENCY}")
    return "\n".join(rows)
