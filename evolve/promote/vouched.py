"""Whether the canaries in the evidence vouch for what was reused, by the evidence alone."""

from __future__ import annotations

from collections.abc import Sequence

from evolve.bench.vouching import arm_drift
from evolve.records.kinds import ErrorKind
from evolve.records.promotion import Promotion
from evolve.records.row import Row


def unvouched_arms(promotion: Promotion, rows: Sequence[Row]) -> dict[str, str]:
    """Return each arm whose reused rows no canary vouches for, with the reason."""
    found = {}
    for arm in sorted({row.arm for row in rows if row.reused is not None}):
        reused = [row for row in rows if row.arm == arm and row.reused is not None]
        reason = arm_drift(_canary_pairs(arm, promotion, rows), reused, promotion.agent)
        if reason is not None:
            found[arm] = reason
    return found


def _canary_pairs(arm: str, promotion: Promotion, rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    fresh = {(row.identity.task, row.identity.run): row for row in rows if row.arm == arm and row.reused is None}
    pairs = []
    for canary in promotion.reuse.canaries:
        row = fresh.get((canary.task, canary.run)) if canary.arm == arm else None
        if row is not None:
            kind = None if canary.reused_resolved else ErrorKind.ORACLE_FAILED
            old = {"resolved": canary.reused_resolved, "kind": kind, "usage": canary.reused_usage}
            pairs.append((row.model_copy(update=old), row))
    return pairs
