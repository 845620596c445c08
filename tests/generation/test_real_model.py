"""The shipped workspace on the real weights."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evolve.records.base import read_jsonl
from evolve.records.row import Row
from tests.worlds import git

REPOSITORY = Path(__file__).parents[2]
SKILL = "purchase-json"

pytestmark = pytest.mark.model


def small_copy(root: Path) -> Path:
    """Copy the shipped workspace with two train tasks of one skill."""
    for name in ("evolve.yaml", "promotion/policy.yaml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, root / name)
    shutil.copytree(REPOSITORY / "skills" / SKILL, root / "skills" / SKILL)
    kept = ["train-01", "train-02", "selection-01", "sealed-01"]
    for name in kept:
        shutil.copytree(REPOSITORY / "corpus" / f"{SKILL}-{name}", root / "corpus" / f"{SKILL}-{name}")
    git(root, "init", "--quiet")
    return root


@pytest.mark.usefixtures("real_weights")
def test_the_same_cells_give_the_same_replies_in_two_processes(tmp_path: Path) -> None:
    measured = []
    for name in ("first", "second"):
        root = small_copy(tmp_path / name)
        command = [sys.executable, "-m", "evolve", "propose", "--operator", "demonstrate"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        rows = read_jsonl(Row, next((root / "results/sweeps").glob("baseline-*/rows.jsonl")))
        measured.append([(row.key, row.resolved, row.reply_sha256, row.usage.output_tokens) for row in rows])
    assert len(measured[0]) == 2
    assert measured[0] == measured[1]
