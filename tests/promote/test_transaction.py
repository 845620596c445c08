"""What goes wrong while a promotion is written leaves everything as it was."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evolve import files
from evolve.errors import EnvironmentFault, EvolveError
from evolve.promote.recovery import pending, recover
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.promote.conftest import Measured, copy_of
from tests.promote.test_killed import assert_new, promoted, state_of, target_of
from tests.worlds import git

Breaking = Callable[[pytest.MonkeyPatch, Callable[[], bool]], None]


def no_space(patch: pytest.MonkeyPatch, now: Callable[[], bool]) -> None:
    nameless = files._nameless

    def full(folder: Path) -> int | None:
        if now():
            raise OSError(errno.ENOSPC, "No space left on device")
        return nameless(folder)

    patch.setattr(files, "_nameless", full)


def broken_disk(patch: pytest.MonkeyPatch, now: Callable[[], bool]) -> None:
    fsync = os.fsync

    def broken(descriptor: int) -> None:
        if now():
            raise OSError(errno.EIO, "Input/output error")
        fsync(descriptor)

    patch.setattr(os, "fsync", broken)


@pytest.mark.parametrize("breaking", [no_space, broken_disk])
@pytest.mark.parametrize("lasting", [False, True])
def test_a_disk_that_fails_at_any_write_leaves_the_old_state_or_the_new_one(
    several_files: Measured, tmp_path: Path, breaking: Breaking, lasting: bool
) -> None:
    old = state_of(several_files)
    for failing in range(1, 100):
        one = copy_of(several_files.root, tmp_path / f"copy-{failing}")
        calls = 0

        def now(failing: int = failing) -> bool:
            nonlocal calls
            calls += 1
            return calls >= failing if lasting else calls == failing

        with pytest.MonkeyPatch.context() as patch:
            breaking(patch, now)
            with contextlib.suppress(EvolveError, OSError):
                promoted(one)
        if calls < failing:
            break
        if pending(find_workspace(one.root)) is not None:
            recover(target_of(one))
        if git(one.root, "rev-parse", "HEAD") == old[2]:
            assert state_of(one) == old
        else:
            assert_new(one, old)
    assert failing > 8, "each write was made to fail once"


def test_where_undoing_fails_too_the_error_says_how_to_go_on(
    several_files: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = state_of(several_files)

    def fill_up(step: str) -> None:
        if step == "write skills/bracket/notes.md":
            no_space(monkeypatch, lambda: True)

    with pytest.raises(EnvironmentFault) as fault:
        promoted(several_files, step=fill_up)
    assert (fault.value.code, fault.value.hint) == ("not-undone", "evolve promote --recover")
    monkeypatch.undo()
    recover(target_of(several_files))
    assert state_of(several_files) == old


def swapped(measured: Measured) -> None:
    measured.skill.write_text("swapped")


def gone(measured: Measured) -> None:
    measured.skill.unlink()


def a_link(measured: Measured) -> None:
    measured.skill.unlink()
    measured.skill.symlink_to("/etc/hostname")


def a_folder(measured: Measured) -> None:
    measured.skill.unlink()
    measured.skill.mkdir()


def a_linked_folder(measured: Measured) -> None:
    measured.skill.parent.rename(measured.root / "elsewhere")
    measured.skill.parent.symlink_to(measured.root / "elsewhere")


SWAPS: list[tuple[Callable[[Measured], None], str]] = [
    (swapped, "base-changed"),
    (gone, "base-missing"),
    (a_link, "link"),
    (a_folder, "not-a-file"),
    (a_linked_folder, "link"),
]


@pytest.mark.parametrize(("swap", "code"), SWAPS)
def test_a_skill_that_is_swapped_during_a_promotion_is_left_as_it_is(
    measured: Measured, swap: Callable[[Measured], None], code: str
) -> None:
    head, ledger = git(measured.root, "rev-parse", "HEAD"), (measured.root / "promotion/ledger.jsonl").read_bytes()

    def interfere(step: str) -> None:
        if step == "write skills/bracket/SKILL.md":
            swap(measured)

    with pytest.raises(EvolveError) as fault:
        promoted(measured, step=interfere)
    assert fault.value.code == code
    status = git(measured.root, "status", "--porcelain", "skills")
    assert status, "the swap stands, for whoever made it"
    assert (measured.root / "promotion/ledger.jsonl").read_bytes() == ledger
    assert git(measured.root, "rev-parse", "HEAD") == head
    assert pending(find_workspace(measured.root)) is None


@pytest.mark.parametrize("step", ["verify", "verify all", "commit"])
def test_bytes_that_are_swapped_after_they_were_written_are_not_committed(several_files: Measured, step: str) -> None:
    old = state_of(several_files)

    def interfere(name: str) -> None:
        if name == step:
            swapped(several_files)

    with pytest.raises(EnvironmentFault) as fault:
        promoted(several_files, step=interfere)
    assert fault.value.code == ("commit-changed" if step == "commit" else "write-unverified")
    assert state_of(several_files) == old
    kept = list((several_files.root / "results/kept").iterdir())
    assert [path.read_text() for path in kept] == ["swapped"]


def test_the_promoted_bytes_laid_down_by_hand_are_no_base(measured: Measured, evolve: CommandLine) -> None:
    overlay = measured.folder / "overlay/skills/bracket/SKILL.md"
    measured.skill.write_bytes(overlay.read_bytes())
    ran = evolve("promote", measured.overlay, "--json")
    assert ran.json()["error"]["code"] in ("base-changed", "no-change")


def test_on_a_detached_head_with_a_new_branch_a_refusal_leaves_head_detached(measured: Measured) -> None:
    git(measured.root, "checkout", "--quiet", "--detach")
    old = state_of(measured)
    path = measured.root / ".git/hooks/pre-commit"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    with pytest.raises(EnvironmentFault):
        promoted(measured, "fresh")
    assert state_of(measured) == old
    assert git(measured.root, "branch", "--show-current") == ""
