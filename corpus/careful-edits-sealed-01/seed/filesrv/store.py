"""Finds files below the root folder."""

from __future__ import annotations

from pathlib import Path


def find(root: Path, name: str) -> Path | None:
    """Return the file of that name, or None."""
    for entry in sorted(root.iterdir()):
        if entry.is_file() and entry.name == name:
            return entry
    return None
