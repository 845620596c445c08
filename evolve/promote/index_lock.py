"""git's lock of its index: told with its age and the remedy, and never removed."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from evolve.errors import EnvironmentFault

UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def refuse_locked(path: Path) -> None:
    """Refuse to go on while a lock lies there: a git that works holds one, and a git that died leaves one.

    Raises:
        EnvironmentFault: The lock, its age and the remedy are named.

    """
    try:
        changed = path.lstat().st_mtime
    except OSError:
        return
    text = f"{path}: git is at work here, or has died: this lock is {age(time.time() - changed)} old"
    hint = f"wait for git to end; if no git process runs here: rm {shlex.quote(str(path))}"
    raise EnvironmentFault(text, hint=hint, code="git-busy")


def age(seconds: float) -> str:
    """Return a length of time in its largest whole unit, as ``3 hours``."""
    name, size = next((unit for unit in UNITS if seconds >= unit[1]), UNITS[-1])
    number = max(0, int(seconds // size))
    return f"{number} {name}{'' if number == 1 else 's'}"
