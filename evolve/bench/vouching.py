"""Judging the reused rows of an arm by its canaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evolve.records.row import Row
from evolve.stats.drift import LEVEL, Canary, Measure, drift


def arm_drift(
    pairs: Sequence[tuple[Row, Row]], reused: Sequence[Row], agent: Mapping[str, Any], level: float = LEVEL
) -> str | None:
    """Return why the canaries of an arm do not vouch for its reused rows; ``None`` when they do.

    Args:
        pairs: (the row that is vouched for, the row that was measured), one pair a canary.
        reused: The other rows that the arm reuses.
        agent: The agent's identity, which says whether it is repeatable.
        level: How often a test may see drift where there is none.

    """
    if not pairs:
        return "no canary vouches for them"
    vouched = [old for old, _ in pairs]
    cost = _common_cost([*reused, *vouched, *(new for _, new in pairs)])
    by_task: dict[str, list[Measure]] = {}
    for row in [*reused, *vouched]:
        by_task.setdefault(row.identity.task, []).append(Measure(row.resolved, cost(row)))
    canaries = [
        Canary(new.identity.task, Measure(old.resolved, cost(old)), Measure(new.resolved, cost(new)))
        for old, new in pairs
    ]
    return drift(canaries, by_task, repeatable=agent.get("repeatable") is True, level=level)


def _usd_micros(row: Row) -> float | None:
    return row.usage.cost_usd_micros


def _tokens(row: Row) -> float | None:
    read, written = row.usage.input_tokens, row.usage.output_tokens
    return None if read is None or written is None else read + written


def _unknown(row: Row) -> None:
    return None


def _common_cost(rows: Sequence[Row]) -> Any:
    """Return the measure of cost that all rows have: money, else tokens, else none."""
    return next((cost for cost in (_usd_micros, _tokens) if all(cost(row) is not None for row in rows)), _unknown)
