"""What a generation leaves for later ones: a line of the archive for each candidate, and one of what it taught."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from evolve.digest import sha256_json
from evolve.errors import InputError
from evolve.gate.metrics import measured_of
from evolve.generation.pool import Candidate, Pool
from evolve.generation.state import GenerationState
from evolve.propose.learnings import idea_of
from evolve.propose.search.knowledge import INCUMBENT, Knowledge
from evolve.propose.store import store_overlay
from evolve.records.archive import ArchiveEntry, Fate, Learning
from evolve.records.decision import Decision
from evolve.records.generation import Confirmed, Generation, Proposal
from evolve.records.kinds import Outcome
from evolve.records.policy import QUALITIES, Metric, Policy
from evolve.records.promotion import Promotion
from evolve.records.row import Row
from evolve.records.search import Checkpoint
from evolve.redact import redact
from evolve.workspace import Workspace

MAX_REASON_CHARS = 2000


def archive_entries(
    workspace: Workspace, state: GenerationState, pool: Pool, search: Checkpoint, policy: Policy, at: datetime
) -> tuple[list[ArchiveEntry], list[Learning]]:
    """Return what is to be added to the archive and to the learnings; the candidates' folders are written."""
    record, known = state.record, Knowledge(search)
    common = {"at": at, "generation": record.id, "skill": pool.skill.name, "incumbent": pool.skill.fingerprint}
    of_agent = {**common, "agent_sha256": sha256_json(pool.agent_identity)}
    entries = [_of_the_incumbent(record, pool, policy, of_agent)]
    entries += [_again(entry, pool, policy, of_agent) for entry in _measured_again(pool)]
    learnings = []
    for proposal in record.proposals:
        candidate = _candidate(pool, proposal)
        folder = None if candidate is None else workspace.relative(store_overlay(workspace, candidate.overlay))
        fate, reason = fate_of(proposal, record)
        confirmed = record.confirmed_as(proposal.overlay_sha256)
        reason = redact(reason)[:MAX_REASON_CHARS]
        entries.append(
            ArchiveEntry(
                **of_agent,
                **_measured(proposal, pool, known, policy),
                overlay=folder,
                fate=fate,
                reason=reason,
                evidence=None if confirmed is None else confirmed.evidence,
            )
        )
        idea = idea_of(candidate.overlay.spec.rationale, candidate.edits) if candidate else proposal.operator
        told = {"operator": proposal.operator, "idea": redact(idea), "numbers": numbers_of(proposal, record)}
        learnings.append(Learning(**common, **told, fate=fate, reason=reason))
    return entries, learnings


def _of_the_incumbent(record: Generation, pool: Pool, policy: Policy, common: dict[str, Any]) -> ArchiveEntry:
    """Return the line of the incumbent: what the scores of the others are to be compared with."""
    rows = pool.rows(INCUMBENT)
    return ArchiveEntry(
        **common,
        name=INCUMBENT,
        operator=INCUMBENT,
        overlay=None,
        overlay_sha256=None,
        train=scores_by_task(rows, policy),
        selection=record.incumbent_selection,
        cost_usd_micros=cost_of(rows),
        fate="not-selected",
        reason="It is what the others were compared with.",
    )


def _measured(proposal: Proposal, pool: Pool, known: Knowledge, policy: Policy) -> dict[str, Any]:
    """Return where a proposal comes from and what was measured of it."""
    rows = pool.rows(proposal.name)
    tried = known.candidates.get(proposal.overlay_sha256 or "")
    return {
        "name": proposal.name,
        "operator": proposal.operator,
        "parents": proposal.parents,
        "overlay_sha256": proposal.overlay_sha256,
        "resident_tokens": proposal.resident_tokens,
        "train": scores_by_task(rows, policy),
        "selection": proposal.selection,
        "cost_usd_micros": cost_of(rows),
        "proposer_usd_micros": proposal.cost_usd_micros,
        "earned": None if tried is None or not rows else known.chance_better(tried),
    }


def _measured_again(pool: Pool) -> list[tuple[ArchiveEntry, Candidate]]:
    return [found for found in pool.archived.values() if pool.rows(found[1].name)]


def _again(found: tuple[ArchiveEntry, Candidate], pool: Pool, policy: Policy, common: dict[str, Any]) -> ArchiveEntry:
    """Return the line of a candidate of the archive that was measured again."""
    entry, candidate = found
    rows = pool.rows(candidate.name)
    update = {"name": candidate.name, "train": scores_by_task(rows, policy), "cost_usd_micros": cost_of(rows)}
    return entry.model_copy(update={**common, **update, "proposer_usd_micros": 0, "selection": None})


def _candidate(pool: Pool, proposal: Proposal) -> Candidate | None:
    if proposal.overlay_sha256 is None:
        return None
    try:
        return pool.get(proposal.overlay_sha256)
    except InputError:
        return None


def scores_by_task(rows: Sequence[Row], policy: Policy) -> dict[str, tuple[float, int]]:
    """Return the mean quality and the number of cells of each task, void cells left out."""
    metric = policy.metric if policy.metric in QUALITIES else Metric.RESOLVE_RATE
    found: dict[str, list[float]] = {}
    valid = [row for row in rows if not row.void]
    for row, value in zip(valid, measured_of(metric, valid), strict=True):
        if value is not None:
            found.setdefault(row.identity.task, []).append(value)
    return {task: (sum(values) / len(values), len(values)) for task, values in sorted(found.items())}


def cost_of(rows: Sequence[Row]) -> int | None:
    """Return what some cells cost together, in micro-USD; ``None`` when one is unknown or there are none."""
    costs = [row.usage.cost_usd_micros for row in rows]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def fate_of(proposal: Proposal, record: Generation) -> tuple[Fate, str]:
    """Return what became of a proposal, and why."""
    if proposal.overlay_sha256 is None:
        return "refused", proposal.refused or ""
    confirmed = record.confirmed_as(proposal.overlay_sha256)
    if confirmed is not None:
        if confirmed.outcome is Outcome.PROMOTE:
            return "proven", "It passed the gate."
        return "unproven", f"It did not pass the gate: {confirmed.why or record.summary}"
    if proposal.selection is not None:
        return "not-selected", "Another candidate, or the incumbent, did better on selection."
    if proposal.train is not None:
        return "screened-out", "Others, or the incumbent, did better on train."
    return "screened-out", "It was never measured."


def numbers_of(proposal: Proposal, record: Generation) -> str:
    """Return what was measured of a proposal, the incumbent beside it."""
    found = []
    if proposal.train is not None:
        found.append(f"train {proposal.train} (incumbent {record.incumbent_train})")
    if proposal.selection is not None:
        found.append(f"selection {proposal.selection} (incumbent {record.incumbent_selection})")
    confirmed = record.confirmed_as(proposal.overlay_sha256)
    if confirmed is not None and confirmed.effect:
        found.append(f"sealed {confirmed.effect}")
    return "; ".join(found)


def confirmed_by(promotion: Promotion, folder: str) -> Confirmed:
    """Return what evidence says of a finalist.

    Args:
        promotion: Its promotion.json.
        folder: Where that lies, relative to the workspace.

    """
    return Confirmed(
        overlay_sha256=promotion.overlay_sha256,
        evidence=folder,
        outcome=promotion.decision.outcome,
        why="; ".join(reason.text for reason in promotion.decision.reasons if reason.blocking),
        effect=effect_in_words(promotion.decision),
    )


def effect_in_words(decision: Decision) -> str:
    """Return the estimate that decided, with its interval, unit and size; empty when there is none."""
    for estimate in decision.estimates:
        if estimate.decides and estimate.value is not None:
            size = f"{estimate.tasks} tasks x {estimate.runs} runs"
            if estimate.low is None or estimate.high is None:
                return f"{estimate.value:+.4g} {estimate.unit}, {size}"
            bounds = f"{estimate.low:+.4g} to {estimate.high:+.4g}"
            return f"{estimate.value:+.4g} {estimate.unit} ({estimate.confidence:.0%}: {bounds}), {size}"
    return ""
