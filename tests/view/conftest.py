"""A measured workspace, and a sweep of it that goes on under the eyes of a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.bench.journal import JOURNAL_FILE
from evolve.bench.measured import ROWS_FILE
from evolve.view.site import Site
from evolve.workspace import find_workspace
from tests.promote.conftest import Measured, measured, measured_once

__all__ = ["measured", "measured_once"]
MakeSite = Callable[..., Site]


@pytest.fixture
def make_site(measured: Measured) -> MakeSite:
    def make(*, live: bool = True, cells: bool = True) -> Site:
        return Site(find_workspace(measured.root), live=live, cells=cells)

    return make


class Growing:
    """A sweep of which the journal is taken back to its beginning, to grow again."""

    def __init__(self, folder: Path, begin: int) -> None:
        self.folder = folder
        self.path = folder / JOURNAL_FILE
        self._lines = self.path.read_bytes().splitlines(keepends=True)
        (folder / ROWS_FILE).unlink()
        self.path.write_bytes(b"".join(self._lines[:begin]))
        self._next = begin

    def grow(self, events: int | None = None) -> None:
        more = self._lines[self._next :] if events is None else self._lines[self._next : self._next + events]
        with self.path.open("ab") as file:
            file.write(b"".join(more))
        self._next += len(more)


@pytest.fixture
def growing(measured: Measured) -> Growing:
    return Growing(find_workspace(measured.root).sweeps / measured.evidence().promotion.sweep, begin=3)
