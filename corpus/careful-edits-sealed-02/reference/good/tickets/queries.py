"""What is asked of the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

COLUMNS = "id, title, status, created"
SORTABLE = ("id", "title", "status", "created")


def _select(
    conn: sqlite3.Connection, where: str = "1", order: str = "id", values: Sequence[str] = ()
) -> list[dict[str, Any]]:
    rows = conn.execute(f"SELECT {COLUMNS} FROM tickets WHERE {where} ORDER BY {order}", values)
    return [dict(row) for row in rows]


def all_tickets(conn: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return all tickets by their number."""
    return _select(conn)


def open_tickets(conn: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return the open tickets, the oldest first."""
    return _select(conn, "status = 'open'", "created, id")


def search(
    conn: sqlite3.Connection, text: str, status: str | None = None, order_by: str = "created"
) -> list[dict[str, Any]]:
    """Return the tickets whose title contains a text in any case, sorted by a column.

    Raises:
        ValueError: There is no such column.

    """
    if order_by not in SORTABLE:
        raise ValueError(f"cannot sort by {order_by!r}")
    where, values = "instr(lower(title), lower(?)) > 0", [text]
    if status is not None:
        where += " AND status = ?"
        values.append(status)
    return _select(conn, where, f"{order_by}, id", values)


def add_ticket(conn: sqlite3.Connection, title: str, created: str, status: str = "open") -> int:
    """Add a ticket and return its number."""
    cursor = conn.execute(
        "INSERT INTO tickets (title, status, created) VALUES (?, ?, ?)",
        (title, status, created),
    )
    conn.commit()
    return int(cursor.lastrowid or 0)
