"""Folders that nothing in a sandbox may see, even where they lie below one that is shown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_HIDDEN: set[Path] = set()


def hide(folder: Path) -> None:
    """Have every sandbox of this process hide a folder: a workspace holds oracles, wherever it lies."""
    _HIDDEN.add(folder.resolve())


def hiding(shown: Iterable[str]) -> list[str]:
    """Return the arguments that cover hidden folders which would be seen below those that are shown."""
    systems = [Path(folder).resolve() for folder in shown]
    covered = [folder for folder in sorted(_HIDDEN) if any(folder.is_relative_to(system) for system in systems)]
    return [part for folder in covered for part in ("--tmpfs", str(folder))]
