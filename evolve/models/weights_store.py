"""Which weights there are, where they lie, and what they hash to."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path
from typing import Annotated

import platformdirs
from pydantic import Field

from evolve.digest import sha256_bytes, sha256_file
from evolve.errors import EnvironmentFault, InputError
from evolve.files import write_atomic
from evolve.records.base import Digest, Record, read_json, read_yaml
from evolve.records.weights import Weights, WeightsCatalogue

CACHE_VARIABLE = "EVOLVE_CACHE_DIR"


class HashStamp(Record):
    """A file's hash, good while the file's size and modification time stay the same."""

    size: Annotated[int, Field(ge=0)]
    mtime_ns: str
    sha256: Digest


@functools.cache
def catalogue() -> WeightsCatalogue:
    """Return the weights that can be installed by name."""
    return read_yaml(WeightsCatalogue, Path(__file__).with_name("weights.yaml"))


def catalogue_entry(name: str) -> Weights:
    """Return the weights of a name.

    Raises:
        InputError: There is none of that name.

    """
    known = catalogue()
    entry = known.find(name)
    if entry is None:
        raise InputError(
            f"no weights of the name {name!r}", hint=f"known are: {', '.join(known.names())}", code="unknown-weights"
        )
    return entry


def cache_folder() -> Path:
    """Return the folder of installed weights: below ``EVOLVE_CACHE_DIR``, or the user's cache."""
    root = os.environ.get(CACHE_VARIABLE)
    return (Path(root).expanduser().absolute() if root else platformdirs.user_cache_path("evolve")) / "weights"


def weights_file(entry: Weights) -> Path:
    """Return where the weights of a catalogue entry lie once they are installed."""
    return cache_folder() / f"{entry.name}.gguf"


def file_hash(path: Path, *, afresh: bool = False) -> str:
    """Return a file's SHA-256, from its stamp while size and modification time are those of the stamp.

    Raises:
        EnvironmentFault: The file cannot be read.

    """
    try:
        status = path.stat()
        stamp = None if afresh else _read_stamp(path)
        if stamp and (stamp.size, stamp.mtime_ns) == (status.st_size, str(status.st_mtime_ns)):
            return stamp.sha256
        sha256 = sha256_file(path)
    except OSError as error:
        raise EnvironmentFault(f"{path}: cannot be read: {error.strerror}") from error
    stamp = HashStamp(size=status.st_size, mtime_ns=str(status.st_mtime_ns), sha256=sha256)
    # A cache that cannot be written costs time, not truth.
    with contextlib.suppress(EnvironmentFault):
        write_atomic(_stamp_path(path), stamp.canonical())
    return sha256


def forget_hash(path: Path) -> None:
    """Remove a file's stamp."""
    _stamp_path(path).unlink(missing_ok=True)


def _stamp_path(path: Path) -> Path:
    key = sha256_bytes(os.fsencode(path.resolve()))
    return cache_folder() / "stamps" / f"{key}.json"


def _read_stamp(path: Path) -> HashStamp | None:
    try:
        return read_json(HashStamp, _stamp_path(path))
    except InputError:
        return None
