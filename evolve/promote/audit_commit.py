"""Auditing the commit of a promotion: it holds what was measured, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evolve.corpus.loading import sealed_digest, task_of
from evolve.digest import sha256_bytes
from evolve.errors import EvolveError
from evolve.promote.audit_reuse import Measured
from evolve.promote.evidence import EVIDENCE_FILES, OVERLAY_FOLDER
from evolve.promote.findings import CUT_OFF, Finding, compare, fault, unreadable
from evolve.promote.git import Repository
from evolve.promote.ledger import LEDGER_FILE
from evolve.promote.lineage import Ancestry, read_ancestry
from evolve.promote.touched import touched_files
from evolve.records.base import decode_text, parse_yaml
from evolve.records.kinds import Role
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
        now = (context.promotion_root / LEDGER_FILE).read_bytes()
    except OSError as error:
        yield unreadable(LEDGER_FILE, "ledger", error)
        return
    yield compare(where, "its ledger is how today's begins", then, None if then is None else now[: len(then)])


def ledger_history_finding(context: AuditContext) -> Finding:
    """Check that the ledger of today goes on from each that was ever committed: whoever lets looks go, looks anew."""
    path = f"{context.prefix}/{LEDGER_FILE}"
    try:
        now = (context.promotion_root / LEDGER_FILE).read_bytes()
    except OSError:
        now = b""
    commits = context.repository.commits_of(path)
    lost = [sha for sha in commits if not now.startswith(context.repository.blob(sha, path) or b"")]
    check = f"goes on from the ledgers of {len(commits)} commits"
    if not lost:
        return Finding(LEDGER_FILE, check, True)
    expected = f"the entries committed in {lost[0][:12]} (git show {lost[0][:12]}:./{path})"
    return fault(LEDGER_FILE, check, expected, "that they are gone")


def commit_findings(name: str, promotion: Promotion, evidence_sha256: str, context: AuditContext) -> Iterator[Finding]:
    """Check the commit that carries a promotion's evidence."""
    repository = context.repository
    commits = repository.commits_with_trailer("Evolve-Evidence", evidence_sha256)
    if not commits:
        found = CUT_OFF if repository.shallow else "that no commit carries it"
        yield fault("git", f"commit of {name}", f"one with Evolve-Evidence: {evidence_sha256}", found)
        return
    commit = commits[-1]
    where = f"git {commit.sha[:12]}"
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
    yield from _rule_findings(where, promotion, commit.sha, context)
    if repository.shallow and not repository.has_parent(commit.sha):
        yield fault(where, "parent of the commit", "a commit", CUT_OFF)
        return
    for path, file in touched.items():
        yield compare(where, f"{path} before", file.before, _blob_digest(repository, f"{commit.sha}^", path))
    yield from _skill_findings(where, f"{commit.sha}^", promotion, Role.INCUMBENT, repository)
    outside = sorted(
        path for path in repository.changed_in(commit.sha) if path not in touched and not _belongs(path, context.prefix)
    )
    yield compare(where, "files changed beside overlay, evidence and ledger", [], outside)


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
        found = error.message
    yield compare(where, "sealed tasks", promotion.sealed_sha256, found)


def _skill_findings(
    where: str, revision: str, promotion: Promotion, role: Role, repository: Repository
) -> Iterator[Finding]:
    """Check that each folder of the skill held the very text that an arm was measured with, untouched files too."""
    measured = next((arm.skills.get(promotion.skill) for arm in promotion.arms if arm.role is role), None)
    for folder in promotion.folders:
        found = repository.tree(revision, folder).digest
        yield compare(where, f"{folder}/ {'after' if role is Role.CANDIDATE else 'before'}", measured, found)


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
