"""Opening what a command works with; nothing heavy is imported before a command really runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evolve.bench.measure import Bench
    from evolve.bench.runner import RunOptions
    from evolve.cli.bench_opening import Models
    from evolve.workspace import Workspace


def here() -> Workspace:
    """Return the workspace that the working folder lies in."""
    from evolve.promote.keys import hide_key_file
    from evolve.workspace import find_workspace

    hide_key_file()
    return find_workspace(Path.cwd())


def settled_here() -> Workspace:
    """Return what :func:`here` does, a promotion that was cut off settled first: half of it is no incumbent.

    Raises:
        BusyError: It is not cut off, but under way.

    """
    workspace = here()
    if workspace.promoting.exists():
        from evolve.cli.output import say
        from evolve.promote.git import Repository
        from evolve.promote.recovery import pending, recover, told
        from evolve.promote.target import Target

        if pending(workspace) is not None:
            say(told(recover(Target(workspace, Repository(workspace.root)))), err=True)
    return workspace


@contextlib.contextmanager
def open_bench(
    workspace: Workspace, *, as_json: bool, options: RunOptions | None = None
) -> Iterator[tuple[Bench, Models]]:
    """Open the bench: read everything, test the instruments, find the model; nothing is paid for.

    Raises:
        InputError: Something in the workspace is invalid, or an instrument does not work.
        EnvironmentFault: The model or the sandbox is missing.

    """
    from evolve.cli.bench_opening import opened_bench

    with opened_bench(workspace, as_json=as_json, options=options) as opened:
        yield opened
