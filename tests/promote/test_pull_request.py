"""Offering a promotion as a pull request."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.worlds import git


@pytest.fixture
def remote(measured: Measured, tmp_path: Path) -> Path:
    bare = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    git(measured.root, "remote", "add", "origin", str(bare))
    return bare


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have git and a shell on the PATH, and no gh."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("git", "sh", "cat"):
        (folder / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(folder))
    return folder


def write_gh(programs: Path, script: str) -> None:
    path = programs / "gh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def branch_of(measured: Measured) -> str:
    return f"evolve/bracket-{measured.evidence().promotion.overlay_sha256[:12]}"


def test_with_gh_the_branch_is_pushed_and_the_pull_request_opened(
    measured: Measured, evolve: CommandLine, remote: Path, programs: Path, tmp_path: Path
) -> None:
    args = tmp_path / "args"
    script = f'printf "%s\\n" "$@" > {args}; for a in "$@"; do last="$a"; done; cat "$last" > {args}.body'
    write_gh(programs, f"{script}; echo https://forge.example/pull/7")
    ran = evolve("promote", measured.overlay, "--pr", "--json")
    assert ran.code == 0, ran.out
    branch, told = branch_of(measured), ran.json()
    assert told["opened"] == "https://forge.example/pull/7"
    assert git(remote, "rev-parse", branch) == told["commit"] == git(measured.root, "rev-parse", branch)
    assert git(measured.root, "rev-parse", "main") == git(measured.root, "rev-parse", f"{branch}^")
    asked = args.read_text().splitlines()
    assert asked[:6] == ["pr", "create", "--head", branch, "--base", "main"]
    assert "Promote demonstrate overlay of bracket: +100.0 percentage points over 8 tasks x 3 runs" in asked
    assert args.with_suffix(".body").read_text() == told["body"]
    assert "+## Examples" in told["body"]
    assert evolve("audit", "--all").code == 0


def test_without_gh_the_ready_text_and_the_command_are_printed(
    measured: Measured, evolve: CommandLine, remote: Path, programs: Path
) -> None:
    ran = evolve("promote", measured.overlay, "--pr", "--branch", "better")
    assert ran.code == 0, ran.err
    assert git(remote, "rev-parse", "better") == git(measured.root, "rev-parse", "HEAD")
    assert "gh pr create --head better --base main --title 'Promote demonstrate overlay of bracket" in ran.out
    assert "+## Examples" in ran.out


def test_a_push_that_is_refused_leaves_the_promotion_and_says_so(
    measured: Measured, evolve: CommandLine, remote: Path, programs: Path
) -> None:
    shutil.rmtree(remote)
    ran = evolve("promote", measured.overlay, "--pr", "--json")
    error = ran.json()["error"]
    assert (ran.code, error["code"]) == (1, "push-failed")
    assert error["hint"] == f"git push --set-upstream origin {branch_of(measured)}"
    assert evolve("audit", "--all").code == 0


def test_gh_that_refuses_is_told_with_the_command(
    measured: Measured, evolve: CommandLine, remote: Path, programs: Path
) -> None:
    write_gh(programs, "echo not logged in >&2; exit 4")
    error = evolve("promote", measured.overlay, "--pr", "--json").json()["error"]
    assert error["code"] == "gh-failed"
    assert "not logged in" in error["message"]
    assert error["hint"].startswith("gh pr create --head evolve/bracket-")


def test_without_a_remote_nothing_is_committed(measured: Measured, evolve: CommandLine) -> None:
    head = git(measured.root, "rev-parse", "HEAD")
    ran = evolve("promote", measured.overlay, "--pr", "--json")
    assert (ran.code, ran.json()["error"]["code"]) == (2, "no-remote")
    assert git(measured.root, "rev-parse", "HEAD") == head


def test_a_pull_request_shows_its_checks_in_a_dry_run_and_pushes_nothing(
    measured: Measured, evolve: CommandLine, remote: Path
) -> None:
    told = json.loads(evolve("promote", measured.overlay, "--pr", "--dry-run", "--json").out)
    assert told["would_promote"] and len(told["checks"]) == 9
    assert git(remote, "branch") == ""
