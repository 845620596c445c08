"""A skill that stands in several roots is measured once and promoted everywhere, byte for byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.digest import tree_digest
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.promote.conftest import Measured, mirror
from tests.promote.test_killed import promoted
from tests.worlds import ScriptedModel, git


def folders(measured: Measured) -> tuple[str, str]:
    return tree_digest(measured.root / "skills/bracket"), tree_digest(measured.root / ".agents/skills/bracket")


def test_what_is_promoted_is_the_skill_that_was_measured_in_every_root(
    several_files: Measured, evolve: CommandLine
) -> None:
    ran = evolve("promote", several_files.overlay)
    assert ran.code == 0, ran.err
    promotion = several_files.evidence().promotion
    assert promotion.folders == ("skills/bracket", ".agents/skills/bracket")
    measured = {arm.skills["bracket"] for arm in promotion.arms if arm.overlay_sha256}
    assert set(folders(several_files)) == measured
    assert git(several_files.root, "status", "--porcelain", "skills", ".agents") == ""
    changed = set(git(several_files.root, "show", "--name-status", "--format=", "HEAD").splitlines())
    assert {
        f"{letter}\t{root}/bracket/{name}" for root in ("skills", ".agents/skills") for letter, name in CHANGES
    } == {line for line in changed if "skills/bracket" in line and "promotion/" not in line}
    assert evolve("audit", "--all").code == 0


CHANGES = (
    ("M", "SKILL.md"),
    ("M", "notes.md"),
    ("D", "old.md"),
    ("A", "references/forms.md"),
    ("D", "scraps/old.txt"),
)


def test_the_dry_run_shows_what_is_added_and_deleted(several_files: Measured, evolve: CommandLine) -> None:
    ran = evolve("promote", several_files.overlay, "--dry-run")
    assert ran.code == 0
    assert "--- /dev/null\n+++ b/skills/bracket/references/forms.md" in ran.out
    assert "--- a/skills/bracket/old.md\n+++ /dev/null" in ran.out


def change_mirror(measured: Measured) -> None:
    (measured.root / ".agents/skills/bracket/notes.md").write_text("Other.\n")


def drop_mirror(measured: Measured) -> None:
    spec = measured.root / "evolve.yaml"
    spec.write_text(spec.read_text().replace("skill_roots: [skills, .agents/skills]\n", ""))


def untrack_mirror(measured: Measured) -> None:
    git(measured.root, "rm", "-r", "--cached", "--quiet", ".agents")
    git(measured.root, "commit", "--quiet", "--message", "Untrack")


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (change_mirror, "mirror-differs", "notes.md: they differ"),
        (drop_mirror, "mirrors-changed", "stood in skills/bracket, .agents/skills/bracket when it was measured"),
        (untrack_mirror, "base-uncommitted", ".agents/skills/bracket/SKILL.md"),
    ],
)
def test_a_mirror_that_is_not_what_was_measured_is_refused(
    several_files: Measured, evolve: CommandLine, change: Callable[[Measured], None], code: str, says: str
) -> None:
    change(several_files)
    before = folders(several_files)
    ran = evolve("promote", several_files.overlay, "--json")
    assert (ran.json()["error"]["code"], says in ran.json()["error"]["message"]) == (code, True), ran.out
    assert folders(several_files) == before


def test_an_untouched_file_that_is_not_committed_is_refused(several_files: Measured, evolve: CommandLine) -> None:
    """What was measured held it, and a clone would not: the commit would hold a skill that nobody measured."""
    git(several_files.root, "rm", "--cached", "--quiet", "skills/bracket/kept.md")
    git(several_files.root, "commit", "--quiet", "--message", "Untrack")
    ran = evolve("promote", several_files.overlay, "--json")
    assert ran.json()["error"]["code"] == "base-uncommitted", ran.out
    assert "skills/bracket/kept.md" in ran.json()["error"]["message"]


def amend(measured: Measured) -> None:
    git(measured.root, "add", "--all", "skills", ".agents")
    git(measured.root, "commit", "--quiet", "--amend", "--no-edit")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (".agents/skills/bracket/SKILL.md", ".agents/skills/bracket/SKILL.md after"),
        (".agents/skills/bracket/old.md", ".agents/skills/bracket/old.md after"),
        ("skills/bracket/kept.md", "skills/bracket/ after"),
        (".agents/skills/bracket/more.md", ".agents/skills/bracket/ after"),
    ],
)
def test_the_audit_finds_a_commit_that_holds_another_skill_in_any_root(
    several_files: Measured, evolve: CommandLine, path: str, says: str
) -> None:
    promoted(several_files)
    (several_files.root / path).write_text("Forged.\n")
    amend(several_files)
    ran = evolve("audit", "--all")
    assert (ran.code, says in ran.out) == (4, True), ran.out


def test_the_audit_heeds_no_attribute_that_hides_a_file_from_exports(
    several_files: Measured, evolve: CommandLine
) -> None:
    promoted(several_files)
    root = several_files.root
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("more.md export-ignore\nskills/** export-subst\n")
    (root / "skills/bracket/more.md").write_text("Hidden.\n")
    amend(several_files)
    assert evolve("audit", "--all").code == 4


def test_a_generation_promotes_into_every_root(
    several_files: Measured, evolve: CommandLine, model: ScriptedModel
) -> None:
    shutil.rmtree(several_files.root / "promotion/bracket")
    (several_files.root / "promotion/ledger.jsonl").unlink()
    ran = evolve("generation", "--operator", "demonstrate", "--apply")
    assert ran.code == 0, ran.err
    assert len(set(folders(several_files))) == 1
    assert "Promote" in git(several_files.root, "log", "-2", "--format=%s")
    assert evolve("audit", "--all").code == 0


def test_the_story_says_what_came_and_went_and_where(several_files: Measured, evolve: CommandLine) -> None:
    promoted(several_files)
    ran = evolve("audit", str(several_files.folder), "--explain")
    assert ran.code == 0
    assert "files of the skill: 2 changed, 1 added, 2 deleted (also in .agents/skills/bracket), " in ran.out
    assert "+++ /dev/null" in ran.out


def test_a_path_that_is_too_long_below_a_mirror_is_refused_before_it_is_paid_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    mirror(workspace)
    git(workspace, "add", "--all")
    git(workspace, "commit", "--quiet", "--message", "Mirror")
    name = "/".join(["d" * 200] * 5)[: 1024 - len("skills/bracket//x.md")]
    path = workspace / "overlays/long/skills/bracket" / name / "x.md"
    path.parent.mkdir(parents=True)
    path.write_text("Long.\n")
    spec = f"schema: evolve/overlay@1\nskills: [bracket]\nadds: ['skills/bracket/{name}/x.md']\n"
    (workspace / "overlays/long/overlay.yaml").write_text(spec)
    ran = evolve("benchmark", "overlays/long", "--json")
    assert ran.json()["error"]["code"] == "unsafe-path", ran.out
    assert not model.requests


def test_a_root_that_is_named_twice_is_no_mirror(workspace: Path) -> None:
    spec = workspace / "evolve.yaml"
    spec.write_text("skill_roots: [skills, ./skills]\n" + spec.read_text())
    assert find_workspace(workspace).skill("bracket").folders == ("skills/bracket",)
