"""Folders for work that is thrown away: private, and cleared when the process that made them was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from evolve.errors import EnvironmentFault
from evolve.hostile import remove_tree

LOCK_SUFFIX = ".lock"
SHORT_LIVED, SHORT_LIVED_S = "short-", 3600


def scratch_root() -> Path:
    """Return the folder of all scratch folders of this user, made so that nobody else can enter it.

    Raises:
        EnvironmentFault: Somebody else owns it, or it cannot be made.

    """
    root = Path(tempfile.gettempdir()) / f"evolve-{os.getuid()}"
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        status = root.lstat()
    except OSError as error:
        raise EnvironmentFault(f"{root}: cannot be made: {error.strerror}", hint="set TMPDIR to a folder") from error
    if root.is_symlink() or not root.is_dir() or status.st_uid != os.getuid() or status.st_mode & 0o077:
        hint = "remove it, or set TMPDIR to a folder of your own"
        raise EnvironmentFault(f"{root}: not a folder of yours alone", hint=hint, code="unsafe-scratch")
    return root


def short_lived(what: str) -> tempfile.TemporaryDirectory[str]:
    """Return a folder for the length of one step; what a killed process leaves of it is cleared an hour later."""
    return tempfile.TemporaryDirectory(dir=scratch_root(), prefix=f"{SHORT_LIVED}{what}-")


class Scratch:
    """A folder of this process; the lock beside it says that the process lives, in whatever container."""

    def __init__(self) -> None:
        root = scratch_root()
        clear_dead(root)
        self._lock, self.folder = _locked(root)
        self.folder.mkdir(mode=0o700)

    def __enter__(self) -> Self:
        """Return the folder's holder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove everything below the folder."""
        self.close()

    def close(self) -> None:
        """Remove the folder, then the lock that stands for it."""
        _remove(self.folder)
        os.close(self._lock)


def _locked(root: Path) -> tuple[int, Path]:
    while True:
        descriptor, name = tempfile.mkstemp(dir=root, prefix="cells-", suffix=LOCK_SUFFIX)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        lock = Path(name)
        with contextlib.suppress(FileNotFoundError):
            if lock.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor, lock.with_suffix("")
        os.close(descriptor)  # another process took the new lock for one of the dead


def clear_dead(root: Path) -> None:
    """Remove the folders whose processes are gone: nobody holds their lock, or there is none."""
    for folder in root.glob("cells-*"):
        if folder.is_dir() and not folder.with_suffix(LOCK_SUFFIX).exists():
            remove_tree(folder)
    oldest = time.time() - SHORT_LIVED_S
    for folder in root.glob(f"{SHORT_LIVED}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_mtime < oldest:
                remove_tree(folder)
    for lock in root.glob(f"*{LOCK_SUFFIX}"):
        with contextlib.suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(lock.with_suffix(""))
            finally:
                os.close(descriptor)


def _remove(folder: Path) -> None:
    if remove_tree(folder):
        folder.with_suffix(LOCK_SUFFIX).unlink(missing_ok=True)
