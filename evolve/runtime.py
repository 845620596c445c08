"""The digest of the part of this package that runs and grades cells."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import evolve
from evolve.snapshot import FileEntry, Snapshot

RUNTIME_PARTS = ("agents", "models", "replies", "sandbox", "scoring", "bench/cell.py", "skills.py")


@cache
def runtime_digest() -> str:
    """Return the digest of the sources that can influence a cell's outcome."""
    root = Path(evolve.__file__).parent
    files: dict[str, FileEntry] = {}
    for part in RUNTIME_PARTS:
        path = root / part
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            files[file.relative_to(root).as_posix()] = FileEntry(file.read_bytes())
    return Snapshot(files).digest
