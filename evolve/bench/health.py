"""Whether an arm could be measured at all, and whether position looks like effect; from fresh rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evolve.records.row import Row

MIN_POSITION_ROWS = 8


class Health(StrEnum):
    """How an arm fared: nothing fresh, all valid, some void, or mostly void."""

    UNKNOWN = "unknown"
    OK = "ok"
    DEGRADED = "degraded"
    UNUSABLE = "unusable"


@dataclass(frozen=True)
class ArmHealth:
    """The health of an arm and the counts it rests on."""

    arm: str
    health: Health
    fresh: int
    void: int


def arm_health(arm: str, rows: Sequence[Row], voided: Sequence[Row]) -> ArmHealth:
    """Judge an arm by its fresh rows and voided attempts.

    Args:
        arm: The arm's name.
        rows: The final rows of the sweep.
        voided: Every voided attempt; a cell whose last attempt is void has no valid row.

    """
    fresh = [row for row in rows if row.arm == arm and row.reused is None]
    dead = sum(row.void for row in fresh)
    tried_again = any(row.arm == arm for row in voided)
    if not fresh:
        health = Health.UNKNOWN
    elif 2 * dead > len(fresh):
        health = Health.UNUSABLE
    else:
        health = Health.DEGRADED if dead or tried_again else Health.OK
    return ArmHealth(arm=arm, health=health, fresh=len(fresh), void=dead)


def position_effect(rows: Sequence[Row]) -> float | None:
    """Return Spearman's correlation of session time with position in time; ``None`` when it says nothing."""
    return _against_position([row.usage.session_ms for row in _in_time(rows)])


def cost_position_effect(rows: Sequence[Row]) -> float | None:
    """Return Spearman's correlation of cost with position in time; ``None`` when it says nothing."""
    return _against_position([row.usage.cost_usd_micros for row in _in_time(rows)])


def _in_time(rows: Sequence[Row]) -> list[Row]:
    return sorted((row for row in rows if row.reused is None and not row.void), key=lambda row: row.measured_at)


def _against_position(found: Sequence[int | None]) -> float | None:
    figures = [figure for figure in found if figure is not None]
    if len(figures) < MIN_POSITION_ROWS or len(set(figures)) == 1:
        return None
    from scipy.stats import spearmanr

    return round(float(spearmanr(range(len(figures)), figures).statistic), 3)
