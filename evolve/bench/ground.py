"""What the cells of a task stand on: its beginning, and what it depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from evolve.corpus.beginnings import Beginning, Beginnings
from evolve.corpus.dependencies import Dependencies, Frozen
from evolve.corpus.loading import Corpus, LoadedTask
from evolve.digest import sha256_json
from evolve.sandbox.box import Box
from evolve.workspace import Workspace


@dataclass(frozen=True)
class Ground:
    """What a cell's folders are made of beside seed files and skills."""

    beginning: Beginning | None = None
    dependencies: tuple[Frozen, ...] = ()

    @property
    def digest(self) -> str | None:
        """Digest of all of it; ``None`` when there is none."""
        if self.beginning is None and not self.dependencies:
            return None
        dependencies = {dependency.path: dependency.digest for dependency in self.dependencies}
        return sha256_json([self.beginning.digest if self.beginning else None, dependencies])

    def lay(self, task: LoadedTask, folder: Path) -> None:
        """Lay out what the work of a task begins with."""
        if self.beginning is None:
            task.seed.write_scratch(folder)
        else:
            self.beginning.copy_to(folder)
        for path in self.mounts():
            (folder / path).mkdir(parents=True, exist_ok=True)

    def mounts(self) -> Mapping[str, Path]:
        """Return what is mounted read-only, by its path in the work."""
        return {dependency.path: dependency.tree for dependency in self.dependencies}

    def caches(self) -> tuple[tuple[str, Path], ...]:
        """Return the paths in the work that each cell has a writable copy of, and what they begin with."""
        return tuple((f"{one.path}/{cache}", one.tree / cache) for one in self.dependencies for cache in one.caches)


@dataclass
class Grounds:
    """Finds what tasks stand on; each is made once."""

    workspace: Workspace
    corpus: Corpus
    box: Callable[[], Box]
    told: Callable[[str], None] = lambda _: None
    _known: dict[str, Ground] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the makers."""
        self._beginnings = Beginnings(self.workspace, self.corpus, self.box, self.told)
        self._dependencies = Dependencies(self.workspace)

    def of(self, task: LoadedTask) -> Ground:
        """Return what a task stands on.

        Raises:
            EvolveError: It cannot be made; the message names the task.

        """
        if task.id not in self._known:
            self._known[task.id] = Ground(self._beginnings.of(task), self._dependencies.of(task.task))
        return self._known[task.id]

    def lay(self, task: LoadedTask, folder: Path) -> Mapping[str, Path]:
        """Lay out what a task begins with in a folder, and return what is to be mounted in it."""
        ground = self.of(task)
        ground.lay(task, folder)
        return ground.mounts()

    def stood(self, task: LoadedTask) -> LoadedTask:
        """Return a task whose cells are named by what it stands on too."""
        return replace(task, beginning_sha256=self.of(task).digest)
