"""Where a generation stands, kept in ``generation.json``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evolve.errors import InputError
from evolve.records.base import read_json, write_json
from evolve.records.generation import Generation, Request

STATE_FILE = "generation.json"
OVERLAYS_FOLDER = "overlays"
GENERATION_LOCK = "generation.lock"


class GenerationState:
    """A generation's folder and its record, written after every change."""

    def __init__(self, folder: Path, record: Generation) -> None:
        self.folder = folder
        self.record = record

    def update(self, **changes: Any) -> None:
        """Change the record and write it."""
        self.record = Generation.model_validate({**dict(self.record), **changes})
        write_json(self.folder / STATE_FILE, self.record)

    def add_sweep(self, sweep: str) -> None:
        """Note that a sweep belongs to this generation."""
        if sweep not in self.record.sweeps:
            self.update(sweeps=(*self.record.sweeps, sweep))

    def give_up(self, reason: str) -> None:
        """End it for good, because what it was begun with is no more."""
        self.update(finished_at=datetime.now(UTC), summary=f"Given up: {reason}.")

    @property
    def overlays(self) -> Path:
        """The folder of this generation's proposals."""
        return self.folder / OVERLAYS_FOLDER


def new_generation(
    generations: Path, request: Request, head: str | None, archived: Iterable[str] = ()
) -> GenerationState:
    """Make the next generation's folder; two at once get two folders.

    Args:
        generations: The folder of generations; a fresh clone has none.
        request: What was asked for.
        head: The commit that it begins at.
        archived: Generations that the archive knows of, whose names are taken too.

    """
    generations.mkdir(parents=True, exist_ok=True)
    names = [*(path.name for path in generations.glob("g[0-9]*")), *archived]
    numbers = [int(name[1:]) for name in names if name[:1] == "g" and name[1:].isdigit()]
    number = max(numbers, default=0) + 1
    while True:
        folder = generations / f"g{number:04d}"
        try:
            folder.mkdir()
            break
        except FileExistsError:
            number += 1
    state = GenerationState(
        folder, Generation(id=folder.name, request=request, started_at=datetime.now(UTC), head=head)
    )
    state.update()
    return state


def open_generation(folder: Path) -> GenerationState:
    """Read a generation.

    Raises:
        InputError: The folder holds none.

    """
    return GenerationState(folder, read_json(Generation, folder / STATE_FILE))


def latest_unfinished(generations: Path) -> GenerationState | None:
    """Return the newest generation that has not come to its end."""
    for path in sorted(generations.glob(f"g*/{STATE_FILE}"), reverse=True):
        try:
            state = open_generation(path.parent)
        except InputError:
            continue
        if state.record.finished_at is None:
            return state
    return None
