"""Handling folders that somebody else wrote: no link is followed, nothing blocks, nothing is read without bound."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

MAX_DEPTH = 64
MAX_FOLDERS = 10_000


MOST_COUNTED = 10**12
"""What no session counts of anything: tokens, turns, milliseconds."""


def as_count(value: object) -> int | None:
    """Return a value that somebody else reported if it counts something, and can be what was counted."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_COUNTED:
        return None
    return value


def read_below(root: Path, relative: str, max_bytes: int) -> bytes | None:
    """Read a regular file below a folder; ``None`` when it is missing, reached through a link, none, or too large."""
    *folders, name = PurePosixPath(relative).parts or ("",)
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in folders:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        finally:
            os.close(folder)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
                return None
            return file.read(max_bytes)
    except (OSError, ValueError):
        return None


def open_file(path: Path) -> io.BufferedReader:
    """Open a file to be read, if it is one: a pipe would wait for a writer for ever, and a device has no end.

    Raises:
        OSError: It cannot be opened, or is no regular file.

    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a file", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def files_below(root: Path, suffix: str) -> Iterator[str]:
    """Yield the relative paths of regular files of a suffix below a folder, sorted within each folder."""
    waiting, seen = [(PurePosixPath(), 0)], 0
    while waiting and seen < MAX_FOLDERS:
        relative, depth = waiting.pop()
        seen += 1
        with contextlib.suppress(OSError), os.scandir(root / relative) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
                    waiting.append((relative / entry.name, depth + 1))
                elif entry.name.endswith(suffix) and entry.is_file(follow_symlinks=False):
                    yield (relative / entry.name).as_posix()


def entries_of(folder: Path) -> set[str]:
    """Return the names in a folder; none for one that cannot be listed."""
    try:
        return {os.fsencode(name).decode("utf-8", errors="replace") for name in os.listdir(folder)}
    except OSError:
        return set()


def write_fresh(path: Path, text: str) -> None:
    """Write a file in place of whatever stands under its name, through no link.

    Raises:
        OSError: It cannot be written.

    """
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8", errors="replace"))


def remove_tree(root: Path) -> bool:
    """Remove a folder, however deep it is and whatever its permissions; true when nothing of it is left."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(root, ignore_errors=True)
    if os.path.lexists(root):
        for command in (["chmod", "-R", "u+rwX", "--", str(root)], ["rm", "-rf", "--one-file-system", "--", str(root)]):
            with contextlib.suppress(OSError):
                subprocess.run(command, capture_output=True, check=False)
    return not os.path.lexists(root)
