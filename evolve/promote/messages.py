"""The messages of commits, with the trailers that bind them to their evidence."""

from __future__ import annotations

from evolve.records.promotion import Promotion


def promotion_message(promotion: Promotion, promotion_sha256: str) -> str:
    """Return the commit message of a promotion, with the trailers that bind it to its evidence."""
    estimate = promotion.decision.estimates[0]
    reasons = "\n".join(f"- {reason.text}" for reason in promotion.decision.reasons)
    return (
        f"Promote {promotion.lineage.operator} overlay of {promotion.skill}: {estimate.value:+.0f} points\n\n"
        f"Measured on {estimate.tasks} sealed tasks x {estimate.runs} runs, paired with the incumbent.\n\n"
        f"{reasons}\n\n{_trailers(promotion, promotion_sha256)}"
    )


def _trailers(promotion: Promotion, promotion_sha256: str) -> str:
    return (
        f"Evolve-Overlay: {promotion.overlay_sha256}\n"
        f"Evolve-Evidence: {promotion_sha256}\n"
        f"Evolve-Policy: {promotion.policy_sha256}\n"
        f"Evolve-Rows: {promotion.rows_sha256}\n"
    )


def record_message(promotion: Promotion, promotion_sha256: str) -> str:
    """Return the message of the commit that records a candidate which was not promoted."""
    blocking = "\n".join(f"- {reason.text}" for reason in promotion.decision.reasons if reason.blocking)
    outcome = promotion.decision.outcome.value.replace("_", " ")
    return (
        f"Record look {promotion.ledger.look} at the sealed tasks of {promotion.skill}: {outcome}\n\n"
        f"{blocking}\n\n{_trailers(promotion, promotion_sha256)}"
    )
