"""Whether canaries still vouch for the rows that are reused."""

from __future__ import annotations

from collections.abc import Sequence


def canaries_disagree(pairs: Sequence[tuple[bool, bool]]) -> bool:
    """Whether any canary resolved otherwise than the reused row of the same cell.

    Task, run, seed and every other part of the identity are equal, so that for a deterministic agent a single
    difference is drift; for another one it costs a needless measurement, never a wrong number.

    Args:
        pairs: (reused row resolved, canary resolved), one pair a canary.

    """
    return any(reused != fresh for reused, fresh in pairs)
