"""A pull request that is squashed holds promotion and notes in one commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, git


@pytest.fixture
def squashed(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> Path:
    """Have a generation promote on a branch, and squash that as hosts of git do, with the messages of all commits."""
    assert evolve("generation", "--operator", "demonstrate", "--apply", "--branch", "weekly").code == 0
    messages = git(workspace, "log", "--reverse", "--format=* %B", "main..weekly")
    assert messages.count("* ") >= 2
    git(workspace, "switch", "--quiet", "main")
    git(workspace, "merge", "--quiet", "--squash", "weekly")
    git(workspace, "commit", "--quiet", "--message", f"Weekly (#7)\n\n{messages}")
    git(workspace, "branch", "--quiet", "-D", "weekly")
    return workspace


def test_it_can_be_audited(squashed: Path, evolve: CommandLine) -> None:
    ran = evolve("audit", "--all")
    assert ran.code == 0, ran.out


@pytest.mark.parametrize("path", ["overlays/evil.md", "overlays/evil/run.sh", "corpus/evil.md", "skills/evil/SKILL.md"])
def test_what_is_no_note_is_found_in_it(squashed: Path, evolve: CommandLine, path: str) -> None:
    file = squashed / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x")
    git(squashed, "add", "--all")
    git(squashed, "commit", "--quiet", "--amend", "--no-edit")
    ran = evolve("audit", "--all")
    assert (ran.code, f"found ['{path}']" in ran.out) == (4, True), ran.out
