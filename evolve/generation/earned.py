"""What the search reckons of each edit, for the reader of a report."""

from __future__ import annotations

from evolve.generation.pool import Candidate, Pool
from evolve.propose.edits import Edit
from evolve.propose.search.knowledge import Knowledge
from evolve.records.generation import EditEarned
from evolve.records.search import Checkpoint
from evolve.redact import redact

SHOWN = 20
TEXT_CHARS = 100


def earned_edits(pool: Pool, search: Checkpoint) -> tuple[EditEarned, ...]:
    """Return what the edits that were measured earned, those first of which it is clearest whether they help."""
    known = Knowledge(search)
    cells: dict[str, int] = {}
    for seen in search.seen:
        if seen.candidate is not None:
            cells[seen.candidate] = cells.get(seen.candidate, 0) + sum(score is not None for score in seen.scores)
    if not cells:
        return ()
    means = known.model.means()
    by_id = {edit.id: edit for candidate in _candidates(pool, search) for edit in candidate.edits}
    found = []
    for name, edit in by_id.items():
        holders = [one.id for one in search.candidates if name in one.edits and cells.get(one.id)]
        if holders:
            found.append(
                EditEarned(
                    text=begins(edit),
                    tokens=edit.tokens,
                    points=round(100 * means[name], 3),
                    chance=round(known.model.chance_above((name,)), 4),
                    candidates=len(holders),
                    cells=sum(cells[holder] for holder in holders),
                )
            )
    return tuple(sorted(found, key=lambda one: (-abs(one.chance - 0.5), one.text))[:SHOWN])


def _candidates(pool: Pool, search: Checkpoint) -> list[Candidate]:
    return [pool.get(one.id) for one in search.candidates]


def begins(edit: Edit) -> str:
    """Return how an edit begins, in a line."""
    if edit.whole is not None:
        text = f"{edit.file}: {edit.whole}"
    elif edit.adds:
        text = ("+ " if not edit.removes else "~ ") + " ".join(passage.text for passage in edit.adds)
    else:
        text = "- " + " ".join(key.partition(": ")[2] for key in edit.removes)
    line = redact(" ".join(text.split()))
    return line if len(line) <= TEXT_CHARS else f"{line[: TEXT_CHARS - 1].rstrip()}…"
