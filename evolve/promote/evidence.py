"""Writing and reading the evidence of a decided candidate."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import evolve
from evolve.bench.arms import INCUMBENT_ARM, candidate_name
from evolve.bench.health import Health, arm_health, cost_position_effect, position_effect
from evolve.bench.journal import JOURNAL_FILE, Spent
from evolve.bench.runner import SweepResult
from evolve.corpus.loading import LoadedTask, sealed_digest
from evolve.digest import sha256_bytes, sha256_file
from evolve.errors import EvidenceFault
from evolve.files import write_atomic, write_folder
from evolve.gate.decide import GateInput, Pair, decide
from evolve.overlays import FrozenOverlay, base_digests
from evolve.promote.attest import ATTESTATION_FILE, TEST_RESULT_FILE, envelopes
from evolve.promote.keys import signing_key
from evolve.promote.signing import sign
from evolve.records.base import jsonl_bytes, read_json, read_jsonl
from evolve.records.kinds import Role
from evolve.records.ledger import LedgerEntry
from evolve.records.plan import Arm
from evolve.records.policy import Policy
from evolve.records.promotion import (
    ArmHealthRecord,
    CanaryRecord,
    ExtraRound,
    LedgerPosition,
    Promotion,
    ReuseRecord,
    SealedTask,
    Spend,
)
from evolve.records.row import Row
from evolve.runtime import runtime_digest
from evolve.skills import Skill

PROMOTION_FILE = "promotion.json"
ROWS_FILE = "rows.jsonl"
OVERLAY_FOLDER = "overlay"
EVIDENCE_FILES = (PROMOTION_FILE, ROWS_FILE, ATTESTATION_FILE, TEST_RESULT_FILE)


@dataclass(frozen=True)
class Evidence:
    """A folder of evidence, read."""

    folder: Path
    promotion: Promotion
    promotion_sha256: str
    rows: tuple[Row, ...]


def total(figures: list[int | None]) -> int | None:
    """Return a sum; unknown as soon as one figure is unknown."""
    return None if any(figure is None for figure in figures) else sum(figure or 0 for figure in figures)


def spend_of(
    rows: tuple[Row, ...],
    voided: tuple[Row, ...] = (),
    surplus: tuple[Row, ...] = (),
    spent: tuple[Spent, ...] = (),
) -> Spend:
    """Return what was paid for; reused rows cost nothing again.

    Args:
        rows: The rows that decide.
        voided: Every voided attempt.
        surplus: Rows that were measured and not needed.
        spent: What was spent beside all rows.

    """
    fresh = [row for row in rows if row.reused is None]
    paid = [*(row for row in fresh if not row.void), *voided, *surplus]
    return Spend(
        surplus_rows=len(surplus),
        lost_attempts=sum(one.why in ("lost", "cancelled") for one in spent),
        warm_ups=sum(one.why == "warm-up" for one in spent),
        overhead_usd_micros=total([one.cost_usd_micros for one in spent]),
        fresh_rows=len([row for row in fresh if not row.void]),
        reused_rows=len(rows) - len(fresh),
        voided_attempts=len(voided),
        input_tokens=total([row.usage.input_tokens for row in paid]),
        output_tokens=total([row.usage.output_tokens for row in paid]),
        cost_usd_micros=total([row.usage.cost_usd_micros for row in paid]),
    )


def gate_input(promotion: Promotion, rows: tuple[Row, ...]) -> GateInput:
    """Return what the gate decides on, from evidence alone."""
    return GateInput(
        rows=rows,
        tasks=tuple(task.task for task in promotion.sealed),
        runs=promotion.runs,
        policy=promotion.policy,
        alpha=promotion.ledger.alpha,
        stopped_early=promotion.stopped_early,
        spent=promotion.ledger.spent,
        tiers={task.task: task.tier for task in promotion.sealed},
        required=required_pairs(promotion.arms),
    )


def required_pairs(arms: tuple[Arm, ...]) -> tuple[Pair, ...]:
    """Return the pairs beside the main one, in each of which a candidate must win."""
    others = (arm.name for arm in arms if arm.role is Role.INCUMBENT and arm.name != INCUMBENT_ARM)
    return tuple(Pair(name, candidate_name(name)) for name in others)


def measured_input(
    results: tuple[SweepResult, ...], policy: Policy, sealed: tuple[LoadedTask, ...], look: LedgerEntry
) -> GateInput:
    """Return what the gate decides on: a sealed sweep and its further rounds, as they were measured."""
    first = results[0]
    return GateInput(
        rows=tuple(row for result in results for row in result.rows),
        tasks=tuple(task.id for task in sealed),
        runs=first.plan.runs,
        policy=policy,
        alpha=look.alpha,
        stopped_early=first.stopped is not None,
        spent=look.spent,
        tiers={task.id: task.task.tier for task in sealed},
        required=required_pairs(first.plan.arms),
    )


def _reuse_record(result: SweepResult) -> ReuseRecord:
    return ReuseRecord(
        reused_rows=sum(row.reused is not None for row in result.rows),
        dropped_arms=result.dropped_arms,
        canaries=tuple(
            CanaryRecord(
                arm=cell.arm,
                task=cell.identity.task,
                run=cell.identity.run,
                source=old.reused.sweep if old.reused else "",
                reused_resolved=old.resolved,
                reused_usage=old.usage,
                canary_resolved=new.resolved,
            )
            for cell, old, new in result.canaries
        ),
    )


def make_promotion(
    results: tuple[SweepResult, ...],
    policy: Policy,
    incumbent: Skill,
    overlay: FrozenOverlay,
    sealed: tuple[LoadedTask, ...],
    look: LedgerEntry,
) -> Promotion:
    """Decide on a finished sealed sweep with its further rounds, and bind everything the decision rests on."""
    given = measured_input(results, policy, sealed, look)
    result, rows, decision = results[0], given.rows, decide(given)
    voided = tuple(row for found in results for row in found.voided)
    surplus = tuple(row for found in results for row in found.surplus)
    spent = tuple(one for found in results for one in found.spent)
    now = datetime.now(UTC)
    return Promotion(
        evolve_version=evolve.__version__,
        generated_at=now,
        expires_at=now + timedelta(days=policy.evidence_max_age_days),
        skill=incumbent.name,
        sweep=result.plan.sweep,
        runs=result.plan.runs,
        decision=decision,
        stopped_early=given.stopped_early,
        policy=policy,
        policy_sha256=policy.digest(),
        overlay_sha256=overlay.digest,
        overlay_files={path: sha256_bytes(entry.content) for path, entry in overlay.files.files.items()},
        base_files=base_digests(incumbent, overlay),
        folders=incumbent.folders,
        lineage=overlay.spec,
        arms=result.plan.arms,
        sealed_sha256=sealed_digest(sealed),
        sealed=tuple(
            SealedTask(
                task=task.id, task_sha256=task.task_sha256, oracle_sha256=task.oracle_sha256, tier=task.task.tier
            )
            for task in sealed
        ),
        left_out=result.plan.left_out,
        agent=result.plan.agent,
        runtime_sha256=runtime_digest(),
        plan_sha256=result.plan.digest(),
        rows_sha256=sha256_bytes(jsonl_bytes(rows)),
        row_sha256=tuple(row.digest() for row in rows),
        surplus_sha256=tuple(row.digest() for row in surplus),
        journal_sha256=sha256_file(result.folder / JOURNAL_FILE),
        extra=tuple(_extra_round(found) for found in results[1:]),
        reuse=_reuse_record(result),
        spend=spend_of(rows, voided, surplus, spent).model_copy(
            update={"saved_cells": sum(len(found.plan.cells) for found in results) - len(rows) - len(surplus)}
        ),
        health=tuple(
            ArmHealthRecord(arm=found.arm, health=found.health.value, fresh=found.fresh, void=found.void)
            for found in (arm_health(arm.name, rows, voided) for arm in result.plan.arms)
        ),
        position_effect=position_effect(rows),
        cost_position_effect=cost_position_effect(rows),
        ledger=LedgerPosition(look=look.look, alpha=look.alpha, spent=look.spent, entry_sha256=look.digest()),
    )


def _extra_round(result: SweepResult) -> ExtraRound:
    return ExtraRound(
        sweep=result.plan.sweep,
        tasks=tuple(sorted({cell.identity.task for cell in result.plan.cells})),
        first_run=result.plan.first_run,
        runs=result.plan.runs,
        plan_sha256=result.plan.digest(),
        journal_sha256=sha256_file(result.folder / JOURNAL_FILE),
    )


def unusable_arms(evidence: Evidence) -> list[str]:
    """Return the arms that could not be measured."""
    return [arm.arm for arm in evidence.promotion.health if Health(arm.health) is Health.UNUSABLE]


def evidence_folder(promotion_root: Path, skill: str, overlay_sha256: str, sweep: str) -> Path:
    """Return where the evidence of a candidate belongs; a later look at the same overlay gets its own folder."""
    folder = promotion_root / skill / overlay_sha256[:12]
    number = 2
    while (folder / PROMOTION_FILE).exists() and read_json(Promotion, folder / PROMOTION_FILE).sweep != sweep:
        folder = promotion_root / skill / f"{overlay_sha256[:12]}-{number}"
        number += 1
    return folder


def write_evidence(
    folder: Path, promotion: Promotion, rows: tuple[Row, ...], overlay: FrozenOverlay, *, staging: Path
) -> str:
    """Write an evidence folder, all of it or nothing; returns the digest of promotion.json.

    It is signed when the environment names a key.
    """
    data, key = promotion.canonical() + b"\n", signing_key()

    def fill(new: Path) -> None:
        overlay.files.write(new / OVERLAY_FOLDER)
        write_atomic(new / ROWS_FILE, jsonl_bytes(rows))
        for name, envelope in envelopes(promotion, sha256_bytes(data)).items():
            write_atomic(new / name, (sign(envelope, key) if key else envelope).file_bytes())
        write_atomic(new / PROMOTION_FILE, data)

    write_folder(folder, fill, staging=staging)
    return sha256_bytes(data)


def read_evidence(folder: Path) -> Evidence:
    """Read an evidence folder.

    Raises:
        InputError: A file is missing or invalid; the message names file, line and field.

    """
    path = folder / PROMOTION_FILE
    return Evidence(
        folder=folder,
        promotion=read_json(Promotion, path),
        promotion_sha256=sha256_file(path),
        rows=tuple(read_jsonl(Row, folder / ROWS_FILE)),
    )


def find_evidence(promotion_root: Path, overlay: FrozenOverlay) -> Evidence:
    """Return the newest evidence about an overlay.

    Raises:
        EvidenceFault: There is none.

    """
    folders = sorted((promotion_root / overlay.skill).glob(f"{overlay.digest[:12]}*/{PROMOTION_FILE}"))
    found = [read_evidence(path.parent) for path in folders]
    matching = [evidence for evidence in found if evidence.promotion.overlay_sha256 == overlay.digest]
    if not matching:
        raise EvidenceFault(
            f"no evidence about this overlay below {promotion_root / overlay.skill}",
            hint="measure it first: evolve benchmark OVERLAY",
            code="no-evidence",
        )
    return max(matching, key=lambda evidence: evidence.promotion.generated_at)
