"""The budget of a run: what may be spent, what is booked, and what is reserved for cells that are under way."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True)
class Limits:
    """What a run may use: money in micro-USD, cells, and wall time in seconds; ``None`` is no limit."""

    usd_micros: int | None = None
    cells: int | None = None
    wall_s: float | None = None


class Admission(Enum):
    """Whether a cell may be begun now, later, or never."""

    YES = "yes"
    WAIT = "wait"
    NO = "no"


@dataclass
class Budget:
    """Books real cost and reserves worst cost, so that no cell can break the limit that it was begun under.

    A cell is refused only when nothing is under way any more: what it is refused for is then a matter of the
    cells before it alone, whatever the number of workers.
    """

    limits: Limits
    booked_micros: int = 0
    cells: int = 0
    _reserved: dict[int, int] = field(default_factory=dict)
    reason: str | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the command began; all of its sweeps share one clock."""
        return time.monotonic() - self.started

    def would_admit(self, worst_micros: int | None) -> bool:
        """Whether a next cell could begin; nothing is reserved, and a refusal is not remembered."""
        trial = Budget(self.limits, self.booked_micros, self.cells, dict(self._reserved))
        return self.reason is None and trial.admit(-1, worst_micros, self.elapsed_s) is Admission.YES

    def admit(self, cell: int, worst_micros: int | None, elapsed_s: float) -> Admission:
        """Say whether a cell may be begun, and reserve its worst cost when it may.

        Args:
            cell: The cell's index in the plan.
            worst_micros: The most that it can cost; ``None`` when nobody can say.
            elapsed_s: How long the run has been going on.

        """
        if self.limits.wall_s is not None and elapsed_s >= self.limits.wall_s:
            return self._refuse(f"{elapsed_s:.0f} s have passed of the {self.limits.wall_s:g} s allowed")
        if self.limits.cells is not None and self.cells >= self.limits.cells:
            return self._refuse(f"{self.cells} cells were begun, as many as are allowed")
        if self.limits.usd_micros is not None:
            if worst_micros is None:
                return self._refuse("the worst cost of a cell is unknown; give the model a price in evolve.yaml")
            under_way = sum(self._reserved.values())
            if self.booked_micros + under_way + worst_micros > self.limits.usd_micros:
                if under_way:
                    return Admission.WAIT
                rest = (self.limits.usd_micros - self.booked_micros) / 1e6
                return self._refuse(f"{rest:.4f} USD are left, the next cell may cost {worst_micros / 1e6:.4f} USD")
        self._reserved[cell] = worst_micros or 0
        self.cells += 1
        return Admission.YES

    def _refuse(self, reason: str) -> Admission:
        self.reason = reason
        return Admission.NO

    def book(self, micros: int | None) -> None:
        """Book what was spent beside all cells; micro-USD."""
        self.booked_micros += micros or 0

    def carry(self, booked_micros: int, cells: int) -> None:
        """Book what an interrupted run of the same sweep has used already."""
        self.booked_micros += booked_micros
        self.cells += cells

    def settle(self, cell: int, cost_micros: int | None) -> None:
        """Book a cell's real cost; a cell of unknown cost keeps its reservation for good."""
        reserved = self._reserved.pop(cell, 0)
        self.booked_micros += reserved if cost_micros is None else cost_micros
