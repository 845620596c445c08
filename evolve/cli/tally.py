"""The running totals of a sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from evolve.cli.plans import duration, money
from evolve.records.row import Row


@dataclass
class Tally:
    """Counts what became of the cells of one sweep; money in micro-USD, ``None`` once a figure is unknown."""

    to_pay: int
    reused: int = 0
    clock: Callable[[], float] = monotonic
    done: int = 0
    resolved: int = 0
    failed: int = 0
    void: int = 0
    spent_micros: int | None = 0

    def __post_init__(self) -> None:
        """Start the clock."""
        self._started = self.clock()

    def began(self, seconds_ago: float) -> None:
        """Set the clock back."""
        self._started = self.clock() - seconds_ago

    def take(self, row: Row) -> None:
        """Count an attempt that ended."""
        self.spend(row.usage.cost_usd_micros)
        if row.void:
            self.void += 1
            return
        self.done += 1
        self.resolved += row.resolved
        self.failed += not row.resolved

    def spend(self, micros: int | None) -> None:
        """Add what was spent."""
        self.spent_micros = None if micros is None or self.spent_micros is None else self.spent_micros + micros

    @property
    def elapsed_s(self) -> float:
        """Seconds since the sweep began."""
        return self.clock() - self._started

    @property
    def rest_s(self) -> float | None:
        """How long the rest will take at this pace, in seconds; unknown before the first cell has ended."""
        return self.elapsed_s / self.done * (self.to_pay - self.done) if self.done else None

    @property
    def rest_micros(self) -> int | None:
        """What the rest will cost if it goes on like this."""
        if self.spent_micros is None or not self.done:
            return None
        return round(self.spent_micros / self.done * (self.to_pay - self.done))

    def text(self) -> str:
        """Return the totals in one line."""
        parts = [f"{self.done} of {self.to_pay} done", f"{self.resolved} resolved", f"{self.failed} failed"]
        if self.reused:
            parts.append(f"{self.reused} reused")
        if self.void:
            parts.append(f"{self.void} void")
        parts.append("cost unknown" if self.spent_micros is None else f"{money(self.spent_micros)} spent")
        if self.done < self.to_pay and self.rest_s is not None:
            cost = "" if not self.rest_micros else f", {money(self.rest_micros)}"
            parts.append(f"about {duration(self.rest_s)}{cost} to go")
        return ", ".join(parts)

    def value(self) -> dict[str, int | float | None]:
        """Return the totals for programs."""
        return {
            "to_pay": self.to_pay,
            "done": self.done,
            "resolved": self.resolved,
            "failed": self.failed,
            "reused": self.reused,
            "void": self.void,
            "spent_usd_micros": self.spent_micros,
            "rest_s": None if self.rest_s is None else round(self.rest_s, 1),
            "rest_usd_micros": self.rest_micros,
        }
