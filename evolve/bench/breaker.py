"""The outage breaker: a streak of systemic failures, counted in plan order, stops a sweep."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.records.kinds import KIND_FACTS, ErrorKind
from evolve.records.row import Row


@dataclass
class Breaker:
    """Counts systemic failures in a row; a cancelled attempt says nothing either way."""

    limit: int
    streak: int = 0
    reason: str | None = None

    def fold(self, row: Row, *, refused: bool) -> None:
        """Take an attempt, in plan order.

        Args:
            row: What the attempt measured.
            refused: Whether the provider refused the account itself, so that waiting cannot help.

        """
        if row.kind is ErrorKind.CANCELLED or self.reason is not None:
            return
        if row.kind is None or not KIND_FACTS[row.kind].systemic:
            self.streak = 0
            return
        self.streak += 1
        if refused:
            self.reason = f"the provider refuses: {row.detail}"
        elif self.streak >= self.limit:
            self.reason = f"{self.streak} cells in a row failed with {row.kind}: {row.detail}"
