"""Prints tables for a terminal."""

from __future__ import annotations


def table(rows: list[list[str]]) -> str:
    """Return rows as a table whose columns are as wide as their widest cell."""
    if len(rows) == 0:
        return ""
    widths = []
    for column in range(len(rows[0])):
        widest = 0
        for row in rows:
            if len(row[column]) > widest:
                widest = len(row[column])
        widths.append(widest)
    text = ""
    for row in rows:
        line = ""
        for column in range(len(row)):
            line = line + row[column].ljust(widths[column]) + "  "
        text = text + line.rstrip() + "\n"
    return text
