"""What a search knows: its candidates, what each cell scored, and what that says of every edit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evolve.propose.edits import Edit
from evolve.propose.search.pareto import frontier
from evolve.propose.search.task_scores import TaskScores
from evolve.records.search import Checkpoint, EditFacts, Seen, Tried
from evolve.stats.additive import AdditiveModel, CellScore, added

INCUMBENT = "incumbent"


class Knowledge:
    """Candidates and scores, and the additive model of them."""

    def __init__(self, state: Checkpoint) -> None:
        self.candidates = {candidate.id: candidate for candidate in state.candidates}
        self.edits = {edit.id: edit for edit in state.edits}
        self.model = AdditiveModel(state.tasks)
        self.seen: list[Seen] = []
        self._price = state.settings.token_price
        self._costs = {edit.id: self._price * edit.tokens for edit in state.edits}
        # What is added alone is in conflict with nothing.
        self._replacing = [edit.id for edit in state.edits if edit.slots]
        self._scores = TaskScores(state.tasks)
        self._scores.know(INCUMBENT)
        self._parents: dict[str, int] | None = None
        self._by_edits = {frozenset(c.edits): c.id for c in state.candidates}
        # Edits are known in the order in which they were heard of, so that a restored search computes alike.
        self.model.know(self.edits)
        batch: list[Seen] = []
        for seen in state.seen:
            if batch and seen.batch != batch[0].batch:
                self.observe(batch)
                batch = []
            batch.append(seen)
        if batch:
            self.observe(batch)

    def add(self, candidate: Tried, edits: Sequence[Edit]) -> None:
        """Take a candidate in."""
        self.candidates.setdefault(candidate.id, candidate)
        self._by_edits.setdefault(frozenset(candidate.edits), candidate.id)
        for edit in edits:
            if edit.id not in self.edits:
                self.edits[edit.id] = facts_of(edit)
                self._costs[edit.id] = self._price * edit.tokens
                if edit.slots:
                    self._replacing.append(edit.id)
        self.model.know(candidate.edits)

    def with_edits(self, edits: Iterable[str]) -> str | None:
        """Return the candidate that has these edits and no others, if there is one."""
        return self._by_edits.get(frozenset(edits))

    def observe(self, batch: Sequence[Seen]) -> None:
        """Take the scores of one whole batch in."""
        self.seen += batch
        cells: list[CellScore] = []
        for seen in batch:
            candidate = None if seen.candidate is None else self.candidates[seen.candidate]
            edits, tokens = ((), 0) if candidate is None else (candidate.edits, candidate.tokens)
            measured = [
                CellScore(task, edits, score)
                for task, score in zip(seen.tasks, seen.scores, strict=True)
                if score is not None
            ]
            if measured:
                cells += measured
                self._scores.add(self._scores.know(seen.candidate or INCUMBENT, edits, tokens), measured)
        if cells:
            self.model.observe(cells)
        self._parents = None

    def worth_taking(self, effects: Mapping[str, float]) -> tuple[str, ...]:
        """Return the edits whose effect pays for their tokens; of those in conflict, the one that pays most."""
        worth = {edit: effects[edit] - cost for edit, cost in self._costs.items()}
        paying = sorted((-worth[edit], edit) for edit in self._replacing if worth[edit] > 0)
        taken: set[str] = set()
        left_out = set()
        for _, edit in paying:
            slots = self.edits[edit].slots
            if taken.isdisjoint(slots):
                taken.update(slots)
            else:
                left_out.add(edit)
        return tuple(edit for edit, value in worth.items() if value > 0 and edit not in left_out)

    def value(self, candidate: Tried) -> float:
        """Return what a candidate is expected to earn over the incumbent, less the price of its text."""
        return added(self.model.means(), candidate.edits) - self._price * candidate.tokens

    def ranked(self, names: Sequence[str], *, positive: bool = False) -> list[str]:
        """Return candidates by their value, the best first, each once; with ``positive``, those above the incumbent."""
        means = self.model.means()
        found = {name: self.candidates[name] for name in names}
        values = {name: added(means, one.edits) - self._price * one.tokens for name, one in found.items()}
        able = [name for name in values if values[name] > 0 or not positive]
        return sorted(able, key=lambda name: (-values[name], found[name].tokens, name))

    def chance_better(self, candidate: Tried) -> float | None:
        """Return the probability that a candidate is better than its first parent; ``None`` if nothing was measured."""
        if not self.seen:
            return None
        parent = self.candidates.get(candidate.parents[0]) if candidate.parents else None
        before = parent.edits if parent else ()
        new = [edit for edit in candidate.edits if edit not in before]
        gone = [edit for edit in before if edit not in candidate.edits]
        return self.model.chance_above(new, gone)

    def parents(self) -> dict[str, int]:
        """Return who may be proposed from, with weights: the frontier over scores by task and resident tokens.

        A score by task is the mean of what was measured, drawn towards what the model expects of the candidate.
        """
        if not self.seen:
            return {INCUMBENT: 1}
        if self._parents is None:
            self._parents = self._frontier()
        return self._parents

    def _frontier(self) -> dict[str, int]:
        scores = self._scores.drawn_towards(list(self.model.base().values()), self.model.means())
        return frontier(self._scores.names, scores, self._scores.tokens)


def facts_of(edit: Edit) -> EditFacts:
    """Return what a search needs to know of an edit."""
    return EditFacts(id=edit.id, tokens=edit.tokens, slots=tuple(sorted(edit.slots)))
