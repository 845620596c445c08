"""Taking a promotion back by a commit of its own; its evidence and its looks stay."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evolve.digest import sha256_bytes
from evolve.errors import EvidenceFault, InputError
from evolve.promote.apply import evidence_of
from evolve.promote.evidence import PROMOTION_FILE, Evidence, read_evidence
from evolve.promote.git import Repository
from evolve.promote.recovery import Step, no_step
from evolve.promote.target import Target
from evolve.promote.touched import touched_files
from evolve.promote.transaction import Change, carry_out, promotion_lock
from evolve.records.promotion import Promotion
from evolve.redact import redact
from evolve.snapshot import FileEntry
from evolve.workspace import Workspace

ROLLBACK_TRAILER = "Evolve-Rollback"
MAX_REASON_CHARS = 1000


@dataclass(frozen=True)
class Promoted:
    """A promotion and the commit that made it."""

    evidence: Evidence
    commit: str


def find_promoted(workspace: Workspace, repository: Repository, text: str) -> Promoted:
    """Return the promotion that a text names: its evidence, its commit, or the skill, whose newest one is meant.

    Raises:
        InputError: It names none.
        EvidenceFault: It was never promoted in this history.

    """
    folder = evidence_of(workspace, text)
    if folder is not None:
        return _of_evidence(repository, read_evidence(folder))
    held = [read_evidence(path.parent) for path in sorted(workspace.promotion.glob(f"*/*/{PROMOTION_FILE}"))]
    commit = repository.resolve(text)
    if commit is not None:
        digest = repository.trailers(commit).get("Evolve-Evidence")
        for evidence in held:
            if evidence.promotion_sha256 == digest and repository.in_history(commit):
                return _of_evidence(repository, evidence)
    own = [promoted for one in held if one.promotion.skill == text and (promoted := _promoted(repository, one))]
    standing = [promoted for promoted in own if rolled_back(repository, promoted.commit) is None]
    if own:
        return max(standing or own, key=lambda promoted: promoted.evidence.promotion.generated_at)
    raise InputError(
        f"{text}: no promotion of this history",
        hint="give a folder below promotion/, a commit that promoted, or a skill",
        code="not-found",
    )


def _of_evidence(repository: Repository, evidence: Evidence) -> Promoted:
    promoted = _promoted(repository, evidence)
    if promoted is None:
        raise EvidenceFault(f"{evidence.folder}: was not promoted in this history", code="not-promoted")
    return promoted


def _promoted(repository: Repository, evidence: Evidence) -> Promoted | None:
    for commit in repository.commits_with_trailer("Evolve-Evidence", evidence.promotion_sha256):
        holds = all(
            _digest(repository.blob(commit.sha, path)) == file.after
            for path, file in touched_files(evidence.promotion).items()
        )
        if holds and repository.in_history(commit.sha):
            return Promoted(evidence, commit.sha)
    return None


def rolled_back(repository: Repository, commit: str) -> str | None:
    """Return the commit of this history that took a promotion back, if one did."""
    commits = repository.commits_with_trailer(ROLLBACK_TRAILER, commit)
    return next((found.sha for found in commits if repository.in_history(found.sha)), None)


def reason_of(message: str) -> str | None:
    """Return the reason that the message of a rollback gives."""
    found = re.search(r"^Reason: (.+)$", message, re.MULTILINE)
    return one_line(found[1]) if found else None


def roll_back(promoted: Promoted, target: Target, reason: str, *, step: Step = no_step) -> str:
    """Commit the inverse of a promotion; returns the commit.

    Args:
        promoted: The promotion.
        target: The workspace, its repository, and the branch to commit on.
        reason: Why, for whoever reads the history.
        step: Told the name of each step before it is taken.

    Raises:
        InputError: No reason is given.
        EvidenceFault: It was rolled back already, or a file of it has changed since; nothing was changed.
        EnvironmentFault: Writing or committing failed; everything is as it was.
        BusyError: Another process is promoting.

    """
    told = one_line(reason)
    if not told:
        raise InputError("--reason: say why, in a sentence", code="no-reason")
    with promotion_lock(target) as settled:
        trailers = target.repository.trailers(settled.commit) if settled is not None and settled.commit else {}
        if settled is not None and settled.commit and trailers.get(ROLLBACK_TRAILER) == promoted.commit:
            return settled.commit
        _refuse_second(promoted, target)
        _refuse_drifted(promoted.evidence.promotion, target)
        change = Change(
            kind="rollback",
            message=_message(promoted, told),
            trailer=(ROLLBACK_TRAILER, promoted.commit),
            files=_bases(promoted, target.repository),
            bases={path: file.after for path, file in touched_files(promoted.evidence.promotion).items()},
        )
        return carry_out(target, change, step=step)


def one_line(text: str) -> str:
    """Return a reason as one line, so that none of it is read as a trailer."""
    printable = "".join(character if character.isprintable() else " " for character in redact(text))
    return re.sub(r"\s+", " ", printable).strip()[:MAX_REASON_CHARS]


def _refuse_second(promoted: Promoted, target: Target) -> None:
    earlier = rolled_back(target.repository, promoted.commit)
    if earlier is not None:
        text = f"{promoted.commit[:12]} was rolled back already, in commit {earlier[:12]}"
        raise EvidenceFault(text, hint="evolve audit --all", code="rolled-back")


def _refuse_drifted(promotion: Promotion, target: Target) -> None:
    root = target.workspace.root
    drifted = []
    for path, file in touched_files(promotion).items():
        place = root / path
        on_disk = place.read_bytes() if place.is_file() else None
        if {_digest(on_disk), _digest(target.repository.blob("HEAD", path))} != {file.after}:
            drifted.append(path)
    if drifted:
        raise EvidenceFault(
            f"{', '.join(drifted)}: not what was promoted any more, so that taking it back would undo more",
            hint="change the skill by hand, or bring the promoted text back first",
            code="rollback-drifted",
        )


def _bases(promoted: Promoted, repository: Repository) -> dict[str, FileEntry | None]:
    before = f"{promoted.commit}^"
    files: dict[str, FileEntry | None] = {}
    for path, file in touched_files(promoted.evidence.promotion).items():
        data = repository.blob(before, path)
        if _digest(data) != file.before:
            text = f"{path}: the commit before {promoted.commit[:12]} does not hold what was measured against"
            raise EvidenceFault(text, hint="evolve audit --all", code="base-gone")
        files[path] = FileEntry(data, repository.executable(before, path)) if data is not None else None
    return files


def _digest(data: bytes | None) -> str | None:
    return None if data is None else sha256_bytes(data)


def _message(promoted: Promoted, reason: str) -> str:
    promotion = promoted.evidence.promotion
    return (
        f"Roll back the promotion of {promotion.skill} in {promoted.commit[:12]}\n\n"
        f"Reason: {reason}\n\n"
        f"{ROLLBACK_TRAILER}: {promoted.commit}\n"
        f"Evolve-Overlay: {promotion.overlay_sha256}\n"
    )
