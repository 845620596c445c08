"""What the work of a task begins with: made once, and copied, or shown read-only, for every cell."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evolve.corpus.clone import Recipe, build_clean, content_key
from evolve.corpus.loading import Corpus, LoadedTask
from evolve.corpus.plumbing import git
from evolve.corpus.sources import git_dir_of
from evolve.digest import foreign_tree_digest, sha256_bytes
from evolve.errors import EnvironmentFault, InputError
from evolve.files import write_atomic, writer_lock
from evolve.hostile import remove_tree
from evolve.records.task import SetupCommand
from evolve.sandbox.box import Box, BoxJob, BoxLimits
from evolve.workspace import WORKSPACE_FILE, Workspace

TREE, SEAL = "tree", "seal"


@dataclass(frozen=True)
class Beginning:
    """A folder to begin with, and its digest; whoever may write gets a copy of it."""

    tree: Path
    digest: str

    def copy_to(self, target: Path) -> None:
        """Copy it, sharing blocks where the file system can.

        Raises:
            EnvironmentFault: It cannot be copied.

        """
        target.mkdir(parents=True, exist_ok=True)
        ran = subprocess.run(
            ["cp", "-a", "--reflink=auto", "--", f"{self.tree}/.", str(target)], capture_output=True, check=False
        )
        if ran.returncode != 0:
            said = ran.stderr.decode("utf-8", errors="replace").strip()[-300:]
            raise EnvironmentFault(f"{target}: the work cannot be copied: {said}", code="copy-failed")


@dataclass
class Beginnings:
    """Makes beginnings, and keeps them by what they are made of.

    Args:
        workspace: Gives the folders.
        corpus: All tasks: no file of a repository may have the content of an oracle's.
        box: Returns where setups run.
        told: Told what is left out of a repository.

    """

    workspace: Workspace
    corpus: Corpus
    box: Callable[[], Box]
    told: Callable[[str], None] = lambda _: None
    _known: dict[str, Beginning] = field(default_factory=dict)

    def of(self, task: LoadedTask) -> Beginning | None:
        """Return what a task begins with; ``None`` where that is its seed files alone.

        Raises:
            InputError: Repository, patch or setup are not what the task needs.
            EnvironmentFault: git or the sandbox failed.

        """
        if not task.has_repository and not task.task.setup:
            return None
        if task.id not in self._known:
            self._known[task.id] = self._make(task)
        return self._known[task.id]

    def _make(self, task: LoadedTask) -> Beginning:
        recipe, source = self._recipe(task)
        setup = repr([command.json_value() for command in task.task.setup])
        setup += repr([dependency.path for dependency in task.task.dependencies])
        key = sha256_bytes(f"{content_key(recipe, source)}\0{setup}\0{task.has_repository}".encode())
        folder = self.workspace.beginnings / key[:32]
        with writer_lock(folder.with_suffix(".lock"), f"the beginning of {task.id}", wait_s=3600):
            if (found := _whole(folder)) is None:
                remove_tree(folder)
                found = self._build(task, recipe, folder)
        return found

    def _recipe(self, task: LoadedTask) -> tuple[Recipe, str]:
        spec = task.task.repository
        git_dir = None if spec is None else git_dir_of(spec, self.workspace)
        hidden = () if git_dir is None or spec is None else self._hidden_paths(git_dir, spec.commit)
        recipe = Recipe(
            git_dir=git_dir,
            commit="" if spec is None else spec.commit,
            removed=(*hidden, *(spec.remove if spec else ())),
            seed=task.seed,
            oracles=self._oracle_digests() if spec is not None else {},
            patch=task.patch,
        )
        return recipe, "" if spec is None else (spec.url or spec.path or "")

    def _hidden_paths(self, git_dir: Path, commit: str) -> tuple[str, ...]:
        """Return the folders of a workspace in a repository: tasks, evidence and skills are not for the agent."""
        spec = self.workspace.spec
        own = (spec.corpus, spec.promotion, spec.overlays, spec.results, *spec.skill_roots)
        listed = git("--git-dir", str(git_dir), "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
        names = listed.decode("utf-8", errors="replace").split("\0")
        workspaces = [name.removesuffix(WORKSPACE_FILE) for name in names if Path(name).name == WORKSPACE_FILE]
        return tuple(f"/{folder}{part}/" for folder in workspaces for part in own)

    def _oracle_digests(self) -> Mapping[str, str]:
        return {
            f"{task.id}/{part}/{path}": sha256_bytes(entry.content)
            for task in self.corpus.tasks
            for part, files in (("oracle", task.oracle_files), ("reference/good", task.good))
            for path, entry in files.files.items()
        }

    def _build(self, task: LoadedTask, recipe: Recipe, folder: Path) -> Beginning:
        building = folder.with_suffix(".building")
        remove_tree(building)
        tree = building / TREE
        building.mkdir(parents=True)
        if task.has_repository:
            for note in build_clean(recipe, tree):
                self.told(f"task {task.id}: {note}")
        else:
            task.seed.write_scratch(tree)
        for command in task.task.setup:
            self._set_up(task, command, tree, building)
        for dependency in task.task.dependencies:
            (tree / dependency.path).mkdir(parents=True, exist_ok=True)
        digest = foreign_tree_digest(tree)
        write_atomic(building / SEAL, digest.encode("ascii"))
        building.rename(folder)
        return Beginning(folder / TREE, digest)

    def _set_up(self, task: LoadedTask, command: SetupCommand, tree: Path, room: Path) -> None:
        for name in ("home", "gateway"):
            shutil.rmtree(room / name, ignore_errors=True)
            (room / name).mkdir()
        (room / "prompt").write_bytes(b"")
        box = self.box()
        job = BoxJob(
            argv=command.argv,
            env={},
            work=tree,
            home=room / "home",
            prompt=room / "prompt",
            gateway=room / "gateway",
            stdout=room / "out",
            stderr=room / "err",
            limits=BoxLimits(wall_s=command.timeout_s, idle_s=command.timeout_s),
            places=box.places(room),
        )
        end = box.run(job)
        if end.exit_code == 0:
            return
        how = f"exit {end.exit_code}" if end.stop is None else f"the {end.stop}"
        said = (room / "err").read_bytes()[-300:].decode("utf-8", errors="replace").strip()
        raise InputError(
            f"task {task.id}: setup: {' '.join(command.argv)[:120]}: {how}{f': {said}' if said else ''}",
            hint="it runs in the work, without network",
            code="setup-failed",
        )


def _whole(folder: Path) -> Beginning | None:
    """Return a beginning that was made before, when it is still what it was."""
    try:
        sealed = (folder / SEAL).read_text("ascii")
        if foreign_tree_digest(folder / TREE) != sealed:
            return None
        if (folder / TREE / ".git").is_dir():
            git("--git-dir", str(folder / TREE / ".git"), "fsck", "--full", "--strict", "--no-progress")
    except (OSError, InputError, EnvironmentFault, UnicodeDecodeError):
        return None
    return Beginning(folder / TREE, sealed)
