"""A lock of git that was left over: told with its age and the remedy, and never removed."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

import pytest

from evolve.errors import EnvironmentFault
from evolve.promote.git import Repository
from evolve.promote.index_lock import age, refuse_locked
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.promote.test_killed import promoted, state_of


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "0 seconds"),
        (0.5, "0 seconds"),
        (1, "1 second"),
        (59.9, "59 seconds"),
        (60, "1 minute"),
        (3_599, "59 minutes"),
        (3 * 3_600, "3 hours"),
        (86_400 * 12.5, "12 days"),
    ],
)
def test_an_age_is_told_in_its_largest_whole_unit(seconds: float, told: str) -> None:
    assert age(seconds) == told


def test_where_no_lock_is_nothing_is_refused(tmp_path: Path) -> None:
    refuse_locked(tmp_path / "index.lock")
    assert not list(tmp_path.iterdir()), "looking makes no lock"


def left_over(root: Path) -> Path:
    lock = root / ".git/index.lock"
    lock.write_bytes(b"")
    then = time.time() - 3 * 3_600 - 60
    os.utime(lock, (then, then))
    return lock


@pytest.mark.parametrize("what", ["promote", "rollback"])
def test_a_lock_that_was_left_over_is_told_with_its_age_and_the_remedy_and_stays(
    measured: Measured, evolve: CommandLine, what: str
) -> None:
    if what == "rollback":
        promoted(measured)
    lock = left_over(measured.root)
    before = state_of(measured)
    named = measured.overlay if what == "promote" else "bracket"
    ran = evolve(what, named, *(["--reason", "No"] if what == "rollback" else []), "--json")
    error = ran.json()["error"]
    assert (ran.code, error["code"]) == (1, "git-busy")
    assert error["message"] == f"{lock}: git is at work here, or has died: this lock is 3 hours old"
    assert error["hint"] == f"wait for git to end; if no git process runs here: rm {lock}"
    assert lock.exists()
    lock.unlink()
    assert state_of(measured) == before


def test_what_git_itself_refuses_for_a_lock_is_told_in_the_same_way(measured: Measured) -> None:
    lock = left_over(measured.root)
    with pytest.raises(EnvironmentFault, match="3 hours old") as caught:
        Repository(measured.root).commit(["evolve.yaml"], "No")
    assert (caught.value.code, lock.exists()) == ("git-busy", True)


def test_the_remedy_quotes_a_path_that_a_shell_would_split(tmp_path: Path) -> None:
    lock = tmp_path / "my work" / "index.lock"
    lock.parent.mkdir()
    lock.write_bytes(b"")
    with pytest.raises(EnvironmentFault) as caught:
        refuse_locked(lock)
    assert shlex.split(str(caught.value.hint).rpartition(": ")[2]) == ["rm", str(lock)]
