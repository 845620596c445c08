"""Every page of a workspace as files, for any web host or to be opened from a disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evolve.errors import EnvironmentFault, InputError
from evolve.view.site import Site, known


@dataclass(frozen=True)
class Exported:
    """What was written.

    Args:
        pages: How many pages.
        faults: Those of them that say why they cannot be shown, each with the reason.

    """

    pages: int
    faults: Mapping[str, str]


def export_site(site: Site, target: Path) -> Exported:
    """Write every page below a new folder; a kill leaves no half of it there.

    Raises:
        InputError: The folder is there already.
        EnvironmentFault: It cannot be written.

    """
    target = Path(os.path.realpath(target))
    if target == Path(os.path.realpath(".")):
        raise InputError(f"{target}: the working folder", hint="give a new folder", code="exists")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: there is something already", hint="give a new folder", code="exists")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        waiting = Path(tempfile.mkdtemp(prefix=".evolve-view-", dir=target.parent))
        try:
            written = _write(site, waiting)
            waiting.chmod(0o755)
            if target.exists():
                target.rmdir()
            waiting.rename(target)
        except BaseException:
            shutil.rmtree(waiting, ignore_errors=True)
            raise
    except OSError as error:
        text = f"{error.filename or target}: cannot be written: {error.strerror}"
        raise EnvironmentFault(text, hint="free some space, or give another folder", code="not-written") from error
    return written


def _write(site: Site, folder: Path) -> Exported:
    count, faults = 0, {}
    for path in site.paths():
        try:
            page = site.page(path)
        except Exception as error:  # whatever lies on the disk, every other page is written
            faults[path] = known(error).message
            page = site.error_page("This cannot be shown", known(error), path.count("/"))
        if page is None:
            continue
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(page)
        count += 1
    return Exported(count, faults)
