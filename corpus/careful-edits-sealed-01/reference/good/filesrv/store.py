"""Finds files below the root folder."""

from __future__ import annotations

from pathlib import Path


def find(root: Path, name: str) -> Path | None:
    """Return the file of that name below the root, or None; nothing outside of the root is ever found."""
    if "\0" in name:
        return None
    root = root.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        return None
    return path if path.is_file() else None
