"""Makes a mail of an event."""

from __future__ import annotations

from typing import Any


def greeting(event: dict[str, Any]) -> str:
    """Return how a mail begins."""
    customer = event.get("customer") or {}
    return f"Dear {customer.get('name') or 'customer'},"


def make_mail(event: dict[str, Any]) -> str:
    """Return the text of a mail."""
    address = event.get("shipping", {}).get("address", {})
    lines = [
        greeting(event),
        f"thank you for your order {event['number']}.",
        f"Sum: {event['sum']} EUR",
        f"Deliver to: {address.get('city')}, {address.get('country')}",
        "Your shop",
    ]
    return "\n".join(lines) + "\n"
