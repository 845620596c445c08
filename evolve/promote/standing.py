"""Where a skill stands at a revision, by the skill roots that the workspace had then."""

from __future__ import annotations

from collections.abc import Iterable

from evolve.promote.git import Repository
from evolve.records.base import decode_text, parse_yaml
from evolve.records.workspace import WorkspaceSpec
from evolve.skills import SKILL_FILE
from evolve.workspace import WORKSPACE_FILE


def folders_at(repository: Repository, revision: str, skill: str, roots: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that hold a skill at a revision; what is a link or a submodule there is none.

    Args:
        repository: The workspace's repository.
        revision: The revision.
        skill: The skill's name.
        roots: The roots to look below, where ``evolve.yaml`` is not tracked.

    Raises:
        InputError: ``evolve.yaml`` is not valid at the revision.

    """
    data = repository.blob(revision, WORKSPACE_FILE)
    if data is not None:
        roots = parse_yaml(WorkspaceSpec, decode_text(data, WORKSPACE_FILE), WORKSPACE_FILE).skill_roots
    found = (f"{root}/{skill}" for root in roots)
    return tuple(dict.fromkeys(one for one in found if SKILL_FILE in repository.tree(revision, one).files))
