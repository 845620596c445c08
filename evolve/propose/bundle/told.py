"""What became of earlier ideas, as a proposer is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Told:
    """An earlier idea and what became of it.

    Args:
        idea: What it was, in a sentence.
        operator: Who had it.
        outcome: refused: never measured, or not better; kept: better in the search; promoted: proven and committed.
        reason: Why.
        numbers: What was measured, as ``train 3/5, selection 4/10``.

    """

    idea: str
    operator: str
    outcome: Literal["refused", "kept", "promoted"]
    reason: str = ""
    numbers: str = ""
