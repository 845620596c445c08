"""The search: says what it wants next and is told what came of it; everything it knows is in its checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

from evolve.propose.edits import Edit
from evolve.propose.search import bandit
from evolve.propose.search.drive import Scores
from evolve.propose.search.halving import affordable, kept, tasks_of_rung
from evolve.propose.search.knowledge import INCUMBENT, Knowledge
from evolve.propose.search.pareto import draw
from evolve.records.search import Checkpoint, OperatorState, SearchSettings, Seen, Step, Tried

IDLE_ROUNDS = 3
MERGE = "merge"


class EvolutionarySearch:
    """Rounds of proposals and of recombinations, each screened by successive halving beside the incumbent.

    Parents are drawn from the Pareto frontier, operators by a bandit. What the edits of all candidates earned is learnt
    from all cells together (:class:`AdditiveModel`); recombinations take each edit by a draw of its effect, so that the
    better an edit, the more often it is measured.
    """

    def __init__(self, state: Checkpoint) -> None:
        self._settings = state.settings
        self._tasks = state.tasks
        self._random = Random()
        self._random.setstate((3, state.random_state, state.next_normal))
        self._deck = list(state.deck)
        self._round, self._rung, self._batches = state.round, state.rung, state.batches
        self._evaluations, self._proposals = state.evaluations, state.proposals
        self._idle_rounds = state.idle_rounds
        self._queue, self._pending = list(state.queue), state.pending
        self._made, self._field, self._champion = list(state.made), list(state.field), state.champion
        self._operators = state.operators
        self._spent = set(state.spent)
        self.known = Knowledge(state)

    @property
    def step(self) -> Step:
        """What it wants next."""
        return self._pending

    def checkpoint(self) -> Checkpoint:
        """Return its whole state."""
        _, random_state, next_normal = self._random.getstate()
        return Checkpoint(
            settings=self._settings,
            tasks=self._tasks,
            random_state=random_state,
            next_normal=next_normal,
            deck=tuple(self._deck),
            round=self._round,
            rung=self._rung,
            batches=self._batches,
            evaluations=self._evaluations,
            proposals=self._proposals,
            idle_rounds=self._idle_rounds,
            queue=tuple(self._queue),
            pending=self._pending,
            made=tuple(self._made),
            field=tuple(self._field),
            champion=self._champion,
            candidates=tuple(self.known.candidates.values()),
            edits=tuple(self.known.edits.values()),
            seen=tuple(self.known.seen),
            operators=self._operators,
            spent=tuple(sorted(self._spent)),
        )

    def told_candidate(self, candidate: Tried, edits: Sequence[Edit]) -> None:
        """Hear of the candidate that was asked for."""
        step = self._pending
        new = candidate.id not in self.known.candidates
        self.known.add(candidate, edits)
        if step.kind == "propose":
            self._made.append(candidate.id)
        if step.kind == "compose" and step.number == 0:
            self._champion = candidate.id
        if new or step.kind == "compose":
            self._enter(candidate.id)
        self._go_on()

    def _enter(self, candidate: str) -> None:
        if candidate not in self._field:
            self._field.append(candidate)

    def told_refused(self, *, for_good: bool) -> None:
        """Hear that there is none, and whether asking the operator again from these parents would be in vain."""
        step = self._pending
        if step.kind == "propose":
            self._operators = bandit.refused(self._operators, step.operator)
            if for_good:
                self._spent.add(_road(step.operator, step.parents))
        self._go_on()

    def told_scores(self, scores: Scores) -> None:
        """Hear the score of each candidate, and of the incumbent (``None``), on each task; unmeasured is ``None``."""
        step = self._pending
        self.known.observe(
            [
                Seen(candidate=name, batch=step.batch, tasks=step.tasks, scores=tuple(scores[name]))
                for name in (None, *step.candidates)
            ]
        )
        self._evaluations += len(step.tasks) * (1 + len(step.candidates))
        ranked = self.known.ranked(self._field)
        self._field = ranked[: kept(len(ranked))]
        self._rung += 1
        self._go_on()

    def begin(self) -> None:
        """Take the first step."""
        self._begin_round()
        self._go_on()

    def _begin_round(self) -> None:
        self._round += 1
        self._rung, self._made, self._field = 0, [], []
        self._queue = [
            Step(kind="propose", round=self._round, number=number) for number in range(self._proposals_now())
        ]
        if self.known.seen or self._queue:
            self._queue += [
                Step(kind="compose", round=self._round, number=number) for number in range(1 + self._settings.recombine)
            ]

    def _proposals_now(self) -> int:
        limit = self._settings.proposals
        left = self._settings.population if limit is None else limit - self._proposals
        return max(0, min(self._settings.population, left))

    def _go_on(self) -> None:
        """Find the next step."""
        while True:
            while self._queue:
                step = self._filled(self._queue.pop(0))
                if step is not None:
                    self._pending = step
                    return
            batch = self._next_batch()
            if batch is not None:
                self._pending = batch
                return
            self._end_round()
            if reason := self._why_over():
                ranked = self.known.ranked([*self._field, *([self._champion] if self._champion else [])], positive=True)
                self._pending = Step(kind="finish", candidates=tuple(ranked), reason=reason)
                return
            self._begin_round()

    def _filled(self, step: Step) -> Step | None:
        """Return a step of the queue with what is known by now; ``None`` when there is nothing to ask for."""
        if step.kind == "propose":
            return self._proposal(step.number)
        edits = self._recombination(step.number)
        if not edits:
            return None
        same = self.known.with_edits(edits)
        if same is None:
            return Step(kind="compose", round=step.round, number=step.number, operator=MERGE, edits=edits)
        if step.number == 0:
            self._champion = same
        self._enter(same)
        return None

    def _proposal(self, number: int) -> Step | None:
        weights = self.known.parents()
        parents: tuple[str, ...] = (draw(weights, self._random.random()),)
        others = {name: weight for name, weight in weights.items() if name not in (*parents, INCUMBENT)}
        able = [
            state
            for state in self._operators
            if _road(state.operator, parents) not in self._spent
            and (state.operator != MERGE or (others and INCUMBENT not in parents))
        ]
        if not able:
            return None
        operator = bandit.choose(able, self._random.betavariate)
        self._operators = bandit.asked(self._operators, operator)
        self._proposals += 1
        if operator == MERGE:
            parents = (*parents, draw(others, self._random.random()))
        return Step(kind="propose", round=self._round, number=self._proposals, operator=operator, parents=parents)

    def _recombination(self, number: int) -> tuple[str, ...]:
        """Return edits to take together: by what is expected of each, or by a draw of it."""
        if number == 0:
            return self.known.worth_taking(self.known.model.means()) if self.known.seen else ()
        return self.known.worth_taking(self.known.model.draw(partial(self._random.gauss, 0.0, 1.0)))

    def _next_batch(self) -> Step | None:
        if self._rung >= self._settings.rungs or not self._field:
            return None
        limit = self._settings.evaluations
        left = None if limit is None else limit - self._evaluations
        count = affordable(left, len(self._field) + 1, tasks_of_rung(self._settings.minibatch, self._rung))
        if count < 1:
            return None
        self._batches += 1
        return Step(
            kind="measure",
            round=self._round,
            number=self._batches,
            candidates=tuple(self._field),
            tasks=self._dealt(min(count, len(self._tasks))),
            batch=f"{self._round}.{self._rung + 1}",
        )

    def _dealt(self, count: int) -> tuple[str, ...]:
        """Deal tasks, each once before any comes twice, none twice in one batch."""
        dealt: list[str] = []
        while len(dealt) < count:
            if not self._deck:
                self._deck = self._random.sample(self._tasks, len(self._tasks))
            card = next((task for task in reversed(self._deck) if task not in dealt), None)
            if card is None:
                fresh = [task for task in self._tasks if task not in dealt]
                self._deck = [*self._random.sample(fresh, len(fresh)), *self._deck]
                card = next(task for task in reversed(self._deck) if task not in dealt)
            self._deck.remove(card)
            dealt.append(card)
        return tuple(dealt)

    def _end_round(self) -> None:
        for name in self._made:
            candidate = self.known.candidates[name]
            chance = self.known.chance_better(candidate)
            if chance is not None:
                self._operators = bandit.rewarded(self._operators, candidate.operator, chance)
        self._idle_rounds = 0 if self._rung else self._idle_rounds + 1

    def _why_over(self) -> str | None:
        limit, settings = self._settings.evaluations, self._settings
        if self._round >= settings.rounds:
            return f"{self._round} rounds were made"
        if limit is not None and limit - self._evaluations < 2:
            return f"{self._evaluations} evaluations were made"
        if self._idle_rounds >= IDLE_ROUNDS:
            return "there is nothing new to measure"
        return None


def _road(operator: str, parents: Sequence[str]) -> str:
    return f"{operator} < {' '.join(parents)}"


def new_checkpoint(
    settings: SearchSettings, tasks: Sequence[str], operators: Sequence[str | OperatorState], seed: int | str
) -> Checkpoint:
    """Return the state of a search that has not begun."""
    random = Random(seed)
    _, random_state, next_normal = random.getstate()
    states = tuple(o if isinstance(o, OperatorState) else OperatorState(operator=o) for o in operators)
    return Checkpoint(
        settings=settings,
        tasks=tuple(tasks),
        random_state=random_state,
        next_normal=next_normal,
        pending=Step(kind="finish"),
        operators=states,
    )
