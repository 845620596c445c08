"""Every page of a workspace as files, for any web host or to be opened from a disk."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from evolve.errors import EnvironmentFault, EvolveError, InputError
from evolve.view.site import Site


def export_site(site: Site, target: Path) -> int:
    """Write every page below a new folder and return how many there are; a kill leaves no half of it there.

    Raises:
        InputError: The folder is there already.
        EnvironmentFault: It cannot be written.

    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: there is something already", hint="give a new folder", code="exists")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        waiting = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            count = _write(site, waiting)
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
    return count


def _write(site: Site, folder: Path) -> int:
    count = 0
    for path in site.paths():
        try:
            page = site.page(path)
        except EvolveError as error:
            page = site.error_page("This cannot be shown", error, path.count("/"))
        if page is None:
            continue
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(page)
        count += 1
    return count
