"""The folders that cells are run in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evolve.errors import EnvironmentFault
from evolve.scratch import Scratch, clear_dead, scratch_root, short_lived

HOLDER = """
import time
from evolve.scratch import Scratch
scratch = Scratch()
(scratch.folder / "cell").mkdir()
(scratch.folder / "cell" / "work.txt").write_text("half done")
print(scratch.folder, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def own_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@contextmanager
def held() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_a_folder_is_private_and_leaves_nothing_behind() -> None:
    with Scratch() as scratch:
        (scratch.folder / "cell").mkdir()
        assert scratch.folder.stat().st_mode & 0o777 == 0o700
        assert scratch_root().stat().st_mode & 0o777 == 0o700
    assert list(scratch_root().iterdir()) == []


def test_what_a_killed_process_left_is_cleared_and_what_a_living_one_holds_is_not() -> None:
    with held() as (dead, folder), held() as (_, kept):
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        assert folder.exists()
        with Scratch():
            assert not folder.exists()
            assert (kept / "cell/work.txt").read_text() == "half done"
    clear_dead(scratch_root())
    assert list(scratch_root().iterdir()) == []


def test_a_root_that_others_may_enter_is_refused(own_tmp: Path) -> None:
    root = own_tmp / f"evolve-{os.getuid()}"
    root.mkdir()
    root.chmod(0o777)
    with pytest.raises(EnvironmentFault, match="not a folder of yours alone") as caught:
        Scratch()
    assert "TMPDIR" in str(caught.value.hint)


def test_a_root_that_is_a_link_is_refused(own_tmp: Path) -> None:
    (own_tmp / "elsewhere").mkdir(mode=0o700)
    (own_tmp / f"evolve-{os.getuid()}").symlink_to(own_tmp / "elsewhere")
    with pytest.raises(EnvironmentFault, match="not a folder of yours alone"):
        scratch_root()


def test_a_temporary_folder_that_is_not_there_is_told(own_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(own_tmp / "gone"))
    with pytest.raises(EnvironmentFault, match="cannot be made"):
        Scratch()


def test_a_short_lived_folder_is_gone_at_once_and_a_left_one_after_an_hour() -> None:
    with short_lived("step") as folder:
        assert Path(folder).parent == scratch_root()
    assert not Path(folder).exists()
    left, fresh = scratch_root() / "short-left", scratch_root() / "short-fresh"
    for path in (left, fresh):
        (path / "inner").mkdir(parents=True)
    os.utime(left, (0, 0))
    clear_dead(scratch_root())
    assert not left.exists()
    assert fresh.exists()


def test_a_folder_whose_lock_is_gone_is_cleared() -> None:
    left = scratch_root() / "cells-left"
    (left / "cell").mkdir(parents=True)
    with Scratch() as scratch:
        assert not left.exists()
        assert scratch.folder.exists()
