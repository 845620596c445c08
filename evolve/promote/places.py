"""The files that a promotion writes: never through a link, never in part."""

from __future__ import annotations

import errno
import re
import stat
from pathlib import Path

from evolve.errors import EvidenceFault
from evolve.files import fsync_folder, write_atomic


def put(path: Path, data: bytes | None, mode: int) -> None:
    """Have a file hold some bytes, or be gone, for good."""
    if data is not None:
        write_atomic(path, data, mode=mode)
    elif path.exists():
        path.unlink()
        fsync_folder(path.parent)


def plain_bytes(path: Path) -> bytes:
    """Return what a file of evidence holds; of a link, a pipe or a device nothing is read, which might have no end.

    Raises:
        OSError: It is missing, or no plain file.

    """
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError(errno.EINVAL, "not a plain file")
    return path.read_bytes()


def clear_temporary(path: Path) -> None:
    """Remove what a writer that was killed between naming a file and renaming it left beside it."""
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-z_]{{8}}\.tmp")
    if path.parent.is_dir():
        for neighbour in path.parent.iterdir():
            if name.fullmatch(neighbour.name):
                neighbour.unlink(missing_ok=True)


def refuse_links(root: Path, path: str) -> None:
    """Refuse a file that is none, or that lies behind a link: what is written there would go elsewhere.

    Raises:
        EvidenceFault: The first part of the path that is a link, or is no folder or file, is named.

    """
    parts = Path(path).parts
    for count in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:count])
        if place.is_symlink():
            raise EvidenceFault(f"{'/'.join(parts[:count])}: a link", hint="put the thing itself there", code="link")
        if place.exists() and (place.is_file() if count < len(parts) else not place.is_file()):
            kind = "not a plain file" if count == len(parts) else "not a folder"
            raise EvidenceFault(f"{'/'.join(parts[:count])}: {kind}", code="not-a-file")
