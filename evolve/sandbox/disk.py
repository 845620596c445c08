"""How much disk folders take that somebody else writes into, looked at no more often than it is cheap."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

BLOCK = 512
LEAST_PAUSE_S = 2.0
PAUSE_FACTOR = 20
MAX_ENTRIES = 200_000


class DiskMeter:
    """Measures by how many bytes folders have grown since it was made.

    A look costs a walk; the next one comes after twenty times as long as the last one took, so that walking never
    takes more than a twentieth of a core.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._next = 0.0
        self._grown = 0
        self._first = self._look()

    def grown(self) -> int:
        """Return the growth in bytes, as of the last look."""
        if time.monotonic() >= self._next:
            self._grown = self._look() - self._first
        return self._grown

    def _look(self) -> int:
        began = time.monotonic()
        size = sum(size_of(folder) for folder in self._folders)
        took = time.monotonic() - began
        self._next = began + took + max(LEAST_PAUSE_S, PAUSE_FACTOR * took)
        return size


def size_of(root: Path) -> int:
    """Return the bytes on disk below a folder; links are not followed, and what cannot be listed does not count."""
    total, seen, waiting = 0, 0, [str(root)]
    while waiting and seen < MAX_ENTRIES:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                seen += 1
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return total
