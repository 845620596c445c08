"""All that was spent on each cell and each arm of a sweep, attempts that came to nothing included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from evolve.records.event import Event
from evolve.records.plan import Plan


@dataclass(frozen=True)
class Paid:
    """What was paid, and for what.

    Args:
        micros: The known cost, in micro-USD.
        attempts: Sessions that were paid for: settled, voided, lost and cancelled ones, and warm-ups of an arm.
        passes: Cells that passed.
        bounded: Sessions of which only the most that they can have cost is known; it is in ``micros``.
        unknown: Sessions of which not even that is known.

    """

    micros: int = 0
    attempts: int = 0
    passes: int = 0
    bounded: int = 0
    unknown: int = 0

    @property
    def usd(self) -> float | None:
        """The spend in USD; ``None`` when that of a session is unknown."""
        return None if self.unknown else self.micros / 1_000_000

    def __add__(self, other: Paid) -> Paid:
        """Return what was paid for both."""
        return Paid(
            self.micros + other.micros,
            self.attempts + other.attempts,
            self.passes + other.passes,
            self.bounded + other.bounded,
            self.unknown + other.unknown,
        )


@dataclass(frozen=True)
class Spending:
    """What a sweep paid: by the index of the cell, and by arm, warm-ups included."""

    cells: Mapping[int, Paid] = field(default_factory=dict)
    arms: Mapping[str, Paid] = field(default_factory=dict)
    voided: frozenset[int] = frozenset()


@dataclass
class _Fold:
    plan: Plan
    cells: dict[int, Paid] = field(default_factory=dict)
    arms: dict[str, Paid] = field(default_factory=dict)
    leases: dict[int, Event] = field(default_factory=dict)
    voided: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._arm = {cell.index: cell.arm for cell in self.plan.cells}

    def take(self, event: Event) -> None:
        if event.event == "leased" and event.token is not None:
            self.leases[event.token] = event
        elif event.event == "spent":
            lease = self.leases.pop(event.token or 0, None)
            most = lease.reserved_micros if lease is not None else None
            # What a warm-up cost is known, or was booked as what was reserved; all else was never measured.
            bounded = event.reason != "warm-up" or event.cost_usd_micros == most
            self._pay(lease or event, event.cost_usd_micros, bounded=bounded)
        elif event.event in ("settled", "voided") and event.row is not None and event.cell is not None:
            lease = self.leases.pop(event.token or 0, None)
            cost = event.row.usage.cost_usd_micros
            most = lease.reserved_micros if lease is not None else None
            self._pay(event, most if cost is None else cost, bounded=cost is None, passed=event.row.resolved)
            (self.voided.add if event.event == "voided" else self.voided.discard)(event.cell)

    def _pay(self, what: Event, micros: int | None, *, bounded: bool, passed: bool = False) -> None:
        known = micros is not None
        paid = Paid(micros or 0, 1, int(passed), int(bounded and known), int(not known))
        arm = what.arm if what.cell is None else self._arm.get(what.cell)
        if what.cell is not None:
            self.cells[what.cell] = self.cells.get(what.cell, Paid()) + paid
        if arm is not None:
            self.arms[arm] = self.arms.get(arm, Paid()) + paid

    def end(self) -> Spending:
        """Count the sessions that are under way, or were lost and nobody has booked yet, at the most they can cost."""
        for lease in self.leases.values():
            self._pay(lease, lease.reserved_micros, bounded=True)
        return Spending(self.cells, self.arms, frozenset(self.voided))


def spending_of(plan: Plan, events: Iterable[Event]) -> Spending:
    """Return what a sweep paid.

    Args:
        plan: Its plan.
        events: Its journal, in order.

    """
    fold = _Fold(plan)
    for event in events:
        fold.take(event)
    return fold.end()
