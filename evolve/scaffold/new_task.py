"""What ``evolve corpus new`` writes: a whole task of a kind, with comments that say what is to be filled in."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from evolve.corpus.loading import LoadedTask, task_of
from evolve.corpus.naming import free_id
from evolve.errors import EnvironmentFault, InputError
from evolve.files import write_folder
from evolve.records.kinds import Split
from evolve.snapshot import Snapshot
from evolve.workspace import Workspace

KINDS = ("answer", "edit", "review", "repository")
SUFFIX = ".j2"


def new_task(workspace: Workspace, kind: str, identifier: str, *, skill: str, split: Split) -> tuple[Path, LoadedTask]:
    """Write a task folder that ``evolve check`` passes as it stands; all of it or nothing.

    Args:
        workspace: Where it is written.
        kind: One of ``KINDS``.
        identifier: Its id, and the name of its folder.
        skill: The skill that it exercises.
        split: Its split.

    Returns:
        The folder, and the task.

    Raises:
        InputError: The id is taken or is none, the skill is not there, or a repository is asked for where none is.

    """
    free_id(workspace, identifier)
    workspace.skill(skill)
    values = {"id": identifier, "skill": skill, "split": split.value}
    if kind == "repository":
        values |= {"path": ".", "commit": _head(workspace.root)}
    files = Snapshot.of_texts(_rendered(kind, values))
    target = workspace.corpus / identifier
    task = task_of(files, target)
    write_folder(target, files.write, staging=workspace.staging)
    return target, task


def _head(root: Path) -> str:
    from evolve.corpus.plumbing import git

    try:
        return git("-C", str(root), "rev-parse", "--verify", "HEAD^{commit}").decode("ascii").strip()
    except EnvironmentFault as error:
        raise InputError(
            f"{root}: no git repository with a commit", hint="git init, git add and git commit first", code="no-commit"
        ) from error


def _rendered(kind: str, values: dict[str, str]) -> dict[str, str]:
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    folder = resources.files("evolve.scaffold") / "templates" / "tasks" / kind
    return {
        path.removesuffix(SUFFIX): environment.from_string(source.read_text("utf-8")).render(**values)
        for path, source in _below(folder, "")
    }


def _below(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _below(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(SUFFIX):
            found.append((f"{prefix}{entry.name}", entry))
    return found
