"""What earlier ideas taught, as later proposals are told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from evolve.gate.metrics import counted
from evolve.propose.bundle.told import Told
from evolve.propose.edits import Edit
from evolve.records.archive import Fate, Learning

TOLD = 12
OF_A_MODEL = frozenset(("reflect", "compress", "sharpen"))
"""Operators whose refusals teach: the others have nothing to propose, or propose what was there before."""
IDEA_CHARS = 300
OUTCOMES: dict[Fate, Literal["refused", "kept", "promoted"]] = {
    "refused": "refused",
    "screened-out": "refused",
    "not-selected": "refused",
    "unproven": "kept",
    "proven": "promoted",
}


def relevant(learnings: Iterable[Learning], skill: str) -> tuple[Told, ...]:
    """Return what was learnt about a skill, the oldest first, as far as it is worth telling: each idea once."""
    newest: dict[tuple[str, str], Learning] = {}
    for learning in learnings:
        if learning.skill == skill and (learning.fate != "refused" or learning.operator in OF_A_MODEL):
            newest.pop((learning.operator, learning.idea), None)
            newest[learning.operator, learning.idea] = learning
    return tuple(
        Told(one.idea, one.operator, OUTCOMES[one.fate], one.reason, one.numbers)
        for one in list(newest.values())[-TOLD:]
    )


def idea_of(rationale: str, edits: Sequence[Edit]) -> str:
    """Return a candidate's idea in a line: why it was made, and how what it adds begins."""
    added = [" ".join(passage.text.split()) for edit in edits for passage in edit.adds]
    taken = sum(len(edit.removes) for edit in edits)
    said = [" ".join(rationale.split())] if rationale.strip() else []
    said += [f"Adds: {' / '.join(added)}"] if added else []
    said += [f"Takes out {counted(taken, 'passage', 'passages')}."] if taken and not added else []
    text = " ".join(said) or "A change of other files."
    return text if len(text) <= IDEA_CHARS else f"{text[: IDEA_CHARS - 1].rstrip()}…"
