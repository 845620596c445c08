"""What git is in the midst of: a commit that is made meanwhile is lost with it when it is given up."""

from __future__ import annotations

from pathlib import Path

from evolve.errors import InputError

MIDWAY = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
"""The files by which git knows what it goes on with, and by what command."""


def refuse_midway(paths: dict[str, Path]) -> None:
    """Refuse to commit while one of these is there.

    Args:
        paths: Where each of :data:`MIDWAY` would lie.

    Raises:
        InputError: What git is in the midst of is named.

    """
    for name, command in MIDWAY.items():
        if paths[name].exists():
            raise InputError(
                f"git is in the midst of a {command}: what is committed now would be lost if that is given up",
                hint=f"git {command} --continue, or --abort",
                code="git-midway",
            )
