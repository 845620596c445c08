"""SIGKILL anywhere, then recover: always the old state or the new one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evolve.corpus.loading import load_corpus
from evolve.errors import EnvironmentFault
from evolve.promote.apply import promote
from evolve.promote.audit import audit_all, open_audit
from evolve.promote.git import Repository
from evolve.promote.ledger import workspace_ledger
from evolve.promote.recovery import pending, recover
from evolve.promote.rollback import find_promoted, roll_back
from evolve.promote.target import Target
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.promote.conftest import Measured, copy_of
from tests.promote.test_apply import hook
from tests.worlds import git

PROJECT = Path(__file__).parents[2]
State = tuple[object, ...]


def target_of(measured: Measured, branch: str | None = None) -> Target:
    workspace = find_workspace(measured.root)
    return Target(workspace, Repository(workspace.root), branch)


def promoted(measured: Measured, branch: str | None = None, step: Callable[[str], None] = lambda _: None) -> str:
    target = target_of(measured, branch)
    return promote(measured.evidence(), target, load_corpus(target.workspace.corpus), step=step)


def killed_at(jobs: list[dict[str, Any]]) -> list[int]:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.promote.killed"],
        input=json.dumps(jobs),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    ended: list[int] = json.loads(ran.stdout)
    return ended


def job(measured: Measured, step: str, what: str = "promote", branch: str | None = None) -> dict[str, Any]:
    return {
        "root": str(measured.root),
        "evidence": str(measured.folder),
        "what": what,
        "step": step,
        "branch": branch,
    }


FILES = ("SKILL.md", "notes.md", "old.md", "references/forms.md", "scraps/old.txt")
TOPS = ("skills", ".agents", "promotion")


def state_of(measured: Measured) -> State:
    """Return everything that a promotion may touch; an untracked leftover shows in the status."""
    root = measured.root
    files = [path for top in TOPS for path in (root / top).rglob("*")]
    contents = {path.relative_to(root): path.read_bytes() if path.is_file() else None for path in files}
    branches = git(root, "branch", "--format=%(refname) %(objectname)")
    return contents, git(root, "status", "--porcelain"), git(root, "rev-parse", "HEAD"), branches


def ledger_of(measured: Measured) -> str:
    return (measured.root / "promotion/ledger.jsonl").read_text()


def assert_audited(measured: Measured) -> None:
    workspace = find_workspace(measured.root)
    context, chain = open_audit(workspace, Repository(workspace.root))
    assert [finding for finding in [chain, *audit_all(context)] if not finding.holds] == []


def assert_new(measured: Measured, old: State) -> None:
    root = measured.root
    assert git(root, "rev-parse", "HEAD^") == old[2]
    assert git(root, "log", "--format=%s").count("Promote") == 1
    assert git(root, "status", "--porcelain", *(top for top in TOPS if (root / top).exists())) == ""
    assert ledger_of(measured).count('"entry":"promotion"') == 1
    assert pending(find_workspace(root)) is None
    assert_audited(measured)


def assert_old_or_new(measured: Measured, old: State) -> bool:
    """See that it is one of the two; returns whether it is the new one."""
    assert pending(find_workspace(measured.root)) is None
    if git(measured.root, "log", "-1", "--format=%s").startswith("Promote"):
        assert_new(measured, old)
        return True
    assert state_of(measured) == old
    return False


def steps_of(measured: Measured, place: Path, branch: str | None = None) -> list[str]:
    """Return the steps of a promotion, in their order."""
    steps: list[str] = []
    promoted(copy_of(measured.root, place), branch, steps.append)
    return steps


@pytest.mark.parametrize("branch", [None, "fresh"])
def test_killed_at_any_step_a_promotion_is_recovered_to_the_old_state_or_the_new_one(
    several_files: Measured, tmp_path: Path, branch: str | None
) -> None:
    steps = steps_of(several_files, tmp_path / "traced", branch)
    assert [step for step in steps if not step.startswith("restore")] == [
        "begin",
        *(f"write {root}/bracket/{name}" for name in FILES for root in ("skills", ".agents/skills")),
        "verify",
        "ledger",
        "verify all",
        "branch",
        "commit",
        "check",
        "index",
        "end",
    ]
    steps += [f"named {name}" for name in ("SKILL.md", "notes.md", "forms.md", "ledger.jsonl", "recovery.json")]
    if branch is not None:
        steps = [step for step in steps if step in ("branch", "commit", "check", "index", "end")]
    copies = [copy_of(several_files.root, tmp_path / f"copy-{number}") for number in range(len(steps))]
    old = state_of(several_files)
    ended = killed_at([job(one, step, branch=branch) for one, step in zip(copies, steps, strict=True)])
    assert set(ended) == {signal.SIGKILL}
    news = set()
    for one, step in zip(copies, steps, strict=True):
        recover(target_of(one))
        if assert_old_or_new(one, old):
            news.add(step)
        else:
            promoted(one, branch)
        assert_new(one, old)
        assert recover(target_of(one)) is None
    assert {"check", "index", "end"} <= news <= {"check", "index", "end", *(s for s in steps if s[:7] == "restore")}


@pytest.mark.parametrize("at", ["verify all", "commit", "index"])
def test_a_recovery_that_is_killed_at_any_step_can_be_run_again(
    several_files: Measured, tmp_path: Path, at: str
) -> None:
    old = state_of(several_files)
    assert killed_at([job(several_files, at, branch="fresh")]) == [signal.SIGKILL]
    steps: list[str] = []
    recover(target_of(copy_of(several_files.root, tmp_path / "traced")), step=steps.append)
    assert steps[-1] == "end"
    copies = [copy_of(several_files.root, tmp_path / f"copy-{number}") for number in range(len(steps))]
    ended = killed_at([job(one, step, "recover") for one, step in zip(copies, steps, strict=True)])
    assert set(ended) == {signal.SIGKILL}
    for one in copies:
        recover(target_of(one))
        assert assert_old_or_new(one, old) is (at == "index")


def test_a_rollback_that_is_killed_at_any_step_is_recovered(several_files: Measured, tmp_path: Path) -> None:
    head = promoted(several_files)
    traced = copy_of(several_files.root, tmp_path / "traced")
    steps: list[str] = []
    target = target_of(traced)
    roll_back(find_promoted(target.workspace, target.repository, "bracket"), target, "Why not", step=steps.append)
    copies = [copy_of(several_files.root, tmp_path / f"copy-{number}") for number in range(len(steps))]
    ended = killed_at([job(one, step, "rollback") for one, step in zip(copies, steps, strict=True)])
    assert set(ended) == {signal.SIGKILL}
    old = state_of(several_files)
    for one, step in zip(copies, steps, strict=True):
        recover(target_of(one))
        over = step in ("check", "index", "end") or step.startswith("restore")
        assert (state_of(one) == old) is not over
        if over:
            assert git(one.root, "rev-parse", "HEAD^") == head
            assert git(one.root, "status", "--porcelain", *(top for top in TOPS if (one.root / top).exists())) == ""
            assert not (one.root / "skills/bracket/references").exists()
        assert_audited(one)


KILL_EVOLVE = "kill -9 $(ps -o ppid= -p $PPID)"
HELD = ".git/held"
WORK_ON = f"for _ in $(seq 600); do [ -e {HELD} ] || break; sleep 0.1; done"


@pytest.mark.parametrize(
    ("name", "script", "new"),
    [
        ("pre-commit", f"{KILL_EVOLVE}; {WORK_ON}; exit 1", False),
        ("pre-commit", f"{KILL_EVOLVE}; {WORK_ON}; exit 0", True),
        ("post-commit", KILL_EVOLVE, True),
        ("pre-commit", f"echo mine >> skills/bracket/SKILL.md; {KILL_EVOLVE}; exit 1", False),
    ],
)
def test_killed_while_git_works_on_it_waits_for_git_and_is_recovered(
    measured: Measured, evolve: CommandLine, name: str, script: str, new: bool
) -> None:
    old = state_of(measured)
    path, held = hook(measured, name, script), measured.root / HELD
    held.touch()
    assert killed_at([job(measured, "never")]) == [signal.SIGKILL]
    if WORK_ON in script:
        ran = evolve("promote", "--recover", "--json")
        assert ran.json()["error"]["code"] == "git-busy"
        assert "index.lock" in ran.json()["error"]["hint"]
    held.unlink()
    path.unlink()
    deadline = time.monotonic() + 20
    while (measured.root / ".git/index.lock").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    ran = evolve("promote", "--recover")
    assert ran.code == 0, ran.err
    assert ("finished: it is commit" if new else "undone: everything is as it was") in ran.out
    assert assert_old_or_new(measured, old) is new
    assert ("kept in results/kept/" in ran.out) is ("mine" in script)
    assert evolve("promote", "--recover").out == "nothing to recover: no promotion was cut off\n"


def test_nothing_is_entered_in_the_ledger_while_a_promotion_is_cut_off(measured: Measured, evolve: CommandLine) -> None:
    assert killed_at([job(measured, "commit")]) == [signal.SIGKILL]
    book = workspace_ledger(find_workspace(measured.root))
    with pytest.raises(EnvironmentFault) as fault:
        book.append(book.read()[0].model_copy(update={"sweep": "another"}))
    assert (fault.value.code, fault.value.hint) == ("promotion-unfinished", "evolve promote --recover")
    ran = evolve("promote", measured.overlay, "--dry-run", "--json")
    assert ran.json()["error"]["code"] == "promotion-unfinished"
    assert evolve("promote", measured.overlay).code == 0, "a promotion settles it by itself"
    assert evolve("audit", "--all").code == 0


def test_what_was_edited_after_a_crash_is_put_aside_and_not_lost(measured: Measured, evolve: CommandLine) -> None:
    old = state_of(measured)
    assert killed_at([job(measured, "commit")]) == [signal.SIGKILL]
    measured.skill.write_text("my own words")
    ran = evolve("promote", "--recover", "--json")
    assert state_of(measured) == old
    kept = ran.json()["kept"]["skills/bracket/SKILL.md"]
    assert (measured.root / kept).read_text() == "my own words"


def test_where_head_moved_on_after_a_crash_only_our_own_bytes_are_undone(several_files: Measured) -> None:
    assert killed_at([job(several_files, "commit")]) == [signal.SIGKILL]
    notes = several_files.root / "skills/bracket/notes.md"
    notes.write_text("Committed since.\n")
    git(several_files.root, "commit", "--quiet", "--message", "Mine", "--only", "skills/bracket/notes.md")
    recover(target_of(several_files))
    assert notes.read_text() == "Committed since.\n"
    assert git(several_files.root, "status", "--porcelain", "skills") == ""
    assert git(several_files.root, "log", "-1", "--format=%s") == "Mine"


def test_two_promotions_at_once_one_wins_and_one_is_told(measured: Measured) -> None:
    hook(measured, "pre-commit", "sleep 2")
    old = state_of(measured)
    command = [sys.executable, "-m", "evolve.cli.entry", "promote", measured.overlay, "--json"]
    script = [sys.executable, "-c", "from evolve.cli.entry import run; run()", *command[3:]]
    environment = {"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/"}
    both = [
        subprocess.Popen(script, cwd=measured.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    told = [json.loads(one.communicate()[0]) for one in both]
    assert sorted(one.returncode for one in both) == [0, 1]
    lost = next(one for one in told if "error" in one)
    assert lost["error"]["code"] in ("busy", "already-promoted")
    assert_new(measured, old)


def test_what_measures_settles_a_promotion_first(measured: Measured, evolve: CommandLine) -> None:
    assert killed_at([job(measured, "commit")]) == [signal.SIGKILL]
    text = git(measured.root, "show", "HEAD:skills/bracket/SKILL.md")
    ran = evolve("benchmark", measured.overlay)
    assert "the promotion that was cut off is undone: everything is as it was" in ran.err
    assert "measured already" in ran.err
    assert measured.skill.read_text().strip() == text


REWRITE = 'for f in $(git diff --cached --name-only); do echo " " >> "$f"; done; git add --all promotion skills'


@pytest.mark.parametrize("branch", [None, "fresh"])
def test_a_commit_that_a_hook_changed_is_undone_when_nobody_was_left_to_see_it(
    measured: Measured, branch: str | None
) -> None:
    old = state_of(measured)
    hook(measured, "pre-commit", REWRITE)
    assert killed_at([job(measured, "check", branch=branch)]) == [signal.SIGKILL]
    assert git(measured.root, "log", "-1", "--format=%s").startswith("Promote")
    recovered = recover(target_of(measured))
    assert recovered is not None and recovered.commit is None
    assert state_of(measured) == old


def test_a_commit_that_a_hook_changed_and_that_was_built_upon_is_left_to_the_user(measured: Measured) -> None:
    hook(measured, "pre-commit", REWRITE)
    assert killed_at([job(measured, "check")]) == [signal.SIGKILL]
    git(measured.root, "commit", "--quiet", "--allow-empty", "--no-verify", "--message", "Mine")
    with pytest.raises(EnvironmentFault) as fault:
        recover(target_of(measured))
    assert fault.value.code == "recovery-blocked"
    assert git(measured.root, "log", "-1", "--format=%s") == "Mine"
