"""Thousands of changes to every file of a real promotion: the audit finds each that is not one of form alone."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evolve.promote.audit import audit_all, open_audit
from evolve.promote.git import Repository
from evolve.snapshot import Snapshot
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.promote.conftest import Measured

MUTANTS = 2000


@pytest.fixture
def promoted(measured: Measured, evolve: CommandLine) -> Measured:
    assert evolve("promote", measured.overlay).code == 0
    return measured


class KnownHistory(Repository):
    """The history of a repository, asked once: no mutant here touches it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._answers: dict[tuple[str, ...], str] = {}
        self._files: dict[tuple[str, str], bytes | None] = {}
        self._trees: dict[tuple[str, str], Snapshot] = {}

    def _call(self, *arguments: str) -> str:
        if arguments not in self._answers:
            self._answers[arguments] = super()._call(*arguments)
        return self._answers[arguments]

    def blob(self, revision: str, path: str) -> bytes | None:
        if (revision, path) not in self._files:
            self._files[revision, path] = super().blob(revision, path)
        return self._files[revision, path]

    def tree(self, revision: str, folder: str) -> Snapshot:
        if (revision, folder) not in self._trees:
            self._trees[revision, folder] = super().tree(revision, folder)
        return self._trees[revision, folder]


def bytes_changed(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data))
    match rng.randrange(4):
        case 0:
            return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
        case 1:
            return data[:place] + data[place + 1 :]
        case 2:
            return data[:place] + data[place : place + 1] + data[place:]
        case _:
            end = min(len(data), place + rng.randrange(1, 40))
            return data[:place] + data[end:]


def lines_changed(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            del lines[one]
        case 1:
            lines.insert(two, lines[one])
        case 2:
            lines[one], lines[two] = lines[two], lines[one]
        case _:
            lines = lines[: one + 1]
    return b"".join(lines)


def fields_changed(data: bytes, rng: random.Random) -> bytes:
    """Take out, double or change one field anywhere in one of the JSON documents of a file, written canonically."""
    lines = data.splitlines()
    place = rng.randrange(len(lines))
    value = json.loads(lines[place])
    spots = list(_spots(value))
    holder, key = rng.choice(spots)
    match rng.randrange(3):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.append(holder[key])
        case 1:
            holder[f"{key}2"] = holder[key]
        case _:
            holder[key] = _another(holder[key], rng)
    lines[place] = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return b"\n".join(lines) + b"\n"


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from _spots(item)


def _another(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + rng.choice([-1, 1, 0.5, 1000])
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    return None if value is not None else 0


@pytest.mark.parametrize("seed", range(4))
def test_every_mutant_of_every_file_of_a_promotion_is_found(promoted: Measured, seed: int) -> None:
    rng = random.Random(seed)
    files = [path for path in (promoted.root / "promotion").rglob("*") if path.is_file() and path.suffix != ".yaml"]
    originals = {path: path.read_bytes() for path in files}
    repository = KnownHistory(promoted.root)

    def faults() -> int:
        context, chain = open_audit(find_workspace(promoted.root), repository)
        return sum(not finding.holds for finding in [chain, *audit_all(context)])

    assert faults() == 0
    tried, survivors = 0, []
    while tried < MUTANTS // 4:
        path = rng.choice(files)
        before = originals[path]
        ways = [bytes_changed, lines_changed]
        if path.suffix in (".json", ".jsonl"):
            ways.append(fields_changed)
        after = rng.choice(ways)(before, rng)
        if after == before:
            continue  # every file is bound byte for byte, so that no other change is one of form alone
        path.write_bytes(after)
        if not faults():
            survivors.append((path.name, after[:300]))
        path.write_bytes(before)
        tried += 1
    assert survivors == []
    assert faults() == 0
