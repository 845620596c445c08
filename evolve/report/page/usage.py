"""What each task cost in both arms: money, tokens, wall time and turns, as medians of its runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from evolve.gate.metrics import counted
from evolve.records.row import Row
from evolve.report.page.matrix import PairOfArms
from evolve.report.page.visible import shown, visible

MOST_DOTS: Final = 30


@dataclass(frozen=True)
class Quantity:
    """Something that a run uses: its name, its unit, and how a row tells it in that unit."""

    name: str
    unit: str
    of: Callable[[Row], float | None]

    @property
    def head(self) -> str:
        """Its name with its unit."""
        return self.name if self.name == self.unit else f"{self.name}, {self.unit}"


def _scaled(figure: int | None, scale: float) -> float | None:
    return None if figure is None else figure * scale


QUANTITIES: Final = (
    Quantity("cost", "USD", lambda row: _scaled(row.usage.cost_usd_micros, 1e-6)),
    Quantity("input", "tokens", lambda row: row.usage.input_tokens),
    Quantity("output", "tokens", lambda row: row.usage.output_tokens),
    Quantity("wall time", "s", lambda row: _scaled(row.usage.session_ms, 1e-3)),
    Quantity("turns", "turns", lambda row: row.usage.turns),
)


@dataclass(frozen=True)
class Median:
    """The median of a task's runs in one arm; of so many runs so many report it."""

    value: float | None
    known: int
    runs: int

    @property
    def text(self) -> str:
        """The figure, or that it is missing."""
        if not self.runs:
            return "not measured"
        if self.value is None:
            return "missing"
        share = "" if self.known == self.runs else f" ({self.known} of {self.runs} runs report it)"
        return f"{self.value:,.4g}{share}" if self.value < 10_000 else f"{self.value:,.0f}{share}"


@dataclass(frozen=True)
class TaskUsage:
    """A task: for each quantity the incumbent's and the candidate's median."""

    task: str
    pairs: tuple[tuple[Median, Median], ...]

    @property
    def runs(self) -> tuple[int, int]:
        """How many valid runs the incumbent and the candidate have."""
        before, after = self.pairs[0]
        return before.runs, after.runs


@dataclass(frozen=True)
class Dots:
    """A quantity as paired dots: the tasks that are plotted, and what is not, in words."""

    quantity: Quantity
    tasks: tuple[tuple[str, float, float], ...]
    caption: str


@dataclass(frozen=True)
class UsageView:
    """All tasks of a pair of arms, and what of them is plotted."""

    title: str
    tasks: tuple[TaskUsage, ...]
    dots: tuple[Dots, ...]


def usage_view(pair: PairOfArms) -> UsageView:
    """Return what tasks used in both arms of a pair; void runs are no runs."""
    by_place: dict[tuple[str, str], list[Row]] = {}
    for row in pair.rows:
        if not row.void:
            by_place.setdefault((row.identity.task, row.arm), []).append(row)
    found = []
    for task in pair.tasks:
        before, after = (by_place.get((task, arm), []) for arm in (pair.incumbent, pair.candidate))
        pairs = tuple((_median(before, one), _median(after, one)) for one in QUANTITIES)
        found.append(TaskUsage(visible(task), pairs))
    dots = tuple(_dots(found, index) for index in range(len(QUANTITIES)))
    return UsageView(shown(pair.title), tuple(found), dots)


def _median(rows: Sequence[Row], quantity: Quantity) -> Median:
    known = [value for row in rows if (value := quantity.of(row)) is not None]
    return Median(statistics.median(known) if known else None, len(known), len(rows))


def _dots(tasks: Sequence[TaskUsage], index: int) -> Dots:
    quantity = QUANTITIES[index]
    known = [
        (task.task, before.value, after.value)
        for task in tasks
        for before, after in (task.pairs[index],)
        if before.value is not None and after.value is not None
    ]
    most = sorted(known, key=lambda one: (-abs(one[2] - one[1]), one[0]))[:MOST_DOTS]
    kept = tuple(sorted(most))
    parts = [f"{quantity.head}, median of a task's runs, incumbent beside candidate"]
    if not known:
        return Dots(quantity, (), f"{quantity.name}: no task has it in both arms and it is not drawn; missing is not 0")
    if all(before == after == 0 for _, before, after in known):
        zero = counted(len(known), "task", "tasks")
        return Dots(quantity, (), f"{quantity.head}: the median of {zero} is 0 in both arms, so that nothing is drawn")
    parts.append(f"{len(kept)} of {len(tasks)} tasks")
    if len(kept) < len(known):
        parts.append(f"those that changed most; {len(known) - len(kept)} more in the table")
    if len(known) < len(tasks):
        lacking = counted(len(tasks) - len(known), "task has", "tasks have")
        parts.append(f"{lacking} no figure in one of the arms, which is not drawn")
    return Dots(quantity, kept, "; ".join(parts))
