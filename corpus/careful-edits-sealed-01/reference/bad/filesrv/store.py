"""Finds files below the root folder."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote


def find(root: Path, name: str) -> Path | None:
    """Return the file of that name below the root, or None."""
    path = root / unquote(name)
    return path if path.is_file() else None
