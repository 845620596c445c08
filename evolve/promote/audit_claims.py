"""Auditing what evidence says of itself beside its decision: its look, its times, its lineage and its counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from evolve.bench.health import arm_health
from evolve.promote.checks import CLOCK_SLACK, uncontained_tasks
from evolve.promote.findings import Finding, compare, judge
from evolve.promote.ledger import LEDGER_FILE
from evolve.records.kinds import Role
from evolve.records.ledger import LedgerEntry
from evolve.records.promotion import Promotion
from evolve.records.row import Row


def look_findings(name: str, promotion: Promotion, look: LedgerEntry) -> Iterator[Finding]:
    """Check that the look says of itself what the evidence does: the account of later looks goes by its words."""
    claimed = {
        "skill": promotion.skill,
        "overlay_sha256": promotion.overlay_sha256,
        "sealed_tasks": tuple(task.task for task in promotion.sealed),
        "of_alpha": promotion.policy.alpha,
    }
    entered = {field: getattr(look, field) for field in claimed}
    yield compare(LEDGER_FILE, f"subject of the look of {name}", claimed, entered)


def age_findings(file: str, promotion: Promotion, decided: LedgerEntry | None) -> Iterator[Finding]:
    """Check that evidence expires when the policy says, and was not dated ahead to last longer."""
    until = promotion.generated_at + timedelta(days=promotion.policy.evidence_max_age_days)
    yield compare(file, "expires_at", until, promotion.expires_at)
    if decided is not None:
        ahead = promotion.generated_at > decided.at + CLOCK_SLACK
        at = (moment.isoformat(timespec="seconds") for moment in (decided.at, promotion.generated_at))
        yield judge(file, "generated_at", not ahead, f"{next(at)} at the latest, when it was entered", next(at))


def overlay_findings(file: str, promotion: Promotion) -> Iterator[Finding]:
    """Check that the overlay says of itself what it changes."""
    spec = promotion.lineage
    yield compare(file, "skills of the overlay", (promotion.skill,), spec.skills)
    bases = {path: promotion.base_files.get(path) for path in spec.bases}
    yield compare(file, "texts that the overlay was written against", bases, dict(spec.bases))


def count_findings(file: str, promotion: Promotion, rows: Sequence[Row]) -> Iterator[Finding]:
    """Check counts of what left no row here as far as they can be told."""
    spend = promotion.spend
    yield compare(file, "rows in excess", len(promotion.surplus_sha256), spend.surplus_rows)
    counted = [arm_health(arm.name, rows, ()) for arm in promotion.arms]
    found = [(arm.arm, arm.fresh, arm.void) for arm in promotion.health]
    yield compare(file, "fresh and void rows of each arm", [(one.arm, one.fresh, one.void) for one in counted], found)


def containment_findings(file: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """Check that what was promoted was graded in containment, which promoting demands."""
    yield compare(file, "tasks graded without containment", [], uncontained_tasks(rows))


def subject_of(entry: LedgerEntry) -> dict[str, object]:
    """Return what all entries about one look have in common."""
    own = {"seq", "at", "entry", "outcome", "evidence_sha256", "previous"}
    return entry.model_dump(exclude=own)


def texts_of(promotion: Promotion) -> int:
    """Return how many texts of the skill were seen beside the incumbent's."""
    own = {arm.skills.get(promotion.skill) for arm in promotion.arms if arm.role is Role.INCUMBENT}
    return len({arm.skills.get(promotion.skill) for arm in promotion.arms} - own - {None})
