"""Writing files so that a crash leaves the old state or the new one, never a part."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from evolve.errors import BusyError, EnvironmentFault, InputError
from evolve.hostile import open_file

MAX_PATH_CHARS = 1024
MAX_NAME_BYTES = 255
STALE_S = 24 * 3600
CLOCK_SLACK_S = 5.0
MAX_PID_BYTES = 64


def fsync_folder(folder: Path) -> None:
    """Make a rename or a new name in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that it has the old content or the new one, whatever happens on the way.

    The new content has no name before it is complete, where the file system can do that (``O_TMPFILE``), so that a
    process that is killed leaves nothing beside the file; elsewhere it is written to a temporary neighbour.

    Raises:
        EnvironmentFault: The file system refused; the old content is untouched.

    """
    named: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _nameless(path.parent)
        if descriptor is None:
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
            named = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            if named is None:
                named = path.parent / f".{path.name}.{secrets.token_hex(4)}.tmp"
                _give_name(file.fileno(), named)
            named.replace(path)
        fsync_folder(path.parent)
    except OSError as error:
        if named is not None:
            named.unlink(missing_ok=True)
        raise _cannot_write(path, error) from error


def _nameless(folder: Path) -> int | None:
    """Open a file without a name in a folder; ``None`` where that is not possible."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return None
        raise


def _give_name(descriptor: int, path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:  # only with a folder's descriptor does Python follow the link below /proc
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def write_folder(target: Path, fill: Callable[[Path], None], *, staging: Path) -> None:
    """Fill a folder elsewhere and move it into place when it is complete; what was there before is replaced.

    Args:
        target: The folder.
        fill: Writes the files below the folder that it is given.
        staging: A folder that nobody reads; what a killed process left there is cleared away. Where it is on another
            file system than the target, a hidden folder beside the target stands in for it.

    Raises:
        EnvironmentFault: The file system refused; the target is untouched.

    """
    try:
        try:
            _fill_and_move(target, fill, staging)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            beside = target.parent / f".{target.name}.staging"
            try:
                _fill_and_move(target, fill, beside)
            finally:
                shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise _cannot_write(target, error) from error


def _fill_and_move(target: Path, fill: Callable[[Path], None], staging: Path) -> None:
    staging.mkdir(parents=True, exist_ok=True)
    _clear_stale(staging)
    with tempfile.TemporaryDirectory(dir=staging, ignore_cleanup_errors=True) as scratch:
        made, old = Path(scratch) / "new", Path(scratch) / "old"
        made.mkdir()
        fill(made)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            target.rename(old)
        made.rename(target)
        fsync_folder(target.parent)


def _clear_stale(staging: Path) -> None:
    oldest = time.time() - STALE_S
    for left in staging.iterdir():
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < oldest:
                shutil.rmtree(left, ignore_errors=True)


def _cannot_write(path: Path, error: OSError) -> EnvironmentFault:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "free some space, then: evolve resume" if full else None
    return EnvironmentFault(f"{path}: cannot be written: {error.strerror}", hint=hint, code="not-written")


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder's files to a folder that must not exist, keeping links as links."""
    shutil.copytree(source, target, symlinks=True)


def safe_relative(text: str, *, where: str) -> PurePosixPath:
    """Read a relative POSIX path from untrusted text.

    Raises:
        InputError: It is empty, absolute, too long, no Unicode, climbs out, enters ``.git``, or holds control
            characters.

    """
    path = PurePosixPath(text)
    parts = path.parts
    bad = (
        not text
        or path.is_absolute()
        or "\\" in text
        or any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 for character in text)
        or len(text) > MAX_PATH_CHARS
        or any(len(part.encode("utf-8", errors="replace")) > MAX_NAME_BYTES for part in parts)
        or any(part in ("..", ".") or part.casefold() == ".git" for part in parts)
        or not parts
    )
    if bad:
        raise InputError(f"{where}: {text!r} is not a path inside the folder", code="unsafe-path")
    return path


@contextlib.contextmanager
def writer_lock(path: Path, what: str, *, wait_s: float = 0) -> Iterator[None]:
    """Hold the lock of the one writer of something.

    Args:
        path: The lock file; it holds the writer's process id while it is held.
        what: What is locked, for the message.
        wait_s: How long to wait for another writer to end.

    Raises:
        BusyError: Another process holds it; the message says which.

    """
    import filelock

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(path, timeout=wait_s)
    holder = path.with_suffix(".pid")
    try:
        lock.acquire()
    except filelock.Timeout as error:
        pid = _holder_of(holder)
        raise BusyError(
            f"{what} is being written by another process (pid {pid})",
            hint="wait for it to end, or stop it; what it has paid for is kept",
        ) from error
    try:
        holder.write_text(f"{os.getpid()}\n", encoding="utf-8")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def holder_of(lock: Path) -> int | None:
    """Return the process that holds the lock of a writer; ``None`` when none that is alive does.

    A process that began after the lock was taken only has the number of one that is gone.
    """
    path = lock.with_suffix(".pid")
    try:
        pid = int(_holder_of(path))
    except ValueError:
        return None
    if pid <= 0:  # which would mean whole groups of processes
        return None

    import psutil

    try:
        taken = path.stat().st_mtime
        return pid if psutil.Process(pid).create_time() <= taken + CLOCK_SLACK_S else None
    except (psutil.NoSuchProcess, OSError, OverflowError, ValueError):
        return None
    except psutil.AccessDenied:
        return pid


def _holder_of(path: Path) -> str:
    try:
        with open_file(path) as file:
            return file.read(MAX_PID_BYTES).decode("ascii").strip() or "unknown"
    except (OSError, ValueError):
        return "unknown"
