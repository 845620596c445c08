"""Auditing rollbacks: each brings back what was before one promotion, and does nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evolve.digest import sha256_bytes
from evolve.errors import EvolveError
from evolve.promote import ledger
from evolve.promote.audit_commit import AuditContext
from evolve.promote.evidence import PROMOTION_FILE
from evolve.promote.findings import CUT_OFF, NOTHING, Finding, compare, fault, judge
from evolve.promote.git import Repository
from evolve.promote.places import plain_bytes
from evolve.promote.rollback import ROLLBACK_TRAILER
from evolve.promote.touched import Touched, touched_files
from evolve.records.base import parse_json
from evolve.records.promotion import Promotion


@dataclass(frozen=True)
class _Rollback:
    sha: str
    promoted: str
    promotion: Promotion

    @property
    def where(self) -> str:
        return _where(self.sha)


def rollback_findings(context: AuditContext, since: str | None = None) -> list[Finding]:
    """Check every rollback of this history, or those after a revision.

    Raises:
        InputError: There is no such revision.

    """
    carriers = context.repository.carriers(ROLLBACK_TRAILER)
    wanted = carriers if since is None else context.repository.carriers(ROLLBACK_TRAILER, since)
    return _findings(context, carriers, wanted)


def rollback_findings_of(folder: Path, context: AuditContext) -> list[Finding]:
    """Check the rollbacks of the promotion whose evidence a folder holds."""
    try:
        digest = sha256_bytes(plain_bytes(folder / PROMOTION_FILE))
    except OSError:
        return []
    repository = context.repository
    carriers = repository.carriers(ROLLBACK_TRAILER)
    commits = {commit.sha for commit in repository.commits_with_trailer("Evolve-Evidence", digest)}
    own = [sha for sha, named in carriers.items() if {repository.resolve(one) for one in named} & commits]
    return _findings(context, carriers, own)


def _findings(context: AuditContext, carriers: Mapping[str, list[str]], wanted: Collection[str]) -> list[Finding]:
    held = _held(context) if wanted else {}
    findings: list[Finding] = []
    for sha in wanted:
        rollback = _rollback(sha, carriers[sha], held, context)
        if isinstance(rollback, Finding):
            findings.append(rollback)
            continue
        findings.extend(_rollback_findings(rollback, context))
        earlier = next(other for other, names in carriers.items() if rollback.promoted in names)
        findings.append(
            judge(rollback.where, "first rollback of its promotion", earlier == sha, NOTHING, _where(earlier))
        )
    return findings


def _held(context: AuditContext) -> dict[str, Promotion]:
    """Return the promotions whose evidence is at hand, by its digest."""
    held = {}
    for path in sorted(context.promotion_root.glob(f"*/*/{PROMOTION_FILE}")):
        try:
            data = plain_bytes(path)
            held[sha256_bytes(data)] = parse_json(Promotion, data, str(path))
        except (EvolveError, OSError):
            continue
    return held


def _rollback(sha: str, names: list[str], held: Mapping[str, Promotion], context: AuditContext) -> _Rollback | Finding:
    """Return what a rollback takes back, or why that cannot be told."""
    repository, check = context.repository, f"trailer {ROLLBACK_TRAILER}"
    where = _where(sha)
    if len(names) != 1:
        return fault(where, check, "one commit", ", ".join(names))
    name, commit = names[0], repository.resolve(names[0])
    parent = repository.parent(sha)
    earlier = commit is not None and parent is not None and repository.goes_on_from(parent, commit)
    if commit is None or not earlier:
        return fault(where, check, "a commit of the history before it", CUT_OFF if repository.shallow else name)
    if commit != name:
        return fault(where, check, commit, name)
    digest = repository.trailers(commit).get("Evolve-Evidence")
    if digest is None or digest not in held:
        found = f"{name}, which carries {'none' if digest is None else f'the unknown {digest}'}"
        return fault(where, check, "a commit that carries evidence of a folder here", found)
    return _Rollback(sha, commit, held[digest])


def _rollback_findings(rollback: _Rollback, context: AuditContext) -> Iterator[Finding]:
    repository, where, promotion = context.repository, rollback.where, rollback.promotion
    entry = ledger.find_entry(context.entries, "promotion", promotion.sweep)
    digest = repository.trailers(rollback.promoted)["Evolve-Evidence"]
    check = f"evidence that {rollback.promoted[:12]} promoted"
    yield compare(where, check, digest, None if entry is None else entry.evidence_sha256)
    found = repository.trailers(rollback.sha).get("Evolve-Overlay")
    yield compare(where, "trailer Evolve-Overlay", promotion.overlay_sha256, found)
    changes = touched_files(promotion)
    changed = repository.changed_in(rollback.sha)
    yield compare(where, "files changed beside those of the promotion", [], sorted(changed - changes.keys()))
    yield compare(where, "files of the promotion that it leaves", [], sorted(changes.keys() - changed))
    before = repository.parent(rollback.promoted)
    if before is None and repository.shallow:
        yield fault(where, f"files before {rollback.promoted[:12]}", f"the parent of {rollback.promoted}", CUT_OFF)
        return
    for path, change in changes.items():
        yield from _file_findings(path, change, rollback, before, repository)


def _file_findings(
    path: str, change: Touched, rollback: _Rollback, before: str | None, repository: Repository
) -> Iterator[Finding]:
    where = rollback.where
    then = None if before is None else _held_at(repository, before, path)
    check = f"digest of {path} in {rollback.promoted[:12]}"
    yield compare(where, check, change.after, _digest(repository, rollback.promoted, path))
    yield compare(where, f"{path} after it", then, _held_at(repository, rollback.sha, path))
    yield compare(where, f"digest of {path} after it", change.before, _digest(repository, rollback.sha, path))
    yield compare(where, f"digest of {path} before it", change.after, _digest(repository, f"{rollback.sha}^", path))


def _held_at(repository: Repository, revision: str, path: str) -> str | None:
    mode = repository.mode(revision, path)
    return None if mode is None else f"{mode} {_digest(repository, revision, path)}"


def _digest(repository: Repository, revision: str, path: str) -> str | None:
    data = repository.blob(revision, path)
    return None if data is None else sha256_bytes(data)


def _where(sha: str) -> str:
    return f"git {sha[:12]}"
