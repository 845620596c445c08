"""An audit reads nothing that has no end: a clone may hold a link to a device in place of any file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evolve.errors import InputError
from evolve.records.base import read_jsonl
from evolve.records.row import Row
from tests.conftest import CommandLine
from tests.promote.conftest import Measured


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("ledger.jsonl", "--all"),
        ("ledger.jsonl", "folder"),
        ("bracket/*/promotion.json", "--all"),
        ("bracket/*/rows.jsonl", "--all"),
        ("bracket/*/rows.jsonl", "folder"),
    ],
)
def test_what_is_a_link_in_place_of_a_file_is_a_fault(
    measured: Measured, evolve: CommandLine, name: str, scope: str
) -> None:
    assert evolve("promote", measured.overlay).code == 0
    path = next((measured.root / "promotion").glob(name))
    path.unlink()
    path.symlink_to("/dev/full")  # which ends no more than /dev/zero does
    ran = evolve("audit", scope if scope == "--all" else measured.folder.relative_to(measured.root).as_posix())
    assert (ran.code, "a plain file" in ran.out or "not a file" in ran.out) == (4, True), ran.out + ran.err


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.jsonl")
    with pytest.raises(InputError, match="not a file"):
        list(read_jsonl(Row, tmp_path / "rows.jsonl"))
