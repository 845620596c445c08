"""Model weights: what can be installed, what is installed, and which file a name means."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from evolve.errors import EnvironmentFault, InputError
from evolve.models.weights_install import install
from evolve.models.weights_sources import InstallProgress, ProgressCallback
from evolve.models.weights_store import cache_folder, catalogue, catalogue_entry, file_hash, weights_file
from evolve.records.weights import Weights

__all__ = [
    "InstallProgress",
    "ProgressCallback",
    "ResolvedWeights",
    "cache_folder",
    "catalogue",
    "install",
    "installed_path",
    "resolve",
    "verify",
]

PATH_VARIABLE = "EVOLVE_MODEL_PATH"


@dataclass(frozen=True)
class ResolvedWeights:
    """A weights file and what it is; ``name`` is the catalogue's name for that hash, or the file's own."""

    name: str
    path: Path
    sha256: str


def installed_path(name: str) -> Path | None:
    """Return where weights of the catalogue lie, or ``None`` while they are not installed.

    Raises:
        InputError: There are no weights of that name.

    """
    entry = catalogue_entry(name)
    path = weights_file(entry)
    return path if path.is_file() and path.stat().st_size == entry.size_bytes else None


def resolve(name_or_path: str) -> ResolvedWeights:
    """Find the file that a name of the catalogue or a path means.

    ``EVOLVE_MODEL_PATH`` stands in for every name of the catalogue; the result then bears the name of what that
    file really is.

    Raises:
        InputError: It is neither a name of the catalogue nor an existing file.
        EnvironmentFault: The weights are not installed, or are not what the catalogue says, or
            ``EVOLVE_MODEL_PATH`` names no file.

    """
    entry = catalogue().find(name_or_path)
    if entry is None:
        return _by_path(Path(name_or_path), name_or_path)
    override = os.environ.get(PATH_VARIABLE)
    if override:
        return _by_path(Path(override), f"{PATH_VARIABLE}={override}")
    path = installed_path(entry.name)
    if path is None:
        raise EnvironmentFault(
            f"the weights {entry.name} are not installed",
            hint=f"evolve models install {entry.name}",
            code="missing-weights",
        )
    return _checked(entry, path, file_hash(path))


def verify(name: str) -> ResolvedWeights:
    """Hash installed weights afresh and compare with the catalogue.

    Raises:
        InputError: There are no weights of that name.
        EnvironmentFault: They are not installed, or are not what the catalogue says.

    """
    found = resolve(catalogue_entry(name).name)
    return _checked(catalogue_entry(name), found.path, file_hash(found.path, afresh=True))


def _by_path(path: Path, where: str) -> ResolvedWeights:
    path = path.expanduser().absolute()
    if not path.is_file():
        known = ", ".join(catalogue().names())
        fault = EnvironmentFault if where.startswith(PATH_VARIABLE) else InputError
        raise fault(
            f"{where}: neither weights of the catalogue nor a file",
            hint=f"give a path to a GGUF file, or one of: {known}",
            code="unknown-weights",
        )
    sha256 = file_hash(path)
    entry = catalogue().with_hash(sha256)
    return ResolvedWeights(name=entry.name if entry else path.stem, path=path, sha256=sha256)


def _checked(entry: Weights, path: Path, sha256: str) -> ResolvedWeights:
    if sha256 != entry.sha256:
        raise EnvironmentFault(
            f"{path}: not the weights {entry.name}: expected SHA-256 {entry.sha256}, found {sha256}",
            hint=f"evolve models install {entry.name}",
            code="wrong-weights",
        )
    return ResolvedWeights(name=entry.name, path=path, sha256=sha256)
