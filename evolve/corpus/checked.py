"""Remembering which instruments were tested and found good, so that an unchanged one is not tested again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from evolve.corpus.loading import Corpus, LoadedTask
from evolve.corpus.selftest import InstrumentFault, Lay, check_task, check_together, lay_seed
from evolve.digest import sha256_json
from evolve.errors import EnvironmentFault
from evolve.files import write_atomic
from evolve.runtime import runtime_digest
from evolve.sandbox.base import Sandbox


def instrument_digest(task: LoadedTask, sandbox: Sandbox) -> str:
    """Return the digest of everything that a task's selftest depends on."""
    parts = [task.task_sha256, task.oracle_sha256, task.good.digest, task.bad.digest, sandbox.name, runtime_digest()]
    return sha256_json(parts)


def _read(cache: Path) -> set[str]:
    try:
        value = json.loads(cache.read_bytes())
    except (OSError, ValueError):
        return set()
    return {item for item in value if isinstance(item, str)} if isinstance(value, list) else set()


def check_unchecked(
    corpus: Corpus, skills: Iterable[str], sandbox: Sandbox, cache: Path, lay: Lay = lay_seed
) -> tuple[list[InstrumentFault], int]:
    """Test the instruments that were not found good before; returns the faults and how many were tested.

    Raises:
        EnvironmentFault: The sandbox does not work.

    """
    known = _read(cache)
    faults = check_together(corpus, skills)
    good, tested = set(), 0
    for task in corpus.at_hand:
        digest = instrument_digest(task, sandbox)
        if digest not in known:
            tested += 1
            found = check_task(task, sandbox, lay)
            faults.extend(found)
            if found:
                continue
        good.add(digest)
    if good != known:
        _remember(cache, good)
    return faults, tested


def _remember(cache: Path, good: set[str]) -> None:
    try:
        write_atomic(cache, json.dumps(sorted(good)).encode("utf-8"))
    except EnvironmentFault:
        # Only time is lost without it.
        return
