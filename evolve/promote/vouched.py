"""Whether the canaries in the evidence vouch for what was reused, by the evidence alone."""

from __future__ import annotations

from collections.abc import Sequence

from evolve.bench.vouching import arm_drift
from evolve.records.kinds import ErrorKind
from evolve.records.promotion import Promotion
from evolve.records.row import Row


def unvouched_arms(promotion: Promotion, rows: Sequence[Row]) -> dict[str, str]:
    """Return each arm for whose rows of some sweep no canary vouches, with the reason."""
    found: dict[str, str] = {}
    for arm, source in sorted({(row.arm, row.reused.sweep) for row in rows if row.reused is not None}):
        reused = [row for row in rows if row.arm == arm and row.reused is not None and row.reused.sweep == source]
        pairs, level = _canary_pairs(arm, source, promotion, rows), promotion.policy.drift.level
        reason = arm_drift(pairs, reused, promotion.agent_of(arm), level)
        if reason is not None:
            found.setdefault(arm, f"rows of {source}: {reason}")
    return found


def _canary_pairs(arm: str, source: str, promotion: Promotion, rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    fresh = {(row.identity.task, row.identity.run): row for row in rows if row.arm == arm and row.reused is None}
    pairs = []
    for canary in promotion.reuse.canaries:
        row = fresh.get((canary.task, canary.run)) if (canary.arm, canary.source) == (arm, source) else None
        if row is not None:
            kind = None if canary.reused_resolved else ErrorKind.ORACLE_FAILED
            old = {"resolved": canary.reused_resolved, "kind": kind, "usage": canary.reused_usage}
            pairs.append((row.model_copy(update=old), row))
    return pairs
