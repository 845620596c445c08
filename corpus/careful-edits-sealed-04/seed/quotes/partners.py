"""Who may ask, by the key that a request carries."""

from __future__ import annotations

PARTNERS = {"k-ann": "Ann's Café", "k-bob": "Bob & Sons", "k-cy": "Cy Ltd"}


def partner_of(key: str | None) -> str | None:
    """Return the partner that a key belongs to, or None."""
    return PARTNERS.get(key) if key is not None else None
