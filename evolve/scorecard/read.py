"""Reading scorecards out of the folders of sweeps, one transcript and one reply at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evolve.agents.transcripts import tells
from evolve.bench.follow import plan_of
from evolve.bench.journal import JOURNAL_FILE, stream_events
from evolve.bench.measured import counted_rows
from evolve.bench.reuse import stored_reply
from evolve.digest import sha256_bytes
from evolve.hostile import open_file
from evolve.propose.diagnostics.of_row import transcript_of
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row
from evolve.scorecard.card import Card, Told, card_of
from evolve.scorecard.spend import Paid, Spending, spending_of
from evolve.scorecard.summary import Summary, summarise

MAX_REPLY_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Scorecard:
    """The cards of some sweeps, what they say together, and what each arm paid."""

    cards: tuple[Card, ...]
    summaries: tuple[Summary, ...]
    paid: Mapping[tuple[str, str], Paid]


def scorecard_of(folders: Iterable[Path], arm: str | None = None) -> Scorecard:
    """Read the scorecard of some sweeps, finished or not.

    Args:
        folders: Their folders.
        arm: The one arm to read; ``None``: every arm.

    Raises:
        EvidenceFault: A journal is damaged.
        InputError: A plan or a row is invalid.

    """
    cards: list[Card] = []
    paid: dict[tuple[str, str], Paid] = {}
    for folder in folders:
        plan = plan_of(folder)
        spending = spending_of(plan, stream_events(folder / JOURNAL_FILE))
        paid |= {(plan.sweep, name): found for name, found in spending.arms.items() if arm in (None, name)}
        cards += _cards(folder, plan, spending, arm)
    return Scorecard(tuple(cards), tuple(summarise(cards, paid)), paid)


def _cards(folder: Path, plan: Plan, spending: Spending, arm: str | None) -> Iterable[Card]:
    rows = {(row.arm, row.key): row for row in counted_rows(folder)}
    for cell in plan.cells:
        if arm in (None, cell.arm):
            row = rows.get((cell.arm, cell.identity.digest()))
            yield card_of(plan.sweep, cell, row, _told(folder, plan, cell, row, spending))


def _told(folder: Path, plan: Plan, cell: PlannedCell, row: Row | None, spending: Spending) -> Told:
    adapter = str(plan.agent_of(cell.arm).get("adapter"))
    paid, void = spending.cells.get(cell.index), cell.index in spending.voided
    if row is None:
        return Told(writes=tells(adapter), paid=paid, void=void)
    return Told(
        transcript=transcript_of(folder, row, adapter) if tells(adapter) else None,
        writes=tells(adapter),
        reply=_reply(folder, row),
        paid=paid,
        void=void,
    )


def _reply(folder: Path, row: Row) -> str | None:
    """Return the reply of a row, empty where it had none; ``None`` where it is gone, too large, or not what it was."""
    if row.reply_sha256 is None:
        return ""
    try:
        with open_file(stored_reply(folder, row.reply_sha256)) as file:
            data = file.read(MAX_REPLY_BYTES + 1)
    except OSError:
        return None
    whole = len(data) <= MAX_REPLY_BYTES and sha256_bytes(data) == row.reply_sha256
    return data.decode("utf-8", errors="replace") if whole else None
