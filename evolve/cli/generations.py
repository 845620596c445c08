"""Running a generation and printing how it ended."""

from __future__ import annotations

from contextlib import AbstractContextManager

from evolve.bench.measure import Bench
from evolve.cli.bench_opening import Models
from evolve.cli.decisions import decision_text
from evolve.cli.output import table
from evolve.files import write_atomic, writer_lock
from evolve.generation.loop import GenerationLoop, report_path
from evolve.generation.reflecting import check_proposer
from evolve.generation.state import GENERATION_LOCK, GenerationState
from evolve.promote.difference import evidence_diff
from evolve.promote.evidence import Evidence, read_evidence
from evolve.promote.git import Repository
from evolve.report.markdown import generation_report, money
from evolve.workspace import Workspace


def run_generation(bench: Bench, models: Models, state: GenerationState) -> None:
    """Run a generation to its end and write its report; the caller holds the lock."""
    repository = Repository(bench.workspace.root)
    check_proposer(bench, state.record.request.operators or bench.workspace.spec.proposer.operators)
    GenerationLoop(bench, state, repository, models.proposer).run()
    evidence = evidence_of_generation(bench.workspace, state)
    diff = evidence_diff(bench.workspace, repository, evidence) if evidence else ""
    write_atomic(report_path(state), generation_report(state.record, evidence, diff).encode("utf-8"))


def generation_lock(workspace: Workspace) -> AbstractContextManager[None]:
    """Return the lock of the one generation that a workspace runs at a time.

    Raises:
        BusyError: Another generation runs in this workspace, when it is entered.

    """
    return writer_lock(workspace.locks / GENERATION_LOCK, f"a generation in {workspace.root}")


def evidence_of_generation(workspace: Workspace, state: GenerationState) -> Evidence | None:
    """Return the evidence of a generation's finalist, if it had one."""
    return read_evidence(workspace.root / state.record.evidence) if state.record.evidence else None


def generation_text(workspace: Workspace, state: GenerationState) -> str:
    """Return how a generation ended: candidates, decision, where the report is, and what to do next."""
    record = state.record
    rows = [["incumbent", "", record.incumbent_train or "", record.incumbent_selection or "", ""]]
    for proposal in record.proposals:
        finalist = record.confirmed_as(proposal.overlay_sha256)
        earlier = finalist is not None and finalist.overlay_sha256 != record.finalist
        note = "" if finalist is None else "finalist, not proven" if earlier else "finalist"
        note = f"refused: {proposal.refused}" if proposal.refused else note
        tokens = "" if proposal.resident_tokens is None else f"{proposal.resident_tokens:+d}"
        rows.append([proposal.name, tokens, proposal.train or "", proposal.selection or "", note])
    lines = [
        f"\ngeneration {record.id}: {record.skill}",
        table(rows, ["candidate", "tokens", "train", "selection", ""]),
    ]
    evidence = evidence_of_generation(workspace, state)
    if evidence is not None:
        lines.append(decision_text(evidence.promotion.decision))
    lines.append(record.summary)
    if record.proposer_usd_micros != 0:
        lines.append(f"proposing cost {money(record.proposer_usd_micros)}")
    if record.commit:
        lines.append(f"commit: {record.commit[:12]}")
    elif record.outcome == "promote" and record.evidence:
        lines.append(f"next: evolve promote {record.evidence}")
    lines.append(f"report: {workspace.relative(report_path(state))}")
    if evidence is not None:
        lines.append("check it: evolve audit --all")
    return "\n".join(lines)
