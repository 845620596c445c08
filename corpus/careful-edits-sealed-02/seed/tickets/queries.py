"""What is asked of the database."""

from __future__ import annotations

import sqlite3
from typing import Any

COLUMNS = "id, title, status, created"


def _select(conn: sqlite3.Connection, where: str = "1", order: str = "id") -> list[dict[str, Any]]:
    rows = conn.execute(f"SELECT {COLUMNS} FROM tickets WHERE {where} ORDER BY {order}")
    return [dict(row) for row in rows]


def all_tickets(conn: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return all tickets by their number."""
    return _select(conn)


def open_tickets(conn: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return the open tickets, the oldest first."""
    return _select(conn, "status = 'open'", "created, id")


def add_ticket(conn: sqlite3.Connection, title: str, created: str, status: str = "open") -> int:
    """Add a ticket and return its number."""
    cursor = conn.execute(
        "INSERT INTO tickets (title, status, created) VALUES (?, ?, ?)",
        (title, status, created),
    )
    conn.commit()
    return int(cursor.lastrowid or 0)
