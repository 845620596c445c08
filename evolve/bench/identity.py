"""A cell's identity: all that can influence its outcome."""

from __future__ import annotations

import hashlib

from evolve.corpus.loading import LoadedTask
from evolve.digest import sha256_json
from evolve.records.row import CellIdentity
from evolve.runtime import runtime_digest
from evolve.sandbox.base import Sandbox

AGENT_BACKEND = "in-process"


def cell_seed(task: str, run: int) -> int:
    """Return the random seed of a cell: from task and run alone, so that all arms share it; 31 bits."""
    digest = hashlib.sha256(f"evolve-cell-seed-v1\0{task}\0{run}".encode()).digest()
    return int.from_bytes(digest[:4], "big") & 0x7FFF_FFFF


def cell_identity(
    task: LoadedTask, fingerprint: str, agent_identity: dict[str, object], sandbox: Sandbox, run: int
) -> CellIdentity:
    """Return the identity of one cell."""
    backend = str(agent_identity.get("backend", AGENT_BACKEND))
    backend = f"{backend}+{sandbox.name}" if task.runs_model_code else backend
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
        beginning_sha256=task.beginning_sha256,
    )
