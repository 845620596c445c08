"""Where an overlay comes from is known here, and from a clone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evolve.promote.lineage import Ancestry, read_ancestry
from evolve.records.archive import ARCHIVE_FILE, ArchiveEntry
from evolve.records.base import jsonl_bytes
from evolve.workspace import find_workspace
from tests.bench.test_runner import write_overlay
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.promote.test_apply import hook
from tests.worlds import ScriptedModel, git

A, B, C, SKILL = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)


@pytest.mark.parametrize(
    ("known", "parents", "missing"),
    [
        ({}, [SKILL], []),
        ({}, [], []),
        ({}, [A], [A]),
        ({A: (SKILL,)}, [A], []),
        ({A: (B,), B: (SKILL,)}, [A], []),
        ({A: (B, C), B: (SKILL,)}, [A, SKILL], [C]),
        ({A: (B,), B: (A,)}, [A], []),
        ({A: (C, B)}, [A], [B, C]),
    ],
)
def test_every_ancestor_is_followed(known: dict[str, tuple[str, ...]], parents: list[str], missing: list[str]) -> None:
    assert Ancestry(known, frozenset((SKILL,)), None).unknown(parents, "bracket", ["skills/bracket"]) == missing


def child_of(parent: str, workspace: Path) -> str:
    """Write an overlay that says that it was made from another."""
    overlay = write_overlay(workspace)
    spec = workspace / overlay / "overlay.yaml"
    before = spec.read_text() if spec.exists() else "schema: evolve/overlay@1\nskills: [bracket]\n"
    spec.write_text("".join(line for line in before.splitlines(keepends=True) if not line.startswith("parents")))
    spec.write_text(spec.read_text() + f"parents: [{parent}]\n")
    return overlay


def test_a_parent_that_nothing_knows_is_refused_before_it_is_paid_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    ran = evolve("benchmark", child_of(A, workspace), "--json")
    assert (ran.code, ran.json()["error"]["code"]) == (2, "unknown-parent")
    assert f"overlay.yaml: parents: {A} is not a skill that was measured" in ran.json()["error"]["message"]
    assert not model.requests


def parent_folder(workspace: Path, evolve: CommandLine) -> tuple[Path, str]:
    """Propose an overlay, and return its folder and digest."""
    ran = evolve("propose", "--operator", "lesson", "--json")
    folder = workspace / ran.json()[0]["overlay"]
    from evolve.overlays import read_overlay

    return folder, read_overlay(folder, {}).digest


def test_what_a_promotion_comes_from_is_committed_after_it_so_that_a_clone_knows_it(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, digest = parent_folder(workspace, evolve)
    overlay = child_of(digest, workspace)
    assert evolve("benchmark", overlay).code == 0
    ran = evolve("promote", overlay)
    assert (ran.code, "where it comes from: " in ran.out) == (0, True), ran.err
    assert (
        git(workspace, "log", "-2", "--format=%s").splitlines()[0]
        == "Note what the manual overlay of bracket comes from"
    )
    git(workspace, "clone", "--quiet", ".", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    assert evolve("audit", "--all").code == 0
    shutil.rmtree(tmp_path / "clone" / folder.relative_to(workspace))
    ran = evolve("audit", "--all")
    assert (ran.code, f"found {digest}" in ran.out) == (4, True)
    assert "promotion.json: every ancestor of the overlay: expected a skill that was measured" in ran.out


def test_where_a_hook_refuses_the_note_the_promotion_stands_and_it_is_said(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    _, digest = parent_folder(workspace, evolve)
    overlay = child_of(digest, workspace)
    assert evolve("benchmark", overlay).code == 0
    hook(Measured(workspace, overlay, workspace), "commit-msg", 'grep -q "^Promote" "$1"')
    ran = evolve("promote", overlay)
    assert ran.code == 0
    assert "note: it was promoted, and what it comes from is in no commit yet" in ran.err


def test_benchmark_says_beforehand_that_a_text_that_is_not_committed_cannot_be_promoted(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    (workspace / "skills/bracket/notes.md").write_text("Mine.\n")
    overlay = write_overlay(workspace)
    ran = evolve("benchmark", overlay)
    assert ran.code == 0
    said = "note: what is measured could not be promoted: skills/bracket/notes.md: not what HEAD holds"
    assert said in ran.err
    git(workspace, "add", "--all", "skills")
    git(workspace, "commit", "--quiet", "--message", "Notes")
    assert said not in evolve("benchmark", overlay).err


def test_evidence_whose_parent_is_gone_is_not_promoted(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    folder, digest = parent_folder(workspace, evolve)
    overlay = child_of(digest, workspace)
    assert evolve("benchmark", overlay).code == 0
    shutil.rmtree(folder)
    ran = evolve("promote", overlay, "--json")
    assert (ran.code, ran.json()["error"]["code"]) == (1, "lineage-unresolved")
    assert digest in ran.json()["error"]["message"]


def test_archived_candidates_and_earlier_texts_of_the_skill_are_known(measured: Measured, evolve: CommandLine) -> None:
    workspace = find_workspace(measured.root)
    now = workspace.skill("bracket")
    entry = ArchiveEntry(
        at=measured.evidence().promotion.generated_at,
        generation="g0001",
        name="x",
        skill="bracket",
        incumbent=SKILL,
        agent_sha256=C,
        operator="merge",
        parents=(SKILL,),
        overlay=None,
        overlay_sha256=A,
        resident_tokens=None,
        fate="unproven",
    )
    (workspace.overlays / ARCHIVE_FILE).write_bytes(jsonl_bytes([entry]))
    measured.skill.write_text(now.text + "\nMore.\n")
    git(measured.root, "commit", "--quiet", "--all", "--message", "More")
    from evolve.promote.git import Repository

    known = read_ancestry(workspace, Repository(measured.root))
    later = workspace.skill("bracket").fingerprint
    assert known.unknown([A, SKILL, now.fingerprint, later, B], "bracket", now.folders) == [B]
    (workspace.overlays / ARCHIVE_FILE).write_text("{broken\n")
    damaged = read_ancestry(workspace, Repository(measured.root))
    assert damaged.unknown([A, later], "bracket", now.folders) == [A]


def test_a_clone_knows_the_lineage_though_git_ignores_the_overlays(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    (workspace / ".gitignore").write_text("/results/\n/overlays/\n")
    git(workspace, "commit", "--quiet", "--all", "--message", "Ignore overlays")
    _, digest = parent_folder(workspace, evolve)
    overlay = child_of(digest, workspace)
    assert evolve("benchmark", overlay).code == 0
    assert evolve("promote", overlay).code == 0
    git(workspace, "clean", "-d", "-x", "--force", "--quiet", "overlays")
    ran = evolve("audit", "--all")
    assert ran.code == 0, ran.out
