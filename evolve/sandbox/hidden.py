"""Folders and files that nothing in a sandbox may see, even where they lie below one that is shown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_HIDDEN: set[Path] = set()


def hide(path: Path) -> None:
    """Have every sandbox of this process hide a folder or a file: a workspace holds oracles, wherever it lies."""
    _HIDDEN.add(path.resolve())


def hiding(shown: Iterable[str]) -> list[str]:
    """Return the arguments that cover what is hidden and would be seen below those that are shown."""
    systems = [Path(folder).resolve() for folder in shown]
    covered = [path for path in sorted(_HIDDEN) if any(path.is_relative_to(system) for system in systems)]
    return [part for path in covered for part in _cover(path)]


def _cover(path: Path) -> tuple[str, ...]:
    return ("--ro-bind", "/dev/null", str(path)) if path.is_file() else ("--tmpfs", str(path))
