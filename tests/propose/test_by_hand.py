"""Proposing by hand: a new SKILL.md, or an edited copy of the whole skill."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from evolve.errors import InputError
from evolve.propose.by_hand import edited_texts
from evolve.workspace import find_workspace
from tests.builders import make_skill
from tests.conftest import CommandLine
from tests.worlds import git

SKILL = make_skill(body="Say hello.", notes__md="Old notes.", run__py="pass\n")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    SKILL.files.write(tmp_path / "copy")
    return tmp_path / "copy"


def test_what_differs_of_a_copy_is_changed_added_or_deleted(copy: Path) -> None:
    assert edited_texts(SKILL, copy) == {}
    (copy / "notes.md").unlink()
    (copy / "deep").mkdir()
    (copy / "deep/new.md").write_text("New.")
    (copy / "SKILL.md").write_text("Other.")
    assert edited_texts(SKILL, copy) == {"SKILL.md": "Other.", "deep/new.md": "New.", "notes.md": None}
    assert edited_texts(SKILL, copy / "SKILL.md") == {"SKILL.md": "Other."}


def without_skill(copy: Path) -> None:
    (copy / "SKILL.md").unlink()


def binary(copy: Path) -> None:
    (copy / "notes.md").write_bytes(b"\xff")


def runnable(copy: Path) -> None:
    (copy / "notes.md").chmod(0o755)


def linked(copy: Path) -> None:
    (copy / "more.md").symlink_to("notes.md")


@pytest.mark.parametrize(
    ("change", "code"),
    [(without_skill, "no-skill-md"), (binary, "not-utf8"), (runnable, "mode-change"), (linked, "link")],
)
def test_what_is_no_copy_of_a_skill_is_refused(copy: Path, change: object, code: str) -> None:
    assert callable(change)
    change(copy)
    with pytest.raises(InputError) as caught:
        edited_texts(SKILL, copy)
    assert caught.value.code == code


def test_an_edited_copy_becomes_an_overlay_that_says_what_it_adds_and_deletes(
    workspace: Path, evolve: CommandLine, tmp_path: Path
) -> None:
    (workspace / "skills/bracket/old.md").write_text("Old.\n")
    git(workspace, "add", "--all")
    git(workspace, "commit", "--quiet", "--message", "Old")
    copy = tmp_path / "copy"
    shutil.copytree(workspace / "skills/bracket", copy)
    (copy / "old.md").unlink()
    (copy / "new.md").write_text("New.\n")
    ran = evolve("propose", "--skill", "bracket", "--operator", "manual", "--from", str(copy), "--json")
    assert ran.code == 0, ran.err
    spec = yaml.safe_load((workspace / ran.json()[0]["overlay"] / "overlay.yaml").read_text())
    assert spec["adds"] == ["skills/bracket/new.md"]
    assert spec["deletes"] == ["skills/bracket/old.md"]
    assert spec["parents"] == [find_workspace(workspace).skill("bracket").fingerprint]
