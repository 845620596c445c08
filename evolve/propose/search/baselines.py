"""Searches to measure every other by: the best of independent proposals, and hill-climbing."""

from __future__ import annotations

from collections.abc import Sequence

from evolve.propose.edits import Edit
from evolve.propose.search.drive import Scores
from evolve.propose.search.knowledge import INCUMBENT
from evolve.records.search import Checkpoint, Seen, Step, Tried


class _Baseline:
    """One proposal after the other, each measured on all tasks, operators asked in turn."""

    def __init__(self, state: Checkpoint) -> None:
        self._state = state

    @property
    def step(self) -> Step:
        """What it wants next."""
        return self._state.pending

    def checkpoint(self) -> Checkpoint:
        """Return its whole state."""
        return self._state

    def begin(self) -> None:
        """Take the first step."""
        self._ask()

    def told_candidate(self, candidate: Tried, edits: Sequence[Edit]) -> None:
        """Hear of the candidate that was asked for."""
        state = self._state
        if any(one.id == candidate.id for one in state.candidates):
            self._ask()
            return
        self._change(candidates=(*state.candidates, candidate))
        beside = self._beside()
        arms = (*self._rivals(), candidate.id)
        limit = state.settings.evaluations
        cells = len(state.tasks) * (len(arms) + beside)
        if limit is not None and state.evaluations + cells > limit:
            self._finish(f"{state.evaluations} evaluations were made")
            return
        number = state.batches + 1
        step = Step(kind="measure", number=number, candidates=arms, tasks=state.tasks, batch=str(number), beside=beside)
        self._change(batches=number, pending=step)

    def told_refused(self, *, for_good: bool) -> None:
        """Hear that there is none; the next operator is asked."""
        step = self._state.pending
        if for_good:
            self._change(spent=(*self._state.spent, f"{step.operator} < {' '.join(step.parents)}"))
        self._ask(idle=self._state.idle_rounds + 1)

    def told_scores(self, scores: Scores) -> None:
        """Hear the score of the candidate, and of the incumbent (``None``), on each task."""
        state, step = self._state, self._state.pending
        arms = (None, *step.candidates) if step.beside else step.candidates
        seen = tuple(
            Seen(candidate=name, batch=step.batch, tasks=step.tasks, scores=tuple(scores[name])) for name in arms
        )
        evaluations = state.evaluations + len(step.tasks) * len(arms)
        self._change(seen=(*state.seen, *seen), evaluations=evaluations)
        candidate = step.candidates[-1]
        if self._mean_of(candidate) > self._mean_of(self._state.champion):
            self._change(champion=candidate)
        self._ask()

    def _beside(self) -> bool:
        """Whether the incumbent is measured too: once is enough for a rule that asks no more."""
        return not self._state.seen

    def _rivals(self) -> tuple[str, ...]:
        """Return who is measured again beside the next candidate."""
        return ()

    def _parent(self) -> str:
        return INCUMBENT

    def _ask(self, idle: int = 0) -> None:
        state = self._state
        most = state.settings.proposals or state.settings.rounds * state.settings.population
        if state.proposals >= most:
            self._finish(f"{state.proposals} proposals were made")
            return
        if idle >= 3 * len(state.operators):
            self._finish("no operator has anything new to propose")
            return
        names = [one.operator for one in state.operators if f"{one.operator} < {self._parent()}" not in state.spent]
        if not names:
            self._finish("no operator has anything new to propose")
            return
        number = state.proposals + 1
        operator = names[state.proposals % len(names)]
        step = Step(kind="propose", number=number, operator=operator, parents=(self._parent(),))
        self._change(proposals=number, idle_rounds=idle, pending=step)

    def _finish(self, reason: str) -> None:
        champion = self._state.champion
        self._change(pending=Step(kind="finish", candidates=(champion,) if champion else (), reason=reason))

    def _change(self, **fields: object) -> None:
        self._state = self._state.model_copy(update=fields)

    def _mean_of(self, name: str | None) -> float:
        """Return the mean of the scores that a text had when they were last measured."""
        return mean_of(next(seen for seen in reversed(self._state.seen) if seen.candidate == name))


def mean_of(seen: Seen) -> float:
    """Return the mean score; a cell that could not be measured scored nothing."""
    return sum(score or 0.0 for score in seen.scores) / len(seen.scores)


class BestOfN(_Baseline):
    """Independent proposals from the incumbent; the highest mean score wins."""


class HillClimb(_Baseline):
    """Each proposal from the best so far, which it replaces when its mean is strictly above that one's first."""

    def _parent(self) -> str:
        return self._state.champion or INCUMBENT


class PairedHillClimb(HillClimb):
    """Hill-climbing where the best so far is measured again beside each proposal."""

    def _beside(self) -> bool:
        return self._state.champion is None

    def _rivals(self) -> tuple[str, ...]:
        return () if self._state.champion is None else (self._state.champion,)
