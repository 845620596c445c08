"""Promoting: the checks, then the files, the ledger and one commit, or nothing at all."""

from __future__ import annotations

from pathlib import Path

from evolve.corpus.loading import Corpus
from evolve.errors import EvidenceFault
from evolve.promote import ledger
from evolve.promote.checks import check_all
from evolve.promote.evidence import PROMOTION_FILE, Evidence
from evolve.promote.lineage import lineage_files
from evolve.promote.messages import promotion_message, record_message
from evolve.promote.recovery import Step, no_step
from evolve.promote.target import Target
from evolve.promote.touched import touched_files
from evolve.promote.transaction import Change, carry_out, promotion_lock
from evolve.records.ledger import LedgerEntry
from evolve.records.promotion import Promotion
from evolve.workspace import Workspace


def _evidence_paths(workspace: Workspace) -> list[str]:
    """Return the ledger and every evidence folder: the ledger names them all, so a clone needs them all."""
    folders = sorted(path.parent for path in workspace.promotion.glob(f"*/*/{PROMOTION_FILE}"))
    return [workspace.relative(path) for path in (*folders, workspace.promotion / ledger.LEDGER_FILE)]


def _evidence_files(evidence: Evidence, workspace: Workspace) -> tuple[str, ...]:
    files = sorted(path for path in evidence.folder.rglob("*") if path.is_file())
    return tuple(workspace.relative(path) for path in files)


def record(evidence: Evidence, target: Target, *, step: Step = no_step) -> str:
    """Commit the evidence and the ledger of a candidate that was not promoted; returns the commit."""
    change = Change(
        kind="record",
        message=record_message(evidence.promotion, evidence.promotion_sha256),
        trailer=("Evolve-Evidence", evidence.promotion_sha256),
        exact=_evidence_files(evidence, target.workspace),
        beside=tuple(_evidence_paths(target.workspace)),
    )
    with promotion_lock(target):
        return carry_out(target, change, step=step)


def promote(evidence: Evidence, target: Target, corpus: Corpus, *, step: Step = no_step) -> str:
    """Apply a promotable overlay and commit it with its evidence; returns the commit.

    Args:
        evidence: The evidence, read from its folder.
        target: The workspace, its repository, and the branch to commit on.
        corpus: The corpus as it stands now.
        step: Told the name of each step before it is taken.

    Raises:
        EvidenceFault: A check refuses; nothing was changed.
        EnvironmentFault: Writing or committing failed; everything is as it was.
        BusyError: Another process is promoting.

    """
    workspace, promotion = target.workspace, evidence.promotion
    with promotion_lock(target) as settled:
        if settled is not None and settled.commit is not None and _carries(target, settled.commit, evidence):
            return settled.commit
        overlay = check_all(evidence, target, corpus)
        touched = touched_files(promotion)
        change = Change(
            kind="promotion",
            message=promotion_message(promotion, evidence.promotion_sha256),
            trailer=("Evolve-Evidence", evidence.promotion_sha256),
            files={path: overlay.files.files.get(file.source) for path, file in touched.items()},
            bases={path: file.before for path, file in touched.items()},
            exact=_evidence_files(evidence, workspace),
            beside=tuple(_evidence_paths(workspace)),
            entry=_entry(evidence, workspace),
        )
        return carry_out(target, change, step=step)


def note_lineage(target: Target, promotion: Promotion) -> str | None:
    """Commit what the lineage of a promotion is looked up in, so that a clone can; ``None`` when all of it is there.

    It is a commit of its own: that of the promotion holds overlay, evidence and ledger, and nothing else.

    Raises:
        EnvironmentFault: git or a hook refused; the files stay.

    """
    paths = lineage_files(promotion, target.workspace)
    if not paths or not target.repository.changed(paths, ignored=True):
        return None
    title = f"Note what the {promotion.lineage.operator} overlay of {promotion.skill} comes from"
    with promotion_lock(target):
        return target.repository.commit(paths, f"{title}\n\nEvolve-Lineage: {promotion.overlay_sha256}\n")


def _carries(target: Target, commit: str, evidence: Evidence) -> bool:
    return target.repository.trailers(commit).get("Evolve-Evidence") == evidence.promotion_sha256


def _entry(evidence: Evidence, workspace: Workspace) -> LedgerEntry:
    entries = ledger.read_ledger(workspace.promotion)
    decision = ledger.find_entry(entries, "decision", evidence.promotion.sweep)
    if decision is None:
        raise EvidenceFault("the ledger does not know this evidence", code="not-in-ledger")
    return decision.model_copy(update={"entry": "promotion"})


def evidence_of(workspace: Workspace, text: str) -> Path | None:
    """Return the evidence folder that a command-line argument names, if it names one."""
    for path in (Path(text), workspace.root / text, workspace.promotion / text):
        if (path / "promotion.json").is_file():
            return path.resolve()
        if path.name == "promotion.json" and path.is_file():
            return path.parent.resolve()
    return None
