"""Opens the database."""

from __future__ import annotations

import sqlite3

SCHEMA = """
CREATE TABLE IF NOT EXISTS tickets (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open',
    created TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS staff (
    name TEXT PRIMARY KEY,
    token TEXT NOT NULL
);
"""


def connect(path: str) -> sqlite3.Connection:
    """Open a database, and make its tables where they are missing."""
    conn = sqlite3.connect(path)
    conn.row_factory = sqlite3.Row
    conn.executescript(SCHEMA)
    return conn
