"""The audit of rollbacks: one that does what it says holds, and every forgery is told by file, field and values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.promote.test_killed import promoted
from tests.worlds import git

Forgery = Callable[[Measured, str], str]


def amended(measured: Measured, message: str | None = None) -> str:
    git(measured.root, "add", "--all", "skills", "corpus")
    edit = ["--message", message] if message else ["--no-edit"]
    git(measured.root, "commit", "--quiet", "--amend", *edit)
    return git(measured.root, "rev-parse", "HEAD")


def reworded(measured: Measured, before: str, after: str) -> str:
    message = git(measured.root, "show", "--no-patch", "--format=%B", "HEAD")
    assert before in message
    return amended(measured, message.replace(before, after))


def wrote(measured: Measured, path: str, text: str) -> str:
    (measured.root / path).parent.mkdir(parents=True, exist_ok=True)
    (measured.root / path).write_text(text)
    return amended(measured)


def other_mode(measured: Measured) -> str:
    measured.skill.chmod(0o755)
    return amended(measured)


def second(measured: Measured, commit: str) -> str:
    """Bring the promoted text back by hand, and take it back once more with the same words."""
    root, first = measured.root, git(measured.root, "rev-parse", "HEAD")
    git(root, "checkout", "--quiet", commit, "--", "skills")
    git(root, "commit", "--quiet", "--message", "Bring it back")
    git(root, "checkout", "--quiet", first, "--", "skills")
    git(root, "rm", "--quiet", "skills/bracket/references/forms.md")
    message = git(root, "show", "--no-patch", "--format=%B", first)
    git(root, "commit", "--quiet", "--message", message)
    return first


def of_no_promotion(measured: Measured, commit: str) -> str:
    other = git(measured.root, "rev-parse", f"{commit}^")
    return reworded(measured, commit, other) and other


def of_elsewhere(measured: Measured, commit: str) -> str:
    """Name a commit that exists, and that the history does not go on from."""
    tree = git(measured.root, "rev-parse", f"{commit}^{{tree}}")
    message = git(measured.root, "show", "--no-patch", "--format=%B", commit)
    other = git(measured.root, "commit-tree", tree, "-p", f"{commit}^", "-m", message)
    reworded(measured, commit, other)
    return other


def by_a_merge(measured: Measured, commit: str) -> str:
    """Smuggle a file into a rollback that is a merge, of which git shows no diff by itself."""
    root = measured.root
    (root / "smuggled.txt").write_text("x")
    git(root, "add", "smuggled.txt")
    tree, message = git(root, "write-tree"), git(root, "show", "--no-patch", "--format=%B", "HEAD")
    merge = git(root, "commit-tree", tree, "-p", commit, "-p", f"{commit}^", "-m", message)
    git(root, "reset", "--quiet", "--hard", merge)
    return "smuggled.txt"


FORGERIES: dict[str, tuple[Forgery, str]] = {
    "another file": (
        lambda m, _: wrote(m, "skills/bracket/more.md", "x"),
        "files changed beside those of the promotion: expected [], found ['skills/bracket/more.md']",
    ),
    "a file elsewhere": (lambda m, _: wrote(m, "corpus/more.md", "x"), "'corpus/more.md'"),
    "a file in a merge": (by_a_merge, "'smuggled.txt'"),
    "other bytes": (
        lambda m, _: wrote(m, "skills/bracket/notes.md", "Notes\n"),
        "skills/bracket/notes.md after it: expected 100644 ",
    ),
    "another mode": (lambda m, _: other_mode(m), "SKILL.md after it: expected 100644 "),
    "a file that was to go": (
        lambda m, _: wrote(m, "skills/bracket/references/forms.md", "Forms.\n"),
        "references/forms.md after it: expected nothing, found 100644 ",
    ),
    "a commit that is not there": (
        lambda m, c: reworded(m, c, "0" * 40) and "0" * 40,
        "trailer Evolve-Rollback: expected a commit of the history before it, found 0000",
    ),
    "a commit of another history": (
        of_elsewhere,
        "trailer Evolve-Rollback: expected a commit of the history before it, found ",
    ),
    "a commit that promoted nothing": (
        of_no_promotion,
        "trailer Evolve-Rollback: expected a commit that carries evidence of a folder here, found ",
    ),
    "a commit cut short": (
        lambda m, c: reworded(m, f"Evolve-Rollback: {c}", f"Evolve-Rollback: {c[:12]}"),
        "trailer Evolve-Rollback: expected ",
    ),
    "two commits": (
        lambda m, c: reworded(m, "Evolve-Overlay", f"Evolve-Rollback: {c}\nEvolve-Overlay"),
        "trailer Evolve-Rollback: expected one commit, found ",
    ),
    "words for a commit": (
        lambda m, c: reworded(m, f"Evolve-Rollback: {c}", "Evolve-Rollback: the last one"),
        "expected a commit of the history before it, found the last one",
    ),
    "another overlay": (
        lambda m, _: reworded(m, "Evolve-Overlay: ", "Evolve-Overlay: 0"),
        "trailer Evolve-Overlay: expected ",
    ),
    "no overlay": (
        lambda m, _: reworded(m, "Evolve-Overlay: ", "Overlay: "),
        "trailer Evolve-Overlay: expected ",
    ),
    "a second one": (second, "first rollback of its promotion: expected nothing, found git "),
}


@pytest.fixture
def taken_back(several_files: Measured, evolve: CommandLine) -> str:
    commit = promoted(several_files)
    assert evolve("rollback", "bracket", "--reason", "It loses the currency").code == 0
    return commit


@pytest.mark.parametrize("how", [("--all",), ("--since", "HEAD^"), ("promotion",)])
def test_a_rollback_by_evolve_holds_and_its_checks_are_listed(
    several_files: Measured, taken_back: str, evolve: CommandLine, how: tuple[str, ...]
) -> None:
    asked = [str(several_files.folder)] if how == ("promotion",) else list(how)
    ran = evolve("audit", *asked, "-v")
    assert ran.code == 0, ran.out
    where = f"git {git(several_files.root, 'rev-parse', 'HEAD')[:12]}"
    for check in (
        "files changed beside those of the promotion",
        "trailer Evolve-Overlay",
        "first rollback of its promotion",
    ):
        assert f"ok     {where}: {check}" in ran.out
    for path in several_files.evidence().promotion.overlay_files:
        assert f"ok     {where}: {path} after it" in ran.out


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_rollback_is_told_by_its_commit_the_field_and_both_values(
    several_files: Measured, taken_back: str, evolve: CommandLine, name: str
) -> None:
    forge, told = FORGERIES[name]
    forge(several_files, taken_back)
    where = f"FAULT  git {git(several_files.root, 'rev-parse', 'HEAD')[:12]}: "
    for asked in (("--all",), ("--since", "HEAD^")):
        ran = evolve("audit", *asked)
        assert ran.code == 4, ran.out
        lines = [line for line in ran.out.splitlines() if line.startswith("FAULT")]
        assert all(line.startswith(where) for line in lines), lines
        assert any(told in line for line in lines), lines


def test_a_rollback_that_undid_more_than_the_promotion_is_found(several_files: Measured, evolve: CommandLine) -> None:
    root, commit = several_files.root, promoted(several_files)
    several_files.skill.write_text(several_files.skill.read_text() + "\nMore.\n")
    git(root, "commit", "--quiet", "--all", "--message", "More")
    git(root, "checkout", "--quiet", f"{commit}^", "--", "skills", ".agents")
    git(root, "rm", "--quiet", *(f"{top}/bracket/references/forms.md" for top in ("skills", ".agents/skills")))
    overlay = several_files.evidence().promotion.overlay_sha256
    git(root, "commit", "--quiet", "--message", f"Undo\n\nEvolve-Rollback: {commit}\nEvolve-Overlay: {overlay}")
    lines = [line for line in evolve("audit", "--all").out.splitlines() if line.startswith("FAULT")]
    assert len(lines) == 1
    assert "digest of skills/bracket/SKILL.md before it: expected " in lines[0]


def test_what_came_before_a_revision_is_not_looked_at_again(
    several_files: Measured, taken_back: str, evolve: CommandLine
) -> None:
    reworded(several_files, "Evolve-Overlay: ", "Evolve-Overlay: 0")
    git(several_files.root, "commit", "--quiet", "--allow-empty", "--message", "Later")
    assert evolve("audit", "--since", "HEAD^").code == 0
    assert evolve("audit", "--since", "HEAD^^").code == 4
    assert evolve("audit", str(several_files.folder)).code == 4


@pytest.mark.parametrize("depth", [1, 2])
def test_a_shallow_clone_is_told_that_the_rollbacks_history_is_cut_off(
    several_files: Measured,
    taken_back: str,
    evolve: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    depth: int,
) -> None:
    clone = tmp_path / "clone"
    git(several_files.root, "clone", "--quiet", f"--depth={depth}", f"file://{several_files.root}", str(clone))
    monkeypatch.chdir(clone)
    ran = evolve("audit", "--all")
    assert ran.code == 4
    lines = [line for line in ran.out.splitlines() if line.startswith("FAULT")]
    assert any(git(clone, "rev-parse", "HEAD")[:12] in line for line in lines), lines
    assert all("git fetch --unshallow" in line for line in lines), lines


def test_what_a_commit_changed_outside_of_the_workspace_is_seen(tmp_path: Path, evolve: CommandLine) -> None:
    from evolve.promote.git import Repository

    git(tmp_path, "init", "--quiet")
    inner = tmp_path / "in here"
    inner.mkdir()
    for path in (inner / "a.md", tmp_path / "b.md"):
        path.write_text("x")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "Both")
    assert Repository(inner).changed_in("HEAD") == {"a.md", "../b.md"}


def test_the_story_says_that_it_was_rolled_back_when_by_which_commit_and_why(
    several_files: Measured, taken_back: str, evolve: CommandLine
) -> None:
    root = several_files.root
    ran = evolve("audit", str(several_files.folder), "--explain")
    assert ran.code == 0, ran.out
    title, _, told = ran.out.splitlines()[:3]
    day, back = git(root, "show", "-s", "--format=%cs"), git(root, "rev-parse", "HEAD")
    assert title.endswith(f"in commit {taken_back[:12]}; rolled back on {day}, in commit {back[:12]}")
    assert told == "Rolled back: It loses the currency"


def test_the_reason_in_a_story_is_inert(several_files: Measured, taken_back: str, evolve: CommandLine) -> None:
    reworded(several_files, "It loses the currency", "<b>bold</b> \x1b[31m")
    ran = evolve("audit", str(several_files.folder), "--explain")
    assert "<b>" not in ran.out and "\x1b" not in ran.out


def test_a_rollback_of_a_commit_that_carries_the_evidence_and_promoted_nothing_is_found(
    several_files: Measured, evolve: CommandLine
) -> None:
    root = several_files.root
    trailer = f"Evolve-Evidence: {several_files.evidence().promotion_sha256}"
    git(root, "commit", "--quiet", "--allow-empty", "--message", f"Record\n\n{trailer}")
    record = git(root, "rev-parse", "HEAD")
    commit = promoted(several_files)
    assert evolve("rollback", commit, "--reason", "No").code == 0
    reworded(several_files, f"Evolve-Rollback: {commit}", f"Evolve-Rollback: {record}")
    told = f"{git(root, 'rev-parse', 'HEAD')[:12]}: digest of skills/bracket/SKILL.md in {record[:12]}: expected "
    assert told in evolve("audit", "--all").out
