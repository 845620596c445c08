"""What tasks need and do not hold: copied once, named by digest, mounted read-only."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from evolve.digest import foreign_tree_digest, sha256_json, stat_digest
from evolve.errors import EnvironmentFault, InputError
from evolve.files import write_atomic, writer_lock
from evolve.hostile import remove_tree
from evolve.records.task import Dependency, Task
from evolve.workspace import Workspace

TREE, SEAL = "tree", "seal"


@dataclass(frozen=True)
class Frozen:
    """A dependency as it is mounted: where in the work, what, its digest, and which folders of it are written to."""

    path: str
    tree: Path
    digest: str
    caches: tuple[str, ...]


@dataclass
class Dependencies:
    """Copies the folders that tasks depend on, once, and keeps them by what stands in them."""

    workspace: Workspace
    _known: dict[str, Frozen] = field(default_factory=dict)

    def of(self, task: Task) -> tuple[Frozen, ...]:
        """Return what a task depends on.

        Raises:
            InputError: A folder is not there, or cannot be copied.

        """
        return tuple(self._frozen(task.id, dependency) for dependency in task.dependencies)

    def _frozen(self, task: str, dependency: Dependency) -> Frozen:
        key = sha256_json(dependency.json_value())
        if key not in self._known:
            self._known[key] = self._freeze(task, dependency)
        return self._known[key]

    def _freeze(self, task: str, dependency: Dependency) -> Frozen:
        source = (self.workspace.root / Path(dependency.source).expanduser()).resolve()
        if "\0" in dependency.source or not source.is_dir():
            raise InputError(
                f"task {task}: dependencies: {dependency.source!r}: no such folder",
                hint="make it first, as by python -m venv or npm ci",
                code="no-dependency",
            )
        folder = self.workspace.beginnings / "dependencies" / sha256_json([str(source), stat_digest(source)])[:32]
        with writer_lock(folder.with_suffix(".lock"), f"the dependency {source}", wait_s=3600):
            if not (folder / SEAL).exists():
                _copy(source, folder)
            digest = (folder / SEAL).read_text("ascii")
        return Frozen(dependency.path, folder / TREE, digest, dependency.caches)


def _copy(source: Path, folder: Path) -> None:
    building = folder.with_suffix(".building")
    remove_tree(building)
    remove_tree(folder)
    building.mkdir(parents=True)
    command = ["cp", "-a", "--reflink=auto", "--", str(source), str(building / TREE)]
    ran = subprocess.run(command, capture_output=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    if ran.returncode != 0:
        said = ran.stderr.decode("utf-8", errors="replace").strip()[-300:]
        raise EnvironmentFault(f"{source}: cannot be copied: {said}", code="copy-failed")
    write_atomic(building / SEAL, foreign_tree_digest(building / TREE).encode("ascii"))
    building.rename(folder)
