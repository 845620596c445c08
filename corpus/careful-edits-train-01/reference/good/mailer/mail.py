"""Makes a mail of an event."""

from __future__ import annotations

from typing import Any


def greeting(event: dict[str, Any]) -> str:
    """Return how a mail begins."""
    customer = event.get("customer") or {}
    return f"Dear {customer.get('name') or 'customer'},"


def delivery(event: dict[str, Any]) -> list[str]:
    """Return the line that says where a parcel goes, or none where the event does not say."""
    shipping = event.get("shipping") or {}
    address = shipping.get("address") or {}
    places = [place for place in (address.get("city"), address.get("country")) if place]
    return [f"Deliver to: {', '.join(places)}"] if places else []


def make_mail(event: dict[str, Any]) -> str:
    """Return the text of a mail."""
    lines = [
        greeting(event),
        f"thank you for your order {event['number']}.",
        f"Sum: {event['sum']} EUR",
        *delivery(event),
        "Your shop",
    ]
    return "\n".join(lines) + "\n"
