"""Doing what a search asks for, step by step, its state kept after each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from evolve.propose.edits import Edit
from evolve.records.search import Checkpoint, Step, Tried


@dataclass(frozen=True)
class Made:
    """A candidate: its id, its edits against the incumbent, and how many resident tokens it has more."""

    id: str
    edits: tuple[Edit, ...]
    tokens: int


@dataclass(frozen=True)
class NotMade:
    """Why there is no candidate; ``for_good``: the same operator has none for the same parents either."""

    reason: str
    for_good: bool = False


Scores = Mapping[str | None, Sequence[float | None]]


class Search(Protocol):
    """A search: after each thing that it is told it has another step."""

    @property
    def step(self) -> Step:
        """What it wants next."""
        ...

    def begin(self) -> None:
        """Take the first step."""
        ...

    def told_candidate(self, candidate: Tried, edits: Sequence[Edit]) -> None:
        """Hear of the candidate that was asked for."""
        ...

    def told_refused(self, *, for_good: bool) -> None:
        """Hear that there is none, and whether asking again would be in vain."""
        ...

    def told_scores(self, scores: Scores) -> None:
        """Hear each score by candidate (``None``: the incumbent) and task, in order; ``None`` is unmeasured."""
        ...

    def checkpoint(self) -> Checkpoint:
        """Return its whole state."""
        ...


class Hands(Protocol):
    """Who makes candidates and measures them."""

    def make(self, step: Step) -> Made | NotMade:
        """Make the candidate that a ``propose`` or ``compose`` step asks for."""
        ...

    def measure(self, step: Step) -> Scores:
        """Measure the candidates of a step, and the incumbent beside them if the step says so."""
        ...


def carry_out(search: Search, hands: Hands, keep: Callable[[Checkpoint], None] | None = None) -> Step:
    """Take a search from where it stands to its end, and return its last step.

    Args:
        search: The search.
        hands: Who does what it asks for; what they raise ends the search where it stands.
        keep: Told the state after each step.

    """
    while (step := search.step).kind != "finish":
        if step.kind == "measure":
            search.told_scores(hands.measure(step))
        else:
            made = hands.make(step)
            if isinstance(made, NotMade):
                search.told_refused(for_good=made.for_good)
            else:
                search.told_candidate(tried(step, made), made.edits)
        if keep is not None:
            keep(search.checkpoint())
    return step


def tried(step: Step, made: Made) -> Tried:
    """Return a candidate as a search records it."""
    return Tried(
        id=made.id,
        operator=step.operator,
        parents=step.parents,
        edits=tuple(edit.id for edit in made.edits),
        tokens=made.tokens,
        round=step.round,
    )
