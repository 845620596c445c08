"""What is running, what was interrupted, and what comes next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from evolve.files import holder_of, writer_lock
from tests.bench.test_runner import sweep_of, write_overlay
from tests.builders import NO_FILES, put_no_file
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, raising


def test_a_workspace_without_sweeps_says_what_to_do(workspace: Path, evolve: CommandLine) -> None:
    ran = evolve("status")
    assert (ran.code, ran.out) == (0, "no sweep yet: evolve generation\n")
    assert evolve("status", "--json").json()["sweeps"] == []


def test_an_interrupted_sweep_is_told_with_how_to_go_on_and_then_as_finished(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(KeyboardInterrupt(), [9])
    assert evolve("benchmark", write_overlay(workspace)).code == 130
    name = sweep_of(workspace).name
    ran = evolve("status")
    row = next(line for line in ran.out.splitlines() if line.startswith(name))
    assert ("interrupted" in row, "8/48" in row) == (True, True), ran.out
    assert ran.out.endswith(f"next: evolve resume {name}\n")
    model.before = lambda call: None
    assert evolve("resume").code == 0
    (found,) = evolve("status", "--json").json()["sweeps"]
    assert (found["stage"], found["done"], found["cells"], found["pid"]) == ("finished", 48, 48, None)
    assert found["resolved"] == 24
    assert "next:" not in evolve("status").out


def test_a_running_sweep_is_seen_from_elsewhere_and_not_disturbed(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    seen: list[str] = []

    def look(call: int) -> None:
        if call == 5:
            program = "import sys; from evolve.cli.entry import run; sys.argv = ['evolve', 'status']; run()"
            ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
            seen.append(ran.stdout + ran.stderr)

    model.before = look
    assert evolve("benchmark", write_overlay(workspace)).code == 0
    assert f"running (pid {os.getpid()})" in seen[0]
    assert "next:" not in seen[0]


def test_a_damaged_sweep_is_named_and_the_others_are_shown(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    assert evolve("benchmark", write_overlay(workspace)).code == 0
    broken = workspace / "results/sweeps/broken"
    broken.mkdir()
    (broken / "plan.json").write_text("{")
    ran = evolve("status")
    assert ran.code == 0
    assert "cannot be read: broken: " in ran.out
    assert "finished" in ran.out


@pytest.mark.parametrize("text", ["", "no number", "0x1", "0", "-1", "\u0661", "999999999999999999999", "4194304999"])
def test_a_lock_that_nobody_alive_holds_has_no_holder(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.pid").write_text(text)
    assert holder_of(tmp_path / "x.lock") is None


def test_a_process_that_began_after_the_lock_was_taken_only_has_the_number_of_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "x.pid"
    path.write_text(f"{os.getpid()}\n")
    assert holder_of(tmp_path / "x.lock") == os.getpid()
    long_ago = psutil.Process().create_time() - 60
    os.utime(path, (long_ago, long_ago))
    assert holder_of(tmp_path / "x.lock") is None


def test_the_holder_of_a_lock_is_the_process_that_holds_it(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "x.lock") is None
    with writer_lock(tmp_path / "x.lock", "x"):
        assert holder_of(tmp_path / "x.lock") == os.getpid()
    assert holder_of(tmp_path / "x.lock") is None


@pytest.mark.parametrize("kind", NO_FILES)
def test_nobody_waits_for_the_holder_of_a_lock(tmp_path: Path, kind: str) -> None:
    put_no_file(tmp_path / "x.pid", kind)
    assert holder_of(tmp_path / "x.lock") is None
