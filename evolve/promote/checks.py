"""What a promotion must hold to before anything is written: evidence, policy, tasks, ledger, skill and commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from evolve.corpus.loading import Corpus, sealed_digest
from evolve.digest import sha256_bytes
from evolve.errors import EvidenceFault, InputError
from evolve.gate.decide import decide
from evolve.overlays import FrozenOverlay, validate_overlay
from evolve.promote import ledger
from evolve.promote.evidence import OVERLAY_FOLDER, Evidence, gate_input
from evolve.promote.lineage import check_lineage
from evolve.promote.signed import check_signed
from evolve.promote.target import Target, check_branch
from evolve.promote.touched import touched_files
from evolve.promote.transaction import check_base
from evolve.promote.vouched import unvouched_arms
from evolve.records.base import jsonl_bytes
from evolve.records.kinds import Outcome, Role, Split
from evolve.records.promotion import Promotion
from evolve.records.row import Row
from evolve.skills import Skill
from evolve.snapshot import Snapshot
from evolve.workspace import POLICY_FILE, Workspace

CLOCK_SLACK = timedelta(minutes=5)


def _refuse(code: str, message: str, hint: str | None = None) -> EvidenceFault:
    return EvidenceFault(message, hint=hint, code=code)


def check_committed(target: Target, skill: Skill) -> None:
    """Refuse a skill whose text is not the committed one, before anything is paid for.

    Raises:
        InputError: The first file that differs from HEAD is named.

    """
    for folder in skill.folders:
        committed = target.repository.tree("HEAD", folder).files
        for path in sorted(committed.keys() | skill.files.files.keys()):
            if committed.get(path) != skill.files.files.get(path):
                raise InputError(
                    f"{folder}/{path}: not what HEAD holds, so that a promotion could not be told from your own change",
                    hint="commit it first",
                    code="base-uncommitted",
                )


def check_rules_committed(target: Target, corpus: Corpus, skill: str) -> None:
    """Refuse a policy or sealed tasks that a clone would not hold: nobody could check the decision there.

    Raises:
        InputError: The first file that differs from HEAD is named.

    """
    workspace = target.workspace
    sealed = [workspace.relative(workspace.corpus / task.id) for task in corpus.of(skill, Split.SEALED)]
    policy = workspace.relative(workspace.promotion / POLICY_FILE)
    changed = target.repository.changed([policy, *sealed])
    if changed:
        raise InputError(
            f"{changed[0]}: not what HEAD holds, so that a clone could not check the decision",
            hint="commit it first, or leave out --apply",
            code="rules-uncommitted",
        )


def uncontained_tasks(rows: Sequence[Row]) -> list[str]:
    """Return the tasks of rows that were graded without containment."""
    return sorted({row.identity.task for row in rows if "host" in row.identity.sandbox.split("+")})


def check_promotable(evidence: Evidence, workspace: Workspace, corpus: Corpus, *, now: datetime) -> None:
    """Check everything that a promotion must hold to, as things stand now.

    Raises:
        EvidenceFault: The first check that fails, by its code.

    """
    promotion = evidence.promotion
    if sha256_bytes(jsonl_bytes(evidence.rows)) != promotion.rows_sha256:
        raise _refuse("rows-changed", f"{evidence.folder}/rows.jsonl: not the rows that were decided on")
    decision = decide(gate_input(promotion, evidence.rows))
    if decision.canonical() != promotion.decision.canonical():
        raise _refuse("decision-differs", f"{evidence.folder}: the rows give another decision than the one stored")
    if decision.outcome is not Outcome.PROMOTE:
        blocking = "; ".join(reason.text for reason in decision.reasons if reason.blocking)
        raise _refuse("not-promotable", f"the gate says {decision.outcome}: {blocking}", "evolve report shows it all")
    if unvouched := unvouched_arms(promotion, evidence.rows):
        arm, reason = next(iter(unvouched.items()))
        raise _refuse("unvouched", f"the reused rows of arm {arm}: {reason}", "measure it again with --no-reuse")
    if uncontained := uncontained_tasks(evidence.rows):
        hint = "install bubblewrap and measure it again"
        raise _refuse("uncontained", f"{', '.join(uncontained[:3])}: graded without containment", hint)
    if promotion.generated_at > now + CLOCK_SLACK:
        raise _refuse("from-the-future", f"{evidence.folder}: generated_at lies in the future")
    if promotion.expires_at < now:
        raise _refuse("expired", f"{evidence.folder}: expired on {promotion.expires_at:%Y-%m-%d}", "measure it again")
    if workspace.policy().digest() != promotion.policy_sha256:
        raise _refuse("policy-changed", "the policy in force is not the one that was decided under", "measure it again")
    measured = {task.task for task in promotion.sealed}
    expensive = any(task.task.expensive for task in corpus.tasks if task.id in measured)
    sealed = replace(corpus, expensive=expensive).of(promotion.skill, Split.SEALED)
    if sealed_digest(sealed) != promotion.sealed_sha256:
        raise _refuse("sealed-changed", "the sealed tasks have changed since they were measured", "measure it again")
    entries = ledger.read_ledger(workspace.promotion)
    entry = ledger.find_entry(entries, "decision", promotion.sweep)
    look = ledger.look_of(entries, promotion.ledger.entry_sha256)
    if entry is None or look is None or entry.evidence_sha256 != evidence.promotion_sha256:
        raise _refuse("not-in-ledger", "the ledger does not know this evidence")
    granted = ledger.grant(entries[: look.seq], promotion.policy, look.skill, look.sealed_tasks, look.texts)
    if granted != ledger.Grant(look.look, look.alpha, look.spent):
        text = f"this was look {granted.look} at its sealed tasks, and was decided as look {look.look}"
        raise _refuse("wrong-look", f"{text}, at the level {look.alpha:.4g} where {granted.alpha:.4g} was granted")
    check_signed(evidence, workspace.policy().signatures)


def frozen_overlay(evidence: Evidence) -> FrozenOverlay:
    """Return the overlay as it was measured.

    Raises:
        EvidenceFault: Its bytes are not those that were measured.

    """
    overlay = FrozenOverlay(evidence.promotion.lineage, Snapshot.read(evidence.folder / OVERLAY_FOLDER))
    if overlay.digest != evidence.promotion.overlay_sha256:
        raise _refuse("overlay-changed", f"{evidence.folder}/{OVERLAY_FOLDER}: not the overlay that was measured")
    held = {path: sha256_bytes(entry.content) for path, entry in overlay.files.files.items()}
    if held != evidence.promotion.overlay_files or set(overlay.paths) != evidence.promotion.base_files.keys():
        raise _refuse("overlay-changed", f"{evidence.folder}: names other files than its overlay holds")
    return overlay


def check_folders(promotion: Promotion, workspace: Workspace) -> None:
    """Refuse evidence of a skill that stands in other folders by now.

    Raises:
        EvidenceFault: The folders are named.

    """
    roots = dict.fromkeys(workspace.spec.skill_roots)
    found = tuple(f"{root}/{promotion.skill}" for root in roots if (workspace.root / root / promotion.skill).is_dir())
    plain = tuple(folder for folder in found if (workspace.root / folder).resolve() == workspace.root / folder)
    if promotion.folders and plain != promotion.folders:
        was, now = (", ".join(folders) or "none" for folders in (promotion.folders, plain))
        text = f"{promotion.skill} stood in {was} when it was measured, and stands in {now}"
        raise _refuse("mirrors-changed", text, "propose and measure again")


def check_bases(evidence: Evidence, target: Target) -> None:
    """Compare each file that is to be replaced with what was measured against, on disk and in HEAD.

    Raises:
        EvidenceFault: A base has drifted, is missing or appeared.

    """
    for path, file in touched_files(evidence.promotion).items():
        check_base(target.workspace.root, path, file.before)
        committed = target.repository.blob("HEAD", path)
        if (sha256_bytes(committed) if committed is not None else None) != file.before:
            raise _refuse("base-uncommitted", f"{path}: what was measured is not what HEAD holds", "commit it first")


def check_not_promoted(evidence: Evidence, target: Target) -> None:
    """Refuse evidence that a commit of this history carries as a promotion already.

    Raises:
        EvidenceFault: The commit is named.

    """
    entries = ledger.read_ledger(target.workspace.promotion)
    if ledger.find_entry(entries, "promotion", evidence.promotion.sweep) is None:
        return
    commits = target.repository.commits_with_trailer("Evolve-Evidence", evidence.promotion_sha256)
    if commits:
        raise _refuse("already-promoted", f"promoted already, in commit {commits[-1].sha[:12]}", "evolve audit --all")


def check_all(evidence: Evidence, target: Target, corpus: Corpus) -> FrozenOverlay:
    """Check everything that :func:`promote` checks, and return what it would write.

    Raises:
        EvidenceFault: The first check that fails, by its code.
        InputError: The branch, the policy, the tasks or the overlay refuse.

    """
    if not evidence.folder.resolve().is_relative_to(target.workspace.promotion.resolve()):
        raise _refuse("evidence-elsewhere", f"{evidence.folder}: not below {target.workspace.promotion}")
    check_branch(target)
    check_not_promoted(evidence, target)
    check_promotable(evidence, target.workspace, corpus, now=datetime.now(UTC))
    check_folders(evidence.promotion, target.workspace)
    check_bases(evidence, target)
    check_rules_committed(target, corpus, evidence.promotion.skill)
    overlay = frozen_overlay(evidence)
    _check_candidate(evidence, overlay, target, corpus)
    check_lineage(evidence.promotion, target.workspace, target.repository)
    return overlay


def _check_candidate(evidence: Evidence, overlay: FrozenOverlay, target: Target, corpus: Corpus) -> None:
    promotion = evidence.promotion
    skill = target.workspace.skill(promotion.skill)
    measured = {arm.role: arm.skills.get(skill.name) for arm in promotion.arms}
    again = "propose and measure again"
    if skill.files.digest != measured.get(Role.INCUMBENT):
        raise _refuse("base-changed", f"{skill.folder}: changed since it was measured", again)
    check_committed(target, skill)
    where = str(evidence.folder / OVERLAY_FOLDER)
    candidate = validate_overlay(overlay, skill, corpus, where, promotion.policy.leaks)
    if candidate.files.digest != measured.get(Role.CANDIDATE):
        raise _refuse("candidate-differs", f"{skill.folder} with the overlay is not the skill that was measured", again)
