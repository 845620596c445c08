from __future__ import annotations

import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evolve.corpus.loading import load_corpus
from evolve.errors import BusyError, EnvironmentFault, EvidenceFault, InputError
from evolve.files import write_atomic, writer_lock
from evolve.promote.apply import promote
from evolve.promote.evidence import PROMOTION_FILE, Evidence
from evolve.promote.git import Repository
from evolve.promote.ledger import read_ledger
from evolve.promote.target import Target
from evolve.records.base import jsonl_bytes
from evolve.workspace import find_workspace
from tests.bench.test_runner import write_overlay
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.worlds import ScriptedModel, git


def attempt(measured: Measured, evidence: Evidence | None = None) -> str:
    workspace = find_workspace(measured.root)
    target = Target(workspace, Repository(workspace.root))
    return promote(evidence or measured.evidence(), target, load_corpus(workspace.corpus))


def refusal(measured: Measured, evidence: Evidence | None = None) -> str:
    head, text = git(measured.root, "rev-parse", "HEAD"), measured.skill.read_bytes()
    with pytest.raises(EvidenceFault) as fault:
        attempt(measured, evidence)
    assert git(measured.root, "rev-parse", "HEAD") == head
    assert measured.skill.read_bytes() == text
    return fault.value.code


def test_what_no_canary_vouches_for_is_not_promoted(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolve.promote.checks.unvouched_arms", lambda *_: {"incumbent": "no canary vouches for them"})
    assert refusal(measured) == "unvouched"


def test_rows_that_were_graded_without_containment_are_not_promoted(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    for oracle in workspace.glob("corpus/*/oracle/oracle.yaml"):
        check = '  - {id: ran, kind: command, argv: ["{python}", "-c", "pass"], rule: Reply with the number.}\n'
        oracle.write_text(oracle.read_text() + check)
    git(workspace, "commit", "--quiet", "--all", "--message", "Run something")
    overlay = write_overlay(workspace)
    ran = evolve("benchmark", overlay, "--json", "--unsafe-host")
    assert ran.json()["decision"]["outcome"] == "promote", ran.err
    ran = evolve("promote", overlay)
    assert ran.code == 1
    assert "graded without containment" in ran.err


def test_a_promotion_commits_the_skill_its_evidence_and_the_ledger_and_nothing_else(
    measured: Measured, evolve: CommandLine
) -> None:
    (measured.root / "other.txt").write_text("mine")
    ran = evolve("promote", measured.overlay)
    assert ran.code == 0, ran.err
    changed = git(measured.root, "show", "--name-only", "--format=", "HEAD").splitlines()
    name = measured.folder.relative_to(measured.root).as_posix()
    assert set(changed) == {
        "promotion/ledger.jsonl",
        f"{name}/attestation.json",
        f"{name}/overlay/skills/bracket/SKILL.md",
        f"{name}/promotion.json",
        f"{name}/rows.jsonl",
        f"{name}/test-result.json",
        "skills/bracket/SKILL.md",
    }
    trailers = git(measured.root, "log", "-1", "--format=%(trailers:key=Evolve-Evidence,valueonly)").strip()
    assert trailers == measured.evidence().promotion_sha256
    assert evolve("audit", "--all").code == 0


def test_a_promotion_is_made_once(measured: Measured, evolve: CommandLine) -> None:
    assert evolve("promote", measured.overlay).code == 0
    ran = evolve("promote", str(measured.folder))
    assert ran.code == 1
    assert "promoted already, in commit" in ran.err


def test_a_dry_run_shows_the_change_and_makes_none(measured: Measured, evolve: CommandLine) -> None:
    before = measured.skill.read_bytes()
    ran = evolve("promote", measured.overlay, "--dry-run")
    assert ran.code == 0
    assert "+## Examples" in ran.out
    assert measured.skill.read_bytes() == before


def test_a_promotion_on_a_new_branch_leaves_the_old_one(measured: Measured, evolve: CommandLine) -> None:
    assert evolve("promote", measured.overlay, "--branch", "better").code == 0
    assert git(measured.root, "branch", "--show-current") == "better"
    assert git(measured.root, "rev-parse", "better^") == git(measured.root, "rev-parse", "main")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("skills/bracket/SKILL.md", "base-changed"),
        ("promotion/policy.yaml", "policy-changed"),
        ("corpus/bracket-sealed-03/task.yaml", "sealed-changed"),
        ("corpus/bracket-sealed-03/oracle/oracle.yaml", "sealed-changed"),
    ],
)
def test_what_was_measured_must_still_be_there(measured: Measured, path: str, code: str) -> None:
    file = measured.root / path
    edits = {".md": "\nMore.\n", ".yaml": ""}
    text = file.read_text() + edits[file.suffix]
    text = text.replace("schema: evolve/policy@1\n", "schema: evolve/policy@1\nmin_runs: 2\n")
    text = text.replace("Please return", "Please give back").replace('["<303>"]', '["<303>", "<3>"]')
    file.write_text(text)
    assert refusal(measured) == code


def test_a_base_that_is_not_committed_is_refused(measured: Measured) -> None:
    git(measured.root, "rm", "--cached", "--quiet", "skills/bracket/SKILL.md")
    git(measured.root, "commit", "--quiet", "--message", "Untrack")
    assert refusal(measured) == "base-uncommitted"


def test_a_skill_that_became_a_link_is_refused(measured: Measured) -> None:
    target = measured.root / "elsewhere.md"
    measured.skill.rename(target)
    measured.skill.symlink_to(target)
    assert refusal(measured) == "link"


def with_promotion(measured: Measured, **changes: object) -> Evidence:
    evidence = measured.evidence()
    promotion = evidence.promotion.model_copy(update=changes)
    return Evidence(evidence.folder, promotion, evidence.promotion_sha256, evidence.rows)


NOW = datetime.now(UTC)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m: with_promotion(m, expires_at=NOW - timedelta(days=1)), "expired"),
        (lambda m: with_promotion(m, generated_at=NOW + timedelta(hours=1)), "from-the-future"),
        (lambda m: with_promotion(m, rows_sha256="0" * 64), "rows-changed"),
        (lambda m: with_promotion(m, runs=2), "decision-differs"),
    ],
)
def test_evidence_that_does_not_hold_is_refused(
    measured: Measured, change: Callable[[Measured], Evidence], code: str
) -> None:
    assert refusal(measured, change(measured)) == code


def test_rows_that_were_made_better_are_refused(measured: Measured) -> None:
    evidence = measured.evidence()
    rows = tuple(reversed(evidence.rows))
    write_atomic(measured.folder / "rows.jsonl", jsonl_bytes(rows))
    assert refusal(measured) == "rows-changed"


def test_evidence_that_the_ledger_does_not_know_is_refused(measured: Measured) -> None:
    (measured.root / "promotion/ledger.jsonl").unlink()
    assert refusal(measured) == "not-in-ledger"


def test_evidence_that_was_rewritten_is_not_the_ledgers(measured: Measured) -> None:
    path = measured.folder / PROMOTION_FILE
    path.write_bytes(path.read_bytes() + b" ")
    assert refusal(measured) == "not-in-ledger"


def test_overlay_bytes_that_were_swapped_are_refused(measured: Measured) -> None:
    (measured.folder / "overlay/skills/bracket/SKILL.md").write_text("swapped")
    assert refusal(measured) == "overlay-changed"


def test_a_candidate_that_failed_the_gate_is_refused_with_the_reasons(
    workspace: Path, model: object, evolve: CommandLine
) -> None:
    folder = workspace / "overlays/worse/skills/bracket"
    folder.mkdir(parents=True)
    text = (workspace / "skills/bracket/SKILL.md").read_text()
    (folder / "SKILL.md").write_text(text + "\nBe polite.\n")
    assert evolve("benchmark", "overlays/worse").code == 0
    ran = evolve("promote", "overlays/worse", "--json")
    assert ran.code == 1
    assert ran.json()["error"]["code"] == "not-promotable"
    assert "the policy asks for 5" in ran.err


def test_an_overlay_without_evidence_is_refused_with_the_next_command(
    workspace: Path, model: object, evolve: CommandLine
) -> None:
    overlay = evolve("propose", "--operator", "demonstrate", "--json").json()[0]["overlay"]
    ran = evolve("promote", overlay)
    assert ran.code == 1
    assert "evolve benchmark" in ran.err


def test_a_hook_that_refuses_leaves_everything_as_it_was(measured: Measured) -> None:
    hook = measured.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no thanks >&2\nexit 1\n")
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    ledger = measured.root / "promotion/ledger.jsonl"
    before = (measured.skill.read_bytes(), ledger.read_bytes(), git(measured.root, "status", "--porcelain"))
    with pytest.raises(EnvironmentFault, match="no thanks"):
        attempt(measured)
    assert (measured.skill.read_bytes(), ledger.read_bytes(), git(measured.root, "status", "--porcelain")) == before


@pytest.mark.parametrize("step", ["begin", "write skills/bracket/SKILL.md", "ledger", "commit", "end"])
def test_a_crash_between_two_steps_is_finished_by_promoting_again(measured: Measured, step: str) -> None:
    workspace = find_workspace(measured.root)
    target = Target(workspace, Repository(workspace.root))

    class Killed(BaseException):
        """Stands for SIGKILL: nothing of ours runs after it."""

    def die(name: str) -> None:
        if name == step:
            raise Killed

    with pytest.raises(Killed):
        promote(measured.evidence(), target, load_corpus(workspace.corpus), step=die)
    attempt(measured)
    entries = (measured.root / "promotion/ledger.jsonl").read_text().count('"entry":"promotion"')
    assert entries == 1
    assert git(measured.root, "log", "--oneline").count("Promote") == 1


def test_two_promotions_at_once_one_is_told(measured: Measured) -> None:
    workspace = find_workspace(measured.root)
    with writer_lock(workspace.locks / "promote.lock", "a promotion"), pytest.raises(BusyError) as fault:
        attempt(measured)
    assert str(os.getpid()) in fault.value.message


def test_a_commit_needs_no_configured_identity(measured: Measured) -> None:
    sha = attempt(measured)
    assert git(measured.root, "show", "-s", "--format=%an <%ae>", sha) == "evolve <evolve@localhost>"


def test_a_configured_identity_is_respected(measured: Measured) -> None:
    git(measured.root, "config", "user.name", "Ada")
    git(measured.root, "config", "user.email", "ada@example.org")
    sha = attempt(measured)
    assert git(measured.root, "show", "-s", "--format=%an <%ae>", sha) == "Ada <ada@example.org>"


def hook(measured: Measured, name: str, script: str) -> Path:
    path = measured.root / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def state_of(measured: Measured) -> tuple[object, ...]:
    files = [path for path in (measured.root / "promotion").rglob("*") if path.is_file()]
    contents = {path: path.read_bytes() for path in [measured.skill, *files]}
    heads = git(measured.root, "rev-parse", "HEAD"), git(measured.root, "branch", "--format=%(refname)")
    return contents, git(measured.root, "status", "--porcelain"), heads, git(measured.root, "branch", "--show-current")


REWRITE = 'for f in $(git diff --cached --name-only); do echo " " >> "$f"; done'


@pytest.mark.parametrize("script", [f"{REWRITE}; exit 1", f"{REWRITE}; git add --all promotion skills; exit 0"])
@pytest.mark.parametrize("branch", [None, "fresh"])
def test_a_hook_that_rewrites_files_leaves_everything_as_it_was(
    measured: Measured, evolve: CommandLine, script: str, branch: str | None
) -> None:
    path = hook(measured, "pre-commit", script)
    before = state_of(measured)
    arguments = ("--branch", branch) if branch else ()
    ran = evolve("promote", measured.overlay, *arguments)
    assert ran.code == 1, ran.out
    assert state_of(measured) == before
    path.unlink()
    assert evolve("promote", measured.overlay, *arguments).code == 0
    assert evolve("audit", "--all").code == 0


def test_a_hook_that_adds_a_trailer_block_is_audited_all_the_same(measured: Measured, evolve: CommandLine) -> None:
    hook(measured, "commit-msg", 'printf "\\nSigned-off-by: A <a@b.c>\\nChange-Id: I1\\n" >> "$1"')
    assert evolve("promote", measured.overlay).code == 0
    ran = evolve("audit", "--all")
    assert ran.code == 0, ran.out


def test_a_policy_that_is_not_committed_is_refused(measured: Measured) -> None:
    git(measured.root, "rm", "--cached", "--quiet", "promotion/policy.yaml")
    git(measured.root, "commit", "--quiet", "--message", "Untrack")
    with pytest.raises(InputError) as fault:
        attempt(measured)
    assert fault.value.code == "rules-uncommitted"


def test_sealed_tasks_that_are_not_committed_are_refused(measured: Measured) -> None:
    git(measured.root, "rm", "-r", "--cached", "--quiet", "corpus/bracket-sealed-01")
    git(measured.root, "commit", "--quiet", "--message", "Untrack")
    with pytest.raises(InputError, match="corpus/bracket-sealed-01"):
        attempt(measured)


def test_a_look_that_was_numbered_too_low_is_refused(measured: Measured) -> None:
    """Two looks of one number, as a race once gave them: the second must not be promoted."""
    root = measured.root / "promotion"
    entries = list(read_ledger(root))
    other = entries[0].model_copy(update={"sweep": "another", "previous": None})
    chained = [other]
    for number, entry in enumerate(entries, start=1):
        chained.append(entry.model_copy(update={"seq": number, "previous": chained[-1].digest()}))
    look = chained[1]
    evidence = measured.evidence()
    position = evidence.promotion.ledger.model_copy(update={"entry_sha256": look.digest()})
    promotion = evidence.promotion.model_copy(update={"ledger": position})
    chained[2] = chained[2].model_copy(update={"evidence_sha256": evidence.promotion_sha256})
    write_atomic(root / "ledger.jsonl", jsonl_bytes(chained))
    forged = Evidence(evidence.folder, promotion, evidence.promotion_sha256, evidence.rows)
    assert refusal(measured, forged) == "wrong-look"


def test_a_stale_git_lock_is_named_with_its_remedy(measured: Measured) -> None:
    (measured.root / ".git/index.lock").write_text("")
    with pytest.raises(EnvironmentFault) as fault:
        attempt(measured)
    assert "index.lock" in str(fault.value.hint)
