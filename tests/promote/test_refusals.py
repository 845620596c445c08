"""Every refusal of promoting and taking back has a code of its own, and each is raised once here."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evolve.errors import EnvironmentFault, EvolveError
from evolve.files import write_atomic
from evolve.overlays import FrozenOverlay, read_overlay
from evolve.promote import checks
from evolve.promote.evidence import PROMOTION_FILE, Evidence, read_evidence
from evolve.promote.git import Repository
from evolve.promote.lineage import check_parents
from evolve.promote.pull_request import PullRequest, open_pull_request, remote_for
from evolve.promote.recovery import BYTES_FOLDER, pending, recover, refuse_unfinished
from evolve.promote.rollback import find_promoted, roll_back
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.promote.test_apply import attempt, hook, with_promotion
from tests.promote.test_killed import job, killed_at, promoted, target_of
from tests.worlds import git

Trigger = Callable[[Measured, pytest.MonkeyPatch], object]
SOURCES = ("apply", "checks", "lineage", "target", "transaction", "recovery", "places", "rollback", "pull_request")
PROMOTE = Path(checks.__file__).parent
ELSEWHERE = {
    "wrong-look": "tests/promote/test_apply.py: numbered too low",
    "not-promotable": "tests/promote/test_apply.py: failed the gate",
    "uncontained": "tests/promote/test_apply.py: without containment",
}


def untracked(measured: Measured, *paths: str) -> None:
    git(measured.root, "rm", "-r", "--cached", "--quiet", *paths)
    git(measured.root, "commit", "--quiet", "--message", "Untrack")


def edited(measured: Measured, path: str, old: str, new: str) -> object:
    file = measured.root / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return attempt(measured)


def rolled_back(measured: Measured, reason: str = "No") -> object:
    target = target_of(measured)
    return roll_back(find_promoted(target.workspace, target.repository, "bracket"), target, reason)


def after(*steps: Callable[[Measured], object]) -> Trigger:
    def trigger(measured: Measured, _: pytest.MonkeyPatch) -> object:
        return [step(measured) for step in steps]

    return trigger


def gone_skill(measured: Measured) -> object:
    measured.skill.unlink()
    return attempt(measured)


def unexpected(measured: Measured) -> object:
    bases = dict.fromkeys(measured.evidence().promotion.base_files)
    return attempt(measured, with_promotion(measured, base_files=bases))


def other_candidate(measured: Measured) -> object:
    arms = measured.evidence().promotion.arms
    forged = [arm.model_copy(update={"skills": {"bracket": "0" * 64}}) if arm.overlay_sha256 else arm for arm in arms]
    return attempt(measured, with_promotion(measured, arms=tuple(forged)))


def of_unknown_parents(measured: Measured) -> object:
    workspace = find_workspace(measured.root)
    overlay = read_overlay(measured.root / measured.overlay, {})
    spec = overlay.spec.model_copy(update={"parents": ("0" * 64,)})
    check_parents(FrozenOverlay(spec, overlay.files), workspace.skill("bracket"), workspace, "overlay")
    return None


def of_unknown_parents_measured(measured: Measured) -> object:
    lineage = measured.evidence().promotion.lineage.model_copy(update={"parents": ("0" * 64,)})
    return attempt(measured, with_promotion(measured, lineage=lineage))


def without_checks(change: Callable[[Measured], object]) -> Trigger:
    def trigger(measured: Measured, patch: pytest.MonkeyPatch) -> object:
        patch.setattr(checks, "check_promotable", lambda *_, **__: None)
        return change(measured)

    return trigger


def linked(measured: Measured) -> object:
    measured.skill.rename(measured.root / "elsewhere.md")
    measured.skill.symlink_to(measured.root / "elsewhere.md")
    return attempt(measured)


def a_folder(measured: Measured) -> object:
    measured.skill.unlink()
    measured.skill.mkdir()
    return attempt(measured)


def elsewhere(measured: Measured) -> object:
    moved = measured.folder.rename(measured.root / "moved")
    return attempt(measured, read_evidence(moved))


def written(path: str, text: str) -> Callable[[Measured], object]:
    def write(measured: Measured) -> object:
        return (measured.root / path).write_text(text)

    return write


def interfering(step: str) -> Callable[[Measured], object]:
    def trigger(measured: Measured) -> object:
        def swap(name: str) -> None:
            if name == step:
                measured.skill.write_text("x")

        return promoted(measured, step=swap)

    return trigger


def not_undone(measured: Measured, patch: pytest.MonkeyPatch) -> object:
    def refuse(*_: object, **__: object) -> None:
        raise EnvironmentFault("no")

    patch.setattr("evolve.promote.transaction.undo", refuse)
    return interfering("verify")(measured)


def killed(measured: Measured) -> None:
    killed_at([job(measured, "commit")])


def blocked(measured: Measured) -> object:
    """Recover where somebody entered a look behind the entry that is to be undone."""
    killed(measured)
    ledger = measured.root / "promotion/ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes() + ledger.read_bytes().splitlines(keepends=True)[0])
    return recover(target_of(measured))


def damaged(measured: Measured) -> object:
    killed(measured)
    workspace = find_workspace(measured.root)
    for path in (workspace.promoting / BYTES_FOLDER).iterdir():
        path.write_bytes(b"other")
    return recover(target_of(measured))


def base_gone(measured: Measured) -> object:
    promoted(measured)
    target = target_of(measured)
    found = find_promoted(target.workspace, target.repository, "bracket")
    bases = dict.fromkeys(found.evidence.promotion.base_files, "0" * 64)
    promotion = found.evidence.promotion.model_copy(update={"base_files": bases})
    evidence = Evidence(found.evidence.folder, promotion, found.evidence.promotion_sha256, found.evidence.rows)
    return roll_back(type(found)(evidence, found.commit), target, "No")


def push_to_nowhere(measured: Measured) -> object:
    return open_pull_request(target_of(measured), PullRequest("nowhere", "main", None, "t", "b"))


def gh_refuses(measured: Measured, patch: pytest.MonkeyPatch) -> object:
    patch.setattr(Repository, "push", lambda *_: None)
    patch.setattr("evolve.promote.pull_request.shutil.which", lambda _: "/bin/false")
    patch.setattr(PullRequest, "arguments", ["/bin/false"])
    return push_to_nowhere(measured)


NOW = datetime.now(UTC)
REWRITES = 'for f in $(git diff --cached --name-only); do echo " " >> "$f"; done; git add --all; exit 0'
TRIGGERS: dict[str, Trigger] = {
    "branch-name": lambda m, _: promoted(m, "a..b"),
    "branch-exists": after(lambda m: git(m.root, "branch", "there"), lambda m: promoted(m, "there")),
    "base-uncommitted": after(lambda m: untracked(m, "skills/bracket/SKILL.md"), attempt),
    "rules-uncommitted": after(lambda m: untracked(m, "promotion/policy.yaml"), attempt),
    "rows-changed": lambda m, _: attempt(m, with_promotion(m, rows_sha256="0" * 64)),
    "decision-differs": lambda m, _: attempt(m, with_promotion(m, runs=2)),
    "expired": lambda m, _: attempt(m, with_promotion(m, expires_at=NOW - timedelta(days=1))),
    "from-the-future": lambda m, _: attempt(m, with_promotion(m, generated_at=NOW + timedelta(hours=1))),
    "policy-changed": lambda m, _: edited(m, "promotion/policy.yaml", "cache: cold", "cache: cold\nmin_runs: 2"),
    "sealed-changed": lambda m, _: edited(m, "corpus/bracket-sealed-03/task.yaml", "Please return", "Give back"),
    "not-in-ledger": after(lambda m: (m.root / "promotion/ledger.jsonl").unlink(), attempt),
    "overlay-changed": after(lambda m: (m.folder / "overlay/skills/bracket/SKILL.md").write_text("x"), attempt),
    "already-promoted": after(attempt, attempt),
    "evidence-elsewhere": lambda m, _: elsewhere(m),
    "base-missing": lambda m, _: gone_skill(m),
    "base-unexpected": without_checks(unexpected),
    "base-changed": after(written("skills/bracket/SKILL.md", "x"), attempt),
    "mirrors-changed": without_checks(lambda m: attempt(m, with_promotion(m, folders=("skills/bracket", "a/bracket")))),
    "candidate-differs": without_checks(other_candidate),
    "unknown-parent": lambda m, _: of_unknown_parents(m),
    "lineage-unresolved": without_checks(of_unknown_parents_measured),
    "link": lambda m, _: linked(m),
    "not-a-file": lambda m, _: a_folder(m),
    "write-unverified": lambda m, _: interfering("verify")(m),
    "commit-changed": after(lambda m: hook(m, "pre-commit", REWRITES), attempt),
    "not-undone": not_undone,
    "git-failed": after(lambda m: hook(m, "pre-commit", "exit 1"), attempt),
    "git-busy": after(written(".git/index.lock", ""), attempt),
    "promotion-unfinished": after(killed, lambda m: refuse_unfinished(find_workspace(m.root))),
    "recovery-blocked": lambda m, _: blocked(m),
    "recovery-damaged": lambda m, _: damaged(m),
    "not-found": lambda m, _: rolled_back(m) if not find_promoted_named(m, "no-such-skill") else None,
    "not-promoted": lambda m, _: find_promoted_named(m, str(m.folder)),
    "no-reason": after(attempt, lambda m: rolled_back(m, " \n\x1b ")),
    "rolled-back": after(attempt, rolled_back, rolled_back),
    "rollback-drifted": after(attempt, written("skills/bracket/SKILL.md", "x"), rolled_back),
    "base-gone": lambda m, _: base_gone(m),
    "no-own-branch": lambda m, _: remote_for(target_of(m)),
    "no-remote": lambda m, _: remote_for(target_of(m, "fresh")),
    "push-failed": lambda m, _: push_to_nowhere(m),
    "gh-failed": gh_refuses,
}


def find_promoted_named(measured: Measured, name: str) -> object:
    target = target_of(measured)
    return find_promoted(target.workspace, target.repository, name)


@pytest.mark.parametrize("code", sorted(TRIGGERS))
def test_each_refusal_says_its_code(measured: Measured, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    with pytest.raises(EvolveError) as fault:
        TRIGGERS[code](measured, monkeypatch)
    assert fault.value.code == code
    assert fault.value.message


def test_the_table_holds_every_code_that_there_is() -> None:
    text = "\n".join((PROMOTE / f"{name}.py").read_text() for name in SOURCES)
    codes = set(re.findall(r'code="([a-z-]+)"', text)) | set(re.findall(r'_refuse\(\s*"([a-z-]+)"', text))
    assert codes - TRIGGERS.keys() - ELSEWHERE.keys() == {"unvouched"}, "test_apply.py has it, by a patch"
    assert len(codes) > 35


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("skills/bracket/.git/hooks.md", "unsafe-path"),
        ("skills/other/SKILL.md", "overlay-scope"),
        ("evolve.yaml", "overlay-scope"),
        ("skills/bracket/run.sh", "invalid-input"),
    ],
)
def test_a_forged_overlay_that_reaches_elsewhere_is_refused(
    measured: Measured, monkeypatch: pytest.MonkeyPatch, path: str, code: str
) -> None:
    """Even where rows, ledger and decision were forged to go with it."""
    monkeypatch.setattr(checks, "check_promotable", lambda *_, **__: None)
    file = measured.folder / "overlay" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("evil\n")
    from evolve.digest import sha256_bytes
    from evolve.snapshot import Snapshot

    overlay = Snapshot.read(measured.folder / "overlay")
    held = {name: sha256_bytes(entry.content) for name, entry in overlay.files.items()}
    there = {name: measured.root / name for name in held}
    bases = {name: sha256_bytes(at.read_bytes()) if at.is_file() else None for name, at in there.items()}
    changes = {"overlay_sha256": overlay.digest, "overlay_files": held, "base_files": bases}
    before = git(measured.root, "rev-parse", "HEAD"), git(measured.root, "status", "--porcelain")
    with pytest.raises(EvolveError) as fault:
        attempt(measured, with_promotion(measured, **changes))
    assert fault.value.code == code
    assert (git(measured.root, "rev-parse", "HEAD"), git(measured.root, "status", "--porcelain")) == before
    assert pending(find_workspace(measured.root)) is None


@pytest.mark.parametrize("path", ["../out.md", "/etc/passwd", "skills/../../out.md", ".git/config"])
def test_evidence_that_names_a_path_outside_is_not_even_read(measured: Measured, path: str) -> None:
    file = measured.folder / PROMOTION_FILE
    write_atomic(file, file.read_bytes().replace(b'"skills/bracket/SKILL.md":', f'"{path}":'.encode()))
    with pytest.raises(EvolveError) as fault:
        measured.evidence()
    assert fault.value.code == "invalid-record"


def test_an_overlay_file_that_is_a_link_is_refused(measured: Measured) -> None:
    file = measured.folder / "overlay/skills/bracket/SKILL.md"
    file.rename(measured.root / "moved.md")
    file.symlink_to(measured.root / "moved.md")
    with pytest.raises(EvolveError) as fault:
        attempt(measured)
    assert fault.value.code == "escaping-link"


@pytest.mark.parametrize("command", ["rebase", "merge", "cherry-pick"])
def test_nothing_is_committed_in_the_midst_of_what_git_may_give_up(
    measured: Measured, evolve: CommandLine, command: str
) -> None:
    root = measured.root
    for branch, text in (("other", "a"), ("main", "b")):
        git(root, "switch", "--quiet", *(["--create"] if branch == "other" else []), branch)
        (root / "same.txt").write_text(text)
        git(root, "add", "same.txt")
        git(root, "commit", "--quiet", "--message", text)
    with pytest.raises(subprocess.CalledProcessError):
        git(root, command, "other")
    head = git(root, "rev-parse", "HEAD")
    ran = evolve("promote", measured.overlay, "--json")
    assert ran.json()["error"]["code"] == "git-midway", ran.out
    assert f"a {command}" in ran.json()["error"]["message"]
    assert git(root, "rev-parse", "HEAD") == head
