"""``evolve propose``: what it takes, what it refuses before anything is paid for, and what it notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.propose.archive import add_to_archive
from evolve.skills import SKILL_FILE
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.propose.test_archive import entry
from tests.worlds import ScriptedModel, make_workspace


def manual(evolve: CommandLine, workspace: Path, text: str) -> tuple[int, str, str]:
    mine = workspace / "mine.md"
    mine.write_bytes(text.encode())
    ran = evolve("propose", "--operator", "manual", "--skill", "bracket", "--from", str(mine))
    return ran.code, ran.out.strip(), ran.err


def skill_text(workspace: Path) -> str:
    return (workspace / "skills/bracket" / SKILL_FILE).read_text()


@pytest.mark.parametrize(
    ("old", "new"), [("Be clear.", "Be   clear."), ("Be clear.", "be CLEAR."), ("\n", "\r\n"), ("\n\n", "\n\n\n")]
)
def test_a_hand_made_text_that_differs_in_spacing_alone_is_refused(
    workspace: Path, evolve: CommandLine, old: str, new: str
) -> None:
    code, _, said = manual(evolve, workspace, skill_text(workspace).replace(old, new))
    assert code == 2 and "mine.md: differs from the incumbent in spacing, case or numbers alone" in said
    assert not (workspace / "overlays").exists()


def test_a_hand_made_text_that_was_tried_before_is_noted_and_made_all_the_same(
    workspace: Path, evolve: CommandLine
) -> None:
    text = skill_text(workspace) + "\nUse angle brackets.\n"
    code, path, said = manual(evolve, workspace, text)
    assert code == 0 and "note:" not in said
    opened = find_workspace(workspace)
    from evolve.overlays import read_overlay

    overlay = read_overlay(workspace / path, opened.skills())
    fields = {"skill": "bracket", "overlay_sha256": overlay.digest, "reason": "Others did better on train."}
    add_to_archive(opened, [entry(incumbent=opened.skill("bracket").fingerprint, **fields), entry(**fields)], [])
    code, again, said = manual(evolve, workspace, text)
    assert (code, again) == (0, path)
    assert said.count("note:") == 1
    assert "note: it equals lesson of g0001: screened-out. Others did better on train." in said


def test_what_is_longer_than_agents_like_is_noted_and_made_all_the_same(workspace: Path, evolve: CommandLine) -> None:
    code, _, said = manual(evolve, workspace, skill_text(workspace) + "\n- line\n" * 300)
    assert code == 0 and "mine.md: the body has 601 lines, more than 500" in said
    long = skill_text(workspace) + "\n- line\n" * 300
    (workspace / "skills/bracket" / SKILL_FILE).write_text(long)
    checked = evolve("check")
    assert checked.code == 0 and "note: bracket: the body has 601 lines" in checked.out


def overlay(workspace: Path, name: str, text: str, skill: str = "bracket") -> str:
    folder = workspace / "overlays" / name / "skills" / skill
    folder.mkdir(parents=True)
    (folder / SKILL_FILE).write_text(text)
    return f"overlays/{name}"


def test_a_parent_that_is_no_longer_valid_is_refused_before_anything_is_paid_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    _, path, _ = manual(evolve, workspace, skill_text(workspace) + "\nUse angle brackets.\n")
    (workspace / "skills/bracket" / SKILL_FILE).write_text(skill_text(workspace) + "\nAn addition.\n")
    ran = evolve("propose", "--parent", path)
    assert ran.code == 2 and f"{path}: skills/bracket/SKILL.md has changed since the overlay was written" in ran.err
    broken = overlay(workspace, "broken", "No frontmatter.")
    ran = evolve("propose", "--parent", broken)
    assert ran.code == 2 and "frontmatter" in ran.err
    assert model.requests == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--parent", "overlays/none"), "no such overlay"),
        (("--operator", "merge"), "needs two --parent"),
        (("--operator", "merge", "--parent", "overlays/one"), "needs two --parent"),
        (("--operator", "merge", *("--parent", "overlays/one") * 3), "needs two --parent"),
        (("--skill", "wall", "--parent", "overlays/one"), "it changes bracket, not wall"),
        (("--parent", "overlays/one", "--parent", "overlays/two"), "it changes wall, not bracket"),
        (("--count", "0"), "0 is not in the range"),
        (("--operator", "manual", "--from", "evolve.yaml"), "needs --skill"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_paid_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: ScriptedModel,
    evolve: CommandLine,
    arguments: tuple[str, ...],
    says: str,
) -> None:
    workspace = make_workspace(tmp_path / "w", skills=("bracket", "wall"))
    monkeypatch.chdir(workspace)
    overlay(workspace, "one", skill_text(workspace) + "\nOne.\n")
    overlay(workspace, "two", (workspace / "skills/wall" / SKILL_FILE).read_text() + "\nTwo.\n", "wall")
    ran = evolve("propose", *arguments)
    assert ran.code == 2 and says in ran.err and model.requests == []


def test_operators_work_from_a_candidate_and_two_are_merged(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    one = overlay(workspace, "one", skill_text(workspace) + "\nUse angle brackets.\n")
    two = overlay(workspace, "two", skill_text(workspace) + "\n## Notes\n\nBe brief.\n")
    ran = evolve("propose", "--operator", "merge", "--operator", "prune", "--parent", one, "--parent", two)
    assert ran.code == 0
    merged, pruned = (workspace / path / "skills/bracket/SKILL.md" for path in ran.out.split())
    body = skill_text(workspace).partition("---\n\n")[2]
    assert merged.read_text().endswith(f"{body}\nUse angle brackets.\n\n## Notes\n\nBe brief.\n")
    assert pruned.read_text().endswith("---\n\nUse angle brackets.\n")
