"""Applying patches to a commit without touching its repository: in an index and an object store of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evolve.corpus.plumbing import clean_environment, git
from evolve.errors import EnvironmentFault, InputError
from evolve.files import safe_relative
from evolve.scratch import short_lived
from evolve.snapshot import FileEntry

PLAIN_MODES = {"100644": False, "100755": True}
MAX_FILE_BYTES = 8 * 1024 * 1024


def files_of_patch(patch: str, where: str) -> tuple[str, ...]:
    """Return the paths that a patch is about, as they are after it.

    Raises:
        InputError: It is no patch, or names a path outside.

    """
    with short_lived("patch") as scratch:
        try:
            listed = git("apply", "--numstat", "-z", "-", at=Path(scratch), stdin=patch.encode("utf-8"))
        except EnvironmentFault as error:
            raise InputError(f"{where}: not a patch: {error.message}", code="broken-patch") from error
    names = [record.split(b"\t", 2)[-1] for record in listed.split(b"\0") if record]
    paths = [name.decode("utf-8", errors="replace") for name in names if name]
    if not paths:
        raise InputError(f"{where}: a patch of no file", code="broken-patch")
    return tuple(safe_relative(path, where=where).as_posix() for path in paths)


@dataclass(frozen=True)
class Changes:
    """What a patch makes of a commit: files as they are after it and as they were, and paths that it removes."""

    after: dict[str, FileEntry]
    before: dict[str, FileEntry]
    removed: tuple[str, ...]


@dataclass(frozen=True)
class Applied:
    """An index over a commit that patches are applied to."""

    git_dir: Path
    commit: str
    env: dict[str, str]

    def apply(self, patch: str, where: str) -> None:
        """Apply a patch.

        Raises:
            InputError: It does not apply.

        """
        try:
            self._git("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch.encode("utf-8"))
        except EnvironmentFault as error:
            raise InputError(f"{where}: does not apply: {error.message}", code="broken-patch") from error

    def changes(self, where: str) -> Changes:
        """Return what was changed since the commit.

        Raises:
            InputError: A file became a link or a submodule, or is too large.

        """
        listed = self._git("diff-index", "--cached", "--raw", "-z", "--no-renames", "--abbrev=64", self.commit)
        parts = listed.decode("utf-8", errors="replace").split("\0")
        after: dict[str, FileEntry] = {}
        before: dict[str, FileEntry] = {}
        removed = []
        for head, path in zip(parts[::2], parts[1::2], strict=False):
            old_mode, new_mode, old, new, _ = head.lstrip(":").split(" ")
            safe_relative(path, where=where)
            if old_mode in PLAIN_MODES:
                before[path] = FileEntry(self._blob(old), PLAIN_MODES[old_mode])
            if new_mode == "000000":
                removed.append(path)
            elif new_mode not in PLAIN_MODES:
                raise InputError(f"{where}: makes {path} a link or a submodule", code="link")
            else:
                after[path] = FileEntry(self._blob(new), PLAIN_MODES[new_mode])
        if any(len(entry.content) > MAX_FILE_BYTES for entry in after.values()):
            raise InputError(f"{where}: makes a file of more than {MAX_FILE_BYTES} bytes", code="too-large")
        return Changes(after, before, tuple(removed))

    def _blob(self, sha: str) -> bytes:
        return self._git("cat-file", "blob", sha)

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return git("--git-dir", str(self.git_dir), *arguments, stdin=stdin, env=self.env)


@contextmanager
def over_commit(git_dir: Path, commit: str) -> Iterator[Applied]:
    """Give an index over a commit; the repository itself is only read.

    Raises:
        EnvironmentFault: git failed.

    """
    with short_lived("index") as scratch:
        objects = Path(scratch) / "objects"
        objects.mkdir()
        env = clean_environment(
            GIT_INDEX_FILE=f"{scratch}/index",
            GIT_OBJECT_DIRECTORY=str(objects),
            GIT_ALTERNATE_OBJECT_DIRECTORIES=str(_objects_of(git_dir)),
        )
        applied = Applied(git_dir, commit, env)
        git("--git-dir", str(git_dir), "read-tree", commit, env=env)
        yield applied


def _objects_of(git_dir: Path) -> Path:
    """Return where the objects are; a worktree's are with its main repository."""
    found = git("--git-dir", str(git_dir), "rev-parse", "--path-format=absolute", "--git-path", "objects")
    return Path(found.decode("utf-8").rstrip("\n"))
