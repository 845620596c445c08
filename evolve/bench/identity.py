"""A cell's identity: all that can influence its outcome."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import evolve
from evolve.corpus.loading import LoadedTask
from evolve.digest import sha256_json
from evolve.records.row import CellIdentity
from evolve.sandbox.base import Sandbox
from evolve.snapshot import FileEntry, Snapshot

RUNTIME_PARTS = ("agents", "models", "sandbox", "scoring", "bench/cell.py", "skills.py")
AGENT_BACKEND = "in-process"


def cell_seed(task: str, run: int) -> int:
    """Return the random seed of a cell: from task and run alone, so that all arms share it; 31 bits."""
    digest = hashlib.sha256(f"evolve-cell-seed-v1\0{task}\0{run}".encode()).digest()
    return int.from_bytes(digest[:4], "big") & 0x7FFF_FFFF


@cache
def runtime_digest() -> str:
    """Return the digest of the part of this package that runs and grades cells."""
    root = Path(evolve.__file__).parent
    files: dict[str, FileEntry] = {}
    for part in RUNTIME_PARTS:
        path = root / part
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            files[file.relative_to(root).as_posix()] = FileEntry(file.read_bytes())
    return Snapshot(files).digest


def cell_identity(
    task: LoadedTask, fingerprint: str, agent_identity: dict[str, object], sandbox: Sandbox, run: int
) -> CellIdentity:
    """Return the identity of one cell."""
    backend = f"{AGENT_BACKEND}+{sandbox.name}" if task.runs_model_code else AGENT_BACKEND
    return CellIdentity(
        task=task.id,
        task_sha256=task.task_sha256,
        oracle_sha256=task.oracle_sha256,
        fingerprint=fingerprint,
        agent_sha256=sha256_json(agent_identity),
        sandbox=backend,
        runtime_sha256=runtime_digest(),
        run=run,
        seed=cell_seed(task.id, run),
    )
