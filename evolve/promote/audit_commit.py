"""Auditing the commit of a promotion: it holds what was measured, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evolve.corpus.loading import sealed_digest, task_of
from evolve.digest import sha256_bytes
from evolve.errors import EvolveError
from evolve.overlays import OVERLAY_FILE
from evolve.promote.audit_reuse import Measured
from evolve.promote.checks import CLOCK_SLACK
from evolve.promote.evidence import EVIDENCE_FILES, OVERLAY_FOLDER, PROMOTION_FILE
from evolve.promote.findings import CUT_OFF, NOTHING, Finding, compare, fault, judge, unreadable
from evolve.promote.git import Commit, Repository
from evolve.promote.ledger import LEDGER_FILE, find_entry
from evolve.promote.lineage import Ancestry, read_ancestry
from evolve.promote.places import plain_bytes
from evolve.promote.standing import folders_at
from evolve.promote.touched import touched_files
from evolve.records.archive import ARCHIVE_FILE, LEARNINGS_FILE
from evolve.records.base import decode_text, parse_yaml
from evolve.records.kinds import Outcome, Role
from evolve.records.ledger import LedgerEntry
from evolve.records.policy import Policy
from evolve.records.promotion import Promotion
from evolve.workspace import POLICY_FILE, Workspace


@dataclass(frozen=True)
class AuditContext:
    """What an audit looks at: the workspace's folders, its history, its ledger, and which sweep measured what."""

    workspace: Workspace
    repository: Repository
    entries: tuple[LedgerEntry, ...]
    measured: Measured
    auditor_keys: tuple[str, ...] = ()

    @property
    def promotion_root(self) -> Path:
        """The promotion folder."""
        return self.workspace.promotion

    @property
    def corpus(self) -> str:
        """The corpus, relative to the workspace."""
        return self.workspace.spec.corpus

    @property
    def prefix(self) -> str:
        """The promotion folder, relative to the workspace."""
        return self.workspace.spec.promotion

    @cached_property
    def ancestry(self) -> Ancestry:
        """What overlays can come from here."""
        return read_ancestry(self.workspace, self.repository)


def _ledger_findings(where: str, sha: str, context: AuditContext) -> Iterator[Finding]:
    """Check that the ledger of today goes on from the ledger in the commit."""
    then = context.repository.blob(sha, f"{context.prefix}/{LEDGER_FILE}")
    try:
        now = plain_bytes(context.promotion_root / LEDGER_FILE)
    except OSError as error:
        yield unreadable(LEDGER_FILE, "ledger", error)
        return
    yield compare(where, "its ledger is how today's begins", then, None if then is None else now[: len(then)])


def ledger_history_finding(context: AuditContext) -> Finding:
    """Check that the ledger of today goes on from each that was ever committed: whoever lets looks go, looks anew."""
    path = f"{context.prefix}/{LEDGER_FILE}"
    try:
        now = plain_bytes(context.promotion_root / LEDGER_FILE)
    except OSError:
        now = b""
    commits = context.repository.commits_of(path)
    lost = [sha for sha in commits if not now.startswith(context.repository.blob(sha, path) or b"")]
    check = f"goes on from the ledgers of {len(commits)} commits"
    if not lost:
        return Finding(LEDGER_FILE, check, True)
    expected = f"the entries committed in {lost[0][:12]} (git show {lost[0][:12]}:./{path})"
    return fault(LEDGER_FILE, check, expected, "that they are gone")


def was_promoted(promotion: Promotion, evidence_sha256: str, context: AuditContext) -> bool:
    """Whether the ledger says that evidence was promoted, or a commit that carries it does what promoting it does."""
    if find_entry(context.entries, "promotion", promotion.sweep) is not None:
        return True
    touched = touched_files(promotion)

    def held(revision: str) -> bool:
        return all(_blob_digest(context.repository, revision, path) == file.after for path, file in touched.items())

    commits = context.repository.commits_with_trailer("Evolve-Evidence", evidence_sha256)
    return any(context.repository.in_history(one.sha) and held(one.sha) and not held(f"{one.sha}^") for one in commits)


def commit_findings(name: str, promotion: Promotion, evidence_sha256: str, context: AuditContext) -> Iterator[Finding]:
    """Check each commit of this history that carries a promotion's evidence; where there is none, the oldest of all."""
    repository = context.repository
    yield from _promotable_findings(name, promotion, context)
    commits = repository.commits_with_trailer("Evolve-Evidence", evidence_sha256)
    if not commits:
        found = CUT_OFF if repository.shallow else "that no commit carries it"
        yield fault("git", f"commit of {name}", f"one with Evolve-Evidence: {evidence_sha256}", found)
        return
    here = [commit for commit in commits if repository.in_history(commit.sha)]
    for commit in here or commits[-1:]:
        yield from _one_commit_findings(commit, promotion, context)


def _promotable_findings(name: str, promotion: Promotion, context: AuditContext) -> Iterator[Finding]:
    """Check that what was promoted was entered as such, in time, and that the gate had said so."""
    yield compare(
        f"{name}/{PROMOTION_FILE}", "outcome of what was promoted", Outcome.PROMOTE, promotion.decision.outcome
    )
    entry = find_entry(context.entries, "promotion", promotion.sweep)
    yield judge(LEDGER_FILE, f"promotion of {name}", entry is not None, "an entry of it", NOTHING)
    if entry is not None:
        in_time = entry.at <= promotion.expires_at + CLOCK_SLACK
        until, at = (f"{moment:%Y-%m-%d}" for moment in (promotion.expires_at, entry.at))
        yield judge(LEDGER_FILE, f"time of the promotion of {name}", in_time, f"until {until}", at)


def _one_commit_findings(commit: Commit, promotion: Promotion, context: AuditContext) -> Iterator[Finding]:
    repository, where = context.repository, f"git {commit.sha[:12]}"
    trailers = {
        "Evolve-Overlay": promotion.overlay_sha256,
        "Evolve-Policy": promotion.policy_sha256,
        "Evolve-Rows": promotion.rows_sha256,
    }
    for key, value in trailers.items():
        yield compare(where, f"trailer {key}", value, commit.trailers.get(key))
    yield from _ledger_findings(where, commit.sha, context)
    touched = touched_files(promotion)
    for path, file in touched.items():
        yield compare(where, f"{path} after", file.after, _blob_digest(repository, commit.sha, path))
    yield from _skill_findings(where, commit.sha, promotion, Role.CANDIDATE, repository)
    yield _folders_finding(where, commit.sha, promotion, context)
    yield from _rule_findings(where, promotion, commit.sha, context)
    if repository.shallow and not repository.has_parent(commit.sha):
        yield fault(where, "parent of the commit", "a commit", CUT_OFF)
        return
    for path, file in touched.items():
        yield compare(where, f"{path} before", file.before, _blob_digest(repository, f"{commit.sha}^", path))
    yield from _skill_findings(where, f"{commit.sha}^", promotion, Role.INCUMBENT, repository)
    outside = (path for path in repository.changed_in(commit.sha) if path not in touched)
    others = sorted(
        path for path in outside if not _belongs(path, context.prefix) and not _noted(path, commit.sha, context)
    )
    yield compare(where, "files changed beside overlay, evidence and ledger", [], others)


def _folders_finding(where: str, sha: str, promotion: Promotion, context: AuditContext) -> Finding:
    """Check that the promotion reached every folder that held the skill: evidence that leaves one out splits it."""
    check = f"folders of {promotion.skill} that were left out"
    try:
        stands = folders_at(context.repository, sha, promotion.skill, context.workspace.spec.skill_roots)
    except EvolveError as error:
        return unreadable(where, check, error)
    touched = touched_files(promotion)
    reached = [folder for folder in stands if any(path.startswith(f"{folder}/") for path in touched)]
    return compare(where, check, [], [folder for folder in stands if folder not in reached])


def _rule_findings(where: str, promotion: Promotion, sha: str, context: AuditContext) -> Iterator[Finding]:
    """Check that the policy and the sealed tasks that decided are those of the commit."""
    try:
        path = f"{context.prefix}/{POLICY_FILE}"
        text = decode_text(context.repository.blob(sha, path) or b"", path)
        policy = parse_yaml(Policy, text, path).digest()
    except EvolveError as error:
        policy = error.message
    yield compare(where, "policy in force", promotion.policy_sha256, policy)
    folders = [f"{context.corpus}/{task.task}" for task in promotion.sealed]
    try:
        tasks = tuple(task_of(context.repository.tree(sha, folder), Path(folder)) for folder in folders)
        found = sealed_digest(tasks)
    except EvolveError as error:
        found, tasks = error.message, ()
    tiers = {task.id: task.task.tier for task in tasks}
    told = {task.task: task.tier for task in promotion.sealed if task.task in tiers}
    yield compare(where, "tiers of the sealed tasks", tiers, told)
    yield compare(where, "sealed tasks", promotion.sealed_sha256, found)


def _skill_findings(
    where: str, revision: str, promotion: Promotion, role: Role, repository: Repository
) -> Iterator[Finding]:
    """Check that each folder of the skill held the very text that an arm was measured with, untouched files too."""
    measured = next((arm.skills.get(promotion.skill) for arm in promotion.arms if arm.role is role), None)
    for folder in promotion.folders:
        found = repository.tree(revision, folder).digest
        yield compare(where, f"{folder}/ {'after' if role is Role.CANDIDATE else 'before'}", measured, found)


def _noted(path: str, sha: str, context: AuditContext) -> bool:
    """Whether a path is of what was tried, whose own commit a squashed merge takes into this one."""
    overlays = context.workspace.spec.overlays
    parts = path.removeprefix(f"{overlays}/").split("/")
    if not path.startswith(f"{overlays}/"):
        return False
    if len(parts) == 1:
        return parts[0] in (ARCHIVE_FILE, LEARNINGS_FILE)
    return context.repository.blob(sha, f"{overlays}/{parts[0]}/{OVERLAY_FILE}") is not None


def _belongs(path: str, prefix: str) -> bool:
    """Whether a path is the ledger, or a file of an evidence folder."""
    if path == f"{prefix}/{LEDGER_FILE}":
        return True
    parts = path.removeprefix(f"{prefix}/").split("/")
    if not path.startswith(f"{prefix}/") or len(parts) < 3:
        return False
    return parts[2] == OVERLAY_FOLDER or (len(parts) == 3 and parts[2] in EVIDENCE_FILES)


def _blob_digest(repository: Repository, revision: str, path: str) -> str | None:
    data = repository.blob(revision, path)
    return sha256_bytes(data) if data is not None else None
