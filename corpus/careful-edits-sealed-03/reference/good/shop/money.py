"""Amounts of money, kept in cents."""

from __future__ import annotations


def format_cents(cents: int) -> str:
    """Return an amount as text, such as 12.50, for programs to read."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole}.{rest:02d}"


def show_cents(cents: int) -> str:
    """Return an amount as text, such as 1,250.00, for people to read."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole:,}.{rest:02d}"
