"""Two sweeps beside one another as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evolve.compare.compare import Comparison, Finding, compare
from evolve.compare.sweeps import choose_arms, read_sweep
from evolve.compare.words import HEADER, LEGEND, change_unit, closing, computed, finding_row, left_out, reasons, size_of
from evolve.report.page.visible import shown
from evolve.view.linked import Cell, LinkedTable, cells, count


@dataclass(frozen=True)
class Compared:
    """A pair of arms: the metrics, and the change of each task."""

    before: str
    after: str
    metrics: LinkedTable
    tasks: LinkedTable
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ComparedSweeps:
    """All pairs of arms of two sweeps, and what they do not say."""

    pairs: tuple[Compared, ...]
    closing: str


def compare_values(before: Path, after: Path) -> ComparedSweeps:
    """Compare two sweeps.

    Raises:
        EvolveError: One of them is damaged, or they have nothing in common.

    """
    found = [compare(one, other) for one, other in choose_arms(read_sweep(before), read_sweep(after))]
    return ComparedSweeps(tuple(_pair(number, one) for number, one in enumerate(found, 1)), closing(found))


def _pair(number: int, found: Comparison) -> Compared:
    n = size_of(found)
    rows = tuple(cells(*finding_row(one, n)) for one in found.findings)
    metrics = LinkedTable(f"metrics-{number}", "; ".join(LEGEND), HEADER, rows)
    notes = [*reasons(found.findings), *computed(found), *left_out(found), *found.caveats]
    return Compared(
        before=shown(found.before.name),
        after=shown(found.after.name),
        metrics=metrics,
        tasks=_by_task(number, found),
        notes=tuple(shown(note, 4_000) for note in notes),
    )


def _by_task(number: int, found: Comparison) -> LinkedTable:
    known = [one for one in found.findings if one.estimate is not None]
    changes = [{one.task: one.change for one in finding.by_task} for finding in known]
    rows = tuple(
        (
            Cell(shown(task, 200)),
            *(_change(finding, by_task.get(task)) for finding, by_task in zip(known, changes, strict=True)),
        )
        for task in found.tasks
    )
    header = ("task", *(f"{one.metric.name}, {change_unit(one)}" for one in known))
    caption = f"The change of each of {count(len(rows), 'task')} from A to B."
    return LinkedTable(f"tasks-{number}", caption, header, rows, ("text", *["number"] * len(known)))


def _change(finding: Finding, change: float | None) -> Cell:
    if change is None:
        return Cell("unknown")
    rate = finding.metric.kind == "rate"
    kind = "" if not rate or not change else "win" if change > 0 else "loss"
    return Cell(f"{change:+.1f}", "", kind)
