"""The form that is sent to the bank."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from shop.money import format_cents
from shop.orders import Line


def payment_form(number: int, lines: Iterable[Line]) -> dict[str, str]:
    """Return the fields of a payment."""
    amount = format_cents(sum(line.total for line in lines))
    if Decimal(amount) <= 0:
        raise ValueError("nothing is to be paid")
    return {"reference": f"INV{number:06d}", "amount": amount, "currency": "EUR"}
