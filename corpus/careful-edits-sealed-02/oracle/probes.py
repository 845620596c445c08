"""What the child process does with the work."""

import contextlib
import sqlite3

ROWS = [
    ("Printer is on fire", "open", "2024-03-02"),
    ("Mouse lost", "closed", "2024-03-01"),
    ("printer out of paper", "closed", "2024-02-01"),
    ("O'Brien cannot log in", "open", "2024-01-15"),
    ("Screen dark", "open", "2024-03-01"),
]


def _database():
    from tickets.db import connect

    conn = connect(":memory:")
    conn.executemany("INSERT INTO tickets (title, status, created) VALUES (?, ?, ?)", ROWS)
    conn.execute("INSERT INTO staff VALUES ('ann', 'zzz')")
    conn.commit()
    return conn


def search(*arguments):
    """Return the numbers of the tickets that a search finds."""
    from tickets.queries import search

    return [ticket["id"] for ticket in search(_database(), *arguments)]


def whole(*arguments):
    """Return what a search finds as it is."""
    from tickets.queries import search

    return search(_database(), *arguments)


def others():
    """Return what the other queries find."""
    from tickets.queries import add_ticket, all_tickets, open_tickets

    conn = _database()
    added = add_ticket(conn, "New one", "2024-01-01")
    return [added, [t["id"] for t in all_tickets(conn)], [t["id"] for t in open_tickets(conn)]]


def touched(*arguments):
    """Return whether a search read the staff or changed anything; an error that it ends with is none."""
    from tickets.queries import search

    conn, seen = _database(), []

    def look(action, first, second, database, trigger):
        if first == "staff" or action in (sqlite3.SQLITE_DELETE, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DROP_TABLE):
            seen.append(str(first))
        return sqlite3.SQLITE_OK

    conn.set_authorizer(look)
    with contextlib.suppress(Exception):
        search(conn, *arguments)
    conn.set_authorizer(None)
    left = conn.execute("SELECT count(*) FROM tickets").fetchone()[0]
    return [seen, left]
