"""The audit: recompute everything a promotion claims, from a clone alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from evolve.bench.arms import INCUMBENT_ARM, candidate_name
from evolve.bench.health import cost_position_effect, position_effect
from evolve.digest import sha256_bytes, sha256_json
from evolve.errors import EvolveError
from evolve.gate.decide import decide
from evolve.overlays import overlay_digest
from evolve.promote import ledger
from evolve.promote.audit_claims import (
    age_findings,
    containment_findings,
    count_findings,
    look_findings,
    overlay_findings,
    subject_of,
    texts_of,
)
from evolve.promote.audit_commit import AuditContext, commit_findings, ledger_history_finding, was_promoted
from evolve.promote.audit_reuse import Measured, reuse_findings, time_findings
from evolve.promote.audit_rollbacks import rollback_findings
from evolve.promote.auditor_keys import auditor_findings
from evolve.promote.evidence import (
    EVIDENCE_FILES,
    OVERLAY_FOLDER,
    PROMOTION_FILE,
    ROWS_FILE,
    gate_input,
    spend_of,
)
from evolve.promote.findings import NOTHING, Finding, compare, fault, judge, unreadable
from evolve.promote.git import Repository
from evolve.promote.lineage import lineage_finding
from evolve.promote.places import plain_bytes
from evolve.promote.signed import optional_files, signature_findings
from evolve.records.base import parse_json
from evolve.records.kinds import Role, Split
from evolve.records.ledger import LedgerEntry
from evolve.records.promotion import Promotion, Spend
from evolve.records.row import Row
from evolve.snapshot import Snapshot
from evolve.workspace import Workspace


class _Broken(Exception):
    """A file cannot be read, so that nothing after it can be checked."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.detail)
        self.finding = finding


def _read_promotion(folder: Path, name: str) -> tuple[Promotion, bytes]:
    file = f"{name}/{PROMOTION_FILE}"
    try:
        data = plain_bytes(folder / PROMOTION_FILE)
        return parse_json(Promotion, data, file), data
    except (OSError, EvolveError) as error:
        raise _Broken(unreadable(file, "schema", error)) from error


def _row_findings(folder: Path, name: str, promotion: Promotion, rows: list[Row]) -> Iterator[Finding]:
    file = f"{name}/{ROWS_FILE}"
    try:
        data = plain_bytes(folder / ROWS_FILE)
    except OSError as error:
        raise _Broken(unreadable(file, "rows", error)) from error
    lines = data.split(b"\n")[:-1] if data.endswith(b"\n") else data.split(b"\n")
    yield compare(file, "number of rows", len(promotion.row_sha256), len(lines))
    for number, (line, expected) in enumerate(zip(lines, promotion.row_sha256, strict=False), start=1):
        if sha256_bytes(line) != expected:
            where = f"{file}:{number}"
            yield fault(where, "row digest", expected, f"{sha256_bytes(line)}{_which(line)}")
    yield compare(file, "rows digest", promotion.rows_sha256, sha256_bytes(data))
    try:
        rows.extend(parse_json(Row, line, f"{file}:{number}") for number, line in enumerate(lines, start=1))
    except EvolveError as error:
        raise _Broken(unreadable(file, "rows schema", error)) from error


def _which(line: bytes) -> str:
    try:
        row = parse_json(Row, line, "row")
    except EvolveError:
        return " (not a row any more)"
    return f" ({row.arm}, {row.identity.task}, run {row.identity.run})"


def _decision_findings(name: str, promotion: Promotion, rows: list[Row], context: AuditContext) -> Iterator[Finding]:
    file = f"{name}/{PROMOTION_FILE}"
    decided = decide(gate_input(promotion, tuple(rows)))
    yield compare(file, "decision recomputed from rows", promotion.decision.json_value(), decided.json_value())
    yield compare(file, "policy digest", promotion.policy.digest(), promotion.policy_sha256)
    sealed = sha256_json({task.task: [task.task_sha256, task.oracle_sha256] for task in promotion.sealed})
    yield compare(file, "digest of the sealed tasks", sealed, promotion.sealed_sha256)
    yield from _spend_findings(file, promotion, rows)
    yield from count_findings(file, promotion, rows)
    yield compare(file, "position effect", position_effect(rows), promotion.position_effect)
    yield compare(file, "position effect of cost", cost_position_effect(rows), promotion.cost_position_effect)
    yield from _identity_findings(file, promotion, rows)
    yield from reuse_findings(file, promotion, rows, context.measured)


def _spend_findings(file: str, promotion: Promotion, rows: list[Row]) -> Iterator[Finding]:
    """Check the spend as far as rows can tell; voided, surplus, lost and throw-away sessions left no row here."""
    spend, recomputed = promotion.spend, spend_of(tuple(rows))
    pairs = sum(arm.role is Role.INCUMBENT for arm in promotion.arms)
    planned = len(promotion.arms) * promotion.runs * len(promotion.sealed)
    planned += sum(2 * pairs * extra.runs * len(extra.tasks) for extra in promotion.extra)
    yield compare(file, "cells measured, in excess, or not needed", planned, len(rows) + _unrowed(spend))
    beside = {"saved_cells", "surplus_rows", "lost_attempts", "warm_ups", "overhead_usd_micros"}
    if spend.voided_attempts or spend.surplus_rows:
        beside |= {"voided_attempts", "input_tokens", "output_tokens", "cost_usd_micros"}
    yield compare(
        file,
        "spend recomputed from rows",
        recomputed.model_dump(exclude=beside),
        spend.model_dump(exclude=beside),
    )


def _unrowed(spend: Spend) -> int:
    return spend.saved_cells + spend.surplus_rows


def _identity_findings(file: str, promotion: Promotion, rows: list[Row]) -> Iterator[Finding]:
    sealed = {task.task: (task.task_sha256, task.oracle_sha256) for task in promotion.sealed}
    arms = {arm.name: (arm.role, arm.fingerprint, sha256_json(promotion.agent_of(arm.name))) for arm in promotion.arms}
    strangers = [
        row
        for row in rows
        if sealed.get(row.identity.task) != (row.identity.task_sha256, row.identity.oracle_sha256)
        or arms.get(row.arm) != (row.role, row.identity.fingerprint, row.identity.agent_sha256)
        or row.identity.runtime_sha256 != promotion.runtime_sha256
        or row.split is not Split.SEALED
    ]
    yield compare(file, "rows of other tasks, arms, agents or runtimes", 0, len(strangers))
    incumbents = {arm.name for arm in promotion.arms if arm.role is Role.INCUMBENT}
    candidates = {arm.name for arm in promotion.arms if arm.role is Role.CANDIDATE}
    yield compare(file, "a candidate beside each incumbent", {candidate_name(name) for name in incumbents}, candidates)
    names = ", ".join(sorted(incumbents))
    yield judge(file, "arm of the main pair", INCUMBENT_ARM in incumbents, INCUMBENT_ARM, names)
    overlays = {arm.overlay_sha256 for arm in promotion.arms if arm.role is Role.CANDIDATE}
    yield compare(file, "overlay of every candidate", {promotion.overlay_sha256}, overlays)
    for name in sorted(incumbents):
        own, beside = (sha256_json(promotion.agent_of(arm)) for arm in (name, candidate_name(name)))
        yield compare(file, f"agent of the candidate beside {name}", own, beside)


def _binding_findings(folder: Path, name: str, promotion: Promotion, data: bytes) -> Iterator[Finding]:
    canonical = sha256_bytes(promotion.canonical() + b"\n")
    yield compare(f"{name}/{PROMOTION_FILE}", "digest of its canonical form", canonical, sha256_bytes(data))
    yield from signature_findings(folder, name, promotion, sha256_bytes(data))
    try:
        overlay = Snapshot.read(folder / OVERLAY_FOLDER)
    except (OSError, EvolveError) as error:
        yield unreadable(f"{name}/{OVERLAY_FOLDER}", "overlay", error)
        return
    files = {path: sha256_bytes(entry.content) for path, entry in overlay.files.items()}
    yield compare(f"{name}/{OVERLAY_FOLDER}", "files", promotion.overlay_files, files)
    found = overlay_digest(overlay, promotion.lineage.deletes)
    yield compare(f"{name}/{OVERLAY_FOLDER}", "tree digest", promotion.overlay_sha256, found)
    changed = {*files, *promotion.lineage.deletes}
    yield compare(f"{name}/{PROMOTION_FILE}", "files that change", changed, set(promotion.base_files))
    names = {path.name for path in folder.iterdir()}
    yield from overlay_findings(f"{name}/{PROMOTION_FILE}", promotion)
    yield compare(name, "files", {*EVIDENCE_FILES, OVERLAY_FOLDER}, names | optional_files(names))


def _ledger_findings(
    name: str, promotion: Promotion, evidence_sha256: str, entries: tuple[LedgerEntry, ...]
) -> Iterator[Finding]:
    file = ledger.LEDGER_FILE
    look = ledger.look_of(entries, promotion.ledger.entry_sha256)
    sweep = look.sweep if look is not None and look.entry == "look" else None
    yield compare(file, f"look of {name}", promotion.sweep, sweep)
    decision = ledger.find_entry(entries, "decision", promotion.sweep)
    yield compare(file, f"decision of {name}", evidence_sha256, decision.evidence_sha256 if decision else None)
    yield from age_findings(f"{name}/{PROMOTION_FILE}", promotion, decision)
    if decision is not None:
        yield compare(file, f"outcome of {name}", promotion.decision.outcome, decision.outcome)
    if look is not None:
        tasks = [task.task for task in promotion.sealed]
        expected = ledger.grant(entries[: look.seq], promotion.policy, promotion.skill, tasks, look.texts)
        yield compare(file, f"texts seen by the look of {name}", texts_of(promotion), look.texts)
        yield compare(file, f"number of the look of {name}", expected.look, promotion.ledger.look)
        yield compare(file, f"level of the look of {name}", expected.alpha, promotion.ledger.alpha)
        yield compare(file, f"level spent before the look of {name}", expected.spent, promotion.ledger.spent)
        yield from look_findings(name, promotion, look)
        yield compare(file, f"policy of the look of {name}", promotion.policy_sha256, look.policy_sha256)
        yield compare(file, f"sealed tasks of the look of {name}", promotion.sealed_sha256, look.sealed_sha256)
        begun = {entry.sweep for entry in entries if entry.entry == "round"}
        for extra in promotion.extra:
            yield judge(file, f"round {extra.sweep} of {name}", extra.sweep in begun, "an entry of it", NOTHING)
        for entry in entries[look.seq + 1 :]:
            if entry.sweep == look.sweep and entry.entry != "look":
                yield compare(
                    f"{file}:{entry.seq + 1}", f"{entry.entry} of {name}", subject_of(look), subject_of(entry)
                )


def audit_ledger(promotion_root: Path) -> tuple[tuple[LedgerEntry, ...], Finding]:
    """Check the ledger's chain and return its entries."""
    try:
        entries = ledger.read_ledger(promotion_root)
    except EvolveError as error:
        return (), unreadable(ledger.LEDGER_FILE, "chain", error)
    return entries, Finding(ledger.LEDGER_FILE, f"chain of {len(entries)} entries", True)


def audit_evidence(folder: Path, context: AuditContext) -> list[Finding]:
    """Check one evidence folder; every check is listed, whether it holds or not."""
    name = folder.relative_to(context.promotion_root).as_posix()
    findings: list[Finding] = []
    rows: list[Row] = []
    try:
        promotion, data = _read_promotion(folder, name)
        evidence_sha256 = sha256_bytes(data)
        findings.extend(_binding_findings(folder, name, promotion, data))
        findings.extend(auditor_findings(folder, name, promotion, evidence_sha256, context.auditor_keys))
        roots = context.workspace.spec.skill_roots
        findings.append(lineage_finding(f"{name}/{PROMOTION_FILE}", promotion, roots, lambda: context.ancestry))
        findings.extend(_ledger_findings(name, promotion, evidence_sha256, context.entries))
        promoted = was_promoted(promotion, evidence_sha256, context)
        if promoted:
            findings.extend(commit_findings(name, promotion, evidence_sha256, context))
        findings.extend(_row_findings(folder, name, promotion, rows))
        look = ledger.look_of(context.entries, promotion.ledger.entry_sha256)
        findings.extend(time_findings(f"{name}/{ROWS_FILE}", promotion, rows, look) if look is not None else ())
        findings.extend(_decision_findings(name, promotion, rows, context))
        findings.extend(containment_findings(f"{name}/{ROWS_FILE}", rows) if promoted else ())
    except _Broken as broken:
        findings.append(broken.finding)
    return findings


def open_audit(workspace: Workspace, repository: Repository) -> tuple[AuditContext, Finding]:
    """Read the ledger and which rows each evidence folder measured; the finding is about the ledger's chain."""
    entries, chain = audit_ledger(workspace.promotion)
    return AuditContext(workspace, repository, entries, Measured(workspace.promotion)), chain


def _evidence(context: AuditContext) -> Iterator[tuple[Path, str]]:
    """Yield each folder of evidence with the digest of what it holds, an empty one where that cannot be read."""
    for path in sorted(context.promotion_root.glob(f"*/*/{PROMOTION_FILE}")):
        try:
            yield path.parent, sha256_bytes(plain_bytes(path))
        except OSError:
            yield path.parent, ""


def audit_all(context: AuditContext) -> list[Finding]:
    """Check every evidence folder that exists or that the ledger knows of."""
    findings = [ledger_history_finding(context)]
    known: set[str] = set()
    for folder, digest in _evidence(context):
        findings.extend(audit_evidence(folder, context))
        known.add(digest)
    for entry in context.entries:
        if entry.entry == "decision" and entry.evidence_sha256 not in known:
            where = f"{ledger.LEDGER_FILE}:{entry.seq + 1}"
            check, expected = f"evidence of {entry.sweep}", f"a folder with evidence {entry.evidence_sha256}"
            findings.append(fault(where, check, expected, "that no folder holds this evidence"))
    entered = {entry.evidence_sha256 for entry in context.entries}
    named = {one for values in context.repository.carriers("Evolve-Evidence").values() for one in values}
    findings.extend(_gone(named - known - entered))
    findings.extend(rollback_findings(context))
    return findings


def _gone(named: Collection[str]) -> Iterator[Finding]:
    """Give the faults of evidence that commits name and that no folder holds."""
    for evidence in sorted(named):
        check, found = f"evidence {evidence[:12]}", "that a commit names it, and it is gone"
        yield fault(ledger.LEDGER_FILE, check, f"a folder with evidence {evidence}", found)


def audit_since(context: AuditContext, revision: str) -> list[Finding]:
    """Check the ledger's history, and the evidence whose commits came after a revision.

    Raises:
        InputError: There is no such revision.

    """
    recent = context.repository.trailers_since(revision, "Evolve-Evidence")
    findings = [ledger_history_finding(context)]
    known: set[str] = set()
    for folder, digest in _evidence(context):
        known.add(digest)
        if digest in recent:
            findings.extend(audit_evidence(folder, context))
    findings.extend(_gone(recent - known))
    findings.extend(rollback_findings(context, revision))
    return findings
