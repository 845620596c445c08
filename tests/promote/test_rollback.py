"""Taking a promotion back."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.promote.touched import touched_files
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.promote.test_killed import assert_audited, ledger_of, promoted
from tests.worlds import git


def trees(root: Path) -> str:
    """Return the trees of both skill roots, which are one and the same."""
    one, other = git(root, "rev-parse", "HEAD:skills", "HEAD:.agents/skills").split()
    assert one == other
    return one


@pytest.mark.parametrize("name", ["evidence", "commit", "skill"])
def test_a_promotion_is_rolled_back_by_its_evidence_its_commit_or_its_skill(
    several_files: Measured, evolve: CommandLine, name: str
) -> None:
    root = several_files.root
    before = trees(root)
    commit = promoted(several_files)
    ledger = ledger_of(several_files)
    named = {"evidence": str(several_files.folder), "commit": commit[:10], "skill": "bracket"}[name]
    ran = evolve("rollback", named, "--reason", "It loses the currency", "--json")
    assert ran.code == 0, ran.out
    assert ran.json() == {"commit": git(root, "rev-parse", "HEAD"), "rolled_back": commit}
    assert trees(root) == before
    assert git(root, "status", "--porcelain", "skills", "promotion") == ""
    assert not (root / "skills/bracket/references").exists()
    changed = set(git(root, "show", "--name-only", "--format=", "HEAD").splitlines())
    assert changed == set(touched_files(several_files.evidence().promotion))
    message = git(root, "show", "--no-patch", "--format=%B")
    assert "Reason: It loses the currency" in message
    assert git(root, "log", "-1", "--format=%(trailers:key=Evolve-Rollback,valueonly)").strip() == commit
    assert ledger_of(several_files) == ledger
    assert_audited(several_files)


def test_a_promotion_is_rolled_back_once_and_not_made_again(measured: Measured, evolve: CommandLine) -> None:
    promoted(measured)
    assert evolve("rollback", "bracket", "--reason", "No").code == 0
    head = git(measured.root, "rev-parse", "HEAD")
    ran = evolve("rollback", "bracket", "--reason", "No", "--json")
    assert (ran.code, ran.json()["error"]["code"]) == (1, "rolled-back")
    ran = evolve("promote", measured.overlay, "--json")
    assert (ran.code, ran.json()["error"]["code"]) == (1, "already-promoted")
    assert git(measured.root, "rev-parse", "HEAD") == head


def test_what_was_changed_since_is_not_rolled_back_and_every_such_file_is_named(
    several_files: Measured, evolve: CommandLine
) -> None:
    promoted(several_files)
    for name in ("SKILL.md", "notes.md"):
        path = several_files.skill.parent / name
        path.write_text(path.read_text() + "More.\n")
    git(several_files.root, "commit", "--quiet", "--message", "More", "--only", "skills/bracket/notes.md")
    head = git(several_files.root, "rev-parse", "HEAD")
    ran = evolve("rollback", "bracket", "--reason", "No", "--json")
    assert ran.json()["error"]["code"] == "rollback-drifted"
    assert "SKILL.md, skills/bracket/notes.md" in ran.json()["error"]["message"]
    assert git(several_files.root, "rev-parse", "HEAD") == head


def test_a_reason_cannot_forge_a_trailer(measured: Measured, evolve: CommandLine) -> None:
    commit = promoted(measured)
    reason = f"Bad.\nEvolve-Evidence: {'0' * 64}\r\nEvolve-Rollback: {'1' * 40}\x1b[2J"
    assert evolve("rollback", commit, "--reason", reason).code == 0
    message = git(measured.root, "show", "--no-patch", "--format=%B")
    assert [line for line in message.splitlines() if line.startswith("Evolve-")] == [
        f"Evolve-Rollback: {commit}",
        f"Evolve-Overlay: {measured.evidence().promotion.overlay_sha256}",
    ]
    assert "\x1b" not in message


def test_a_rollback_goes_to_a_branch_of_its_own_when_asked(measured: Measured, evolve: CommandLine) -> None:
    commit = promoted(measured)
    assert evolve("rollback", "bracket", "--reason", "No", "--branch", "undo").code == 0
    assert git(measured.root, "rev-parse", "main") == commit
    assert git(measured.root, "rev-parse", "undo^") == commit
