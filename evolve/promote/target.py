"""Where a commit of evolve's own goes."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.errors import InputError
from evolve.promote.git import Repository
from evolve.workspace import Workspace


@dataclass(frozen=True)
class Target:
    """Where a commit goes and what it takes along."""

    workspace: Workspace
    repository: Repository
    branch: str | None = None


def check_branch(target: Target) -> None:
    """Refuse a branch that the commit could not go to, before anything is paid for.

    Raises:
        InputError: The branch's name is invalid, it exists and is not the current one, or git is in the midst of a
            rebase, a merge, or the like.

    """
    target.repository.check_settled()
    if target.branch is None or target.branch == target.repository.branch():
        return
    if not target.repository.valid_branch_name(target.branch):
        raise InputError(f"--branch: {target.branch!r} is not a name for a branch", code="branch-name")
    if target.repository.has_branch(target.branch):
        raise InputError(
            f"the branch {target.branch!r} exists and is not the current one",
            hint=f"git switch {target.branch}, or give another --branch",
            code="branch-exists",
        )
