"""The outage breaker: a streak of systemic failures, counted in plan order, stops a sweep."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from evolve.records.kinds import KIND_FACTS, ErrorKind, Role
from evolve.records.row import Row


@dataclass
class Breaker:
    """Counts systemic failures in a row, over all arms and for each; a cancelled attempt says nothing either way.

    A comparator that fails alone stops nobody: it is shown, and decides nothing.

    Args:
        limit: The streak that stops.
        streak: The streak so far.
        comparators_count: Whether there are comparators alone, so that they count like others.

    """

    limit: int
    streak: int = 0
    reason: str | None = None
    comparators_count: bool = False
    by_arm: Counter[str] = field(default_factory=Counter)

    def fold(self, row: Row, *, refused: bool) -> None:
        """Take an attempt, in plan order.

        Args:
            row: What the attempt measured.
            refused: Whether the provider refused the account itself, so that waiting cannot help.

        """
        if row.kind is ErrorKind.CANCELLED or self.reason is not None:
            return
        if row.kind is None or not KIND_FACTS[row.kind].systemic:
            self.streak = self.by_arm[row.arm] = 0
            return
        if row.role is Role.COMPARATOR and not self.comparators_count:
            return
        self.streak += 1
        self.by_arm[row.arm] += 1
        if refused:
            self.reason = f"the provider refuses: {row.detail}"
        elif self.streak >= self.limit:
            self.reason = f"{self.streak} attempts in a row failed with {row.kind}: {row.detail}"
        elif self.by_arm[row.arm] >= self.limit:
            count = self.by_arm[row.arm]
            self.reason = f"{count} attempts of the arm {row.arm} in a row failed with {row.kind}: {row.detail}"
