"""``history.md`` and ``selection.md``: what was tried, and how the incumbent does where no task may be seen."""

from __future__ import annotations

from collections.abc import Sequence

from evolve.digest import sha256_bytes
from evolve.propose.bundle.limits import Section
from evolve.propose.bundle.quoting import one_line
from evolve.propose.bundle.told import Told
from evolve.records.row import Row

TOLD_CHARS = 600
_HEADINGS = {
    "promoted": "Promoted: proven, and part of the lineage",
    "kept": "Kept: better in the search, not proven",
    "refused": "Refused: do not propose these again without a new reason",
}


def history_sections(told: Sequence[Told]) -> list[Section]:
    """Return what became of earlier ideas, the newest first.

    Args:
        told: The ideas, the oldest first.

    """
    newest = list(reversed(told))
    found = [
        Section(heading, tuple(_idea(one) for one in newest if one.outcome == outcome))
        for outcome, heading in _HEADINGS.items()
    ]
    return [section for section in found if section.parts] or [Section("Nothing yet", ("No idea was tried before.",))]


def _idea(told: Told) -> str:
    lines = [f"- {one_line(told.idea, TOLD_CHARS) or 'an idea without a description'} ({one_line(told.operator, 64)})"]
    if told.numbers:
        lines.append(f"  - measured: {one_line(told.numbers, TOLD_CHARS)}")
    if told.reason:
        lines.append(f"  - why: {one_line(told.reason, TOLD_CHARS)}")
    return "\n".join(lines)


def selection_sections(rows: Sequence[Row]) -> list[Section]:
    """Return how many runs of each selection task were resolved; the numbers of tasks tell nothing about them."""
    valid = [row for row in rows if not row.void]
    if not valid:
        return [Section("Nothing yet", ("No selection task was measured yet.",))]
    tasks = sorted({(sha256_bytes(row.identity.task_sha256.encode()), row.identity.task) for row in valid})
    lines = []
    for number, (_, task) in enumerate(tasks, start=1):
        mine = [row for row in valid if row.identity.task == task]
        lines.append(f"- task {number}: {sum(row.resolved for row in mine)} of {len(mine)} runs resolved")
    whole = f"{sum(row.resolved for row in valid)} of {len(valid)} runs of {len(tasks)} tasks resolved."
    return [Section("All together", (whole,)), Section("By task", ("\n".join(lines),))]
