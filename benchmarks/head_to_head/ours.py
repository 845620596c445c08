"""The searches of evolve in the world of rules, killed and restored where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from time import perf_counter

from benchmarks.head_to_head.world import (
    SEED_TEXT,
    Chosen,
    Contest,
    Evaluator,
    Outcome,
    Proposer,
    outcome_of,
)
from evolve.propose import edits, passages
from evolve.propose.edits import Edit, edits_of, with_edits
from evolve.propose.search.baselines import mean_of
from evolve.propose.search.drive import Made, NotMade, Scores, carry_out
from evolve.propose.search.engine import new_checkpoint
from evolve.propose.search.knowledge import INCUMBENT
from evolve.propose.search.strategies import begun, restored
from evolve.records.search import Checkpoint, SearchSettings, Step, Strategy
from evolve.skills import SKILL_FILE, Skill
from evolve.snapshot import Snapshot
from evolve.stats.multiplicity import alpha_at
from evolve.stats.paired import sign_flip

LEVEL = alpha_at(1, 0.05)
SEARCH_SHARE = 0.8
ASKS = 50
FRONT = "---\nname: rules\ndescription: Rules.\n---\n"
BASELINES: tuple[Strategy, ...] = ("hill-climb", "paired-hill-climb", "best-of-n")


class Killed(Exception):
    """The process is gone, and with it all that was not kept."""


def forget() -> None:
    """Empty the caches of this process, so that no search is quicker for those before it."""
    for cached in (edits._id_of, passages._blocks_of, passages.passages_of):
        cached.cache_clear()


def skill_of(text: str) -> Skill:
    """Return a text as a skill."""
    return Skill("rules", "skills/rules", Snapshot.of_texts({SKILL_FILE: f"{FRONT}\n{text}\n"}))


@dataclass
class RuleHands:
    """Makes and measures; what is on disk outlives a kill: the texts, their edits, and each settled evaluation.

    Args:
        evaluator: Whom to measure by.
        proposer: Whom to ask for changes.
        insist: Whether to ask again for a text that differs from its parent, up to 50 times.
        heartbeat: Called before each evaluation and each proposal; what it raises kills the search there.

    """

    evaluator: Evaluator
    proposer: Proposer
    insist: bool = False
    heartbeat: Callable[[], None] | None = None
    texts: dict[str, str] = field(default_factory=lambda: {INCUMBENT: SEED_TEXT})
    edits: dict[str, Edit] = field(default_factory=dict)
    failed: dict[str, list[int]] = field(default_factory=dict)
    _edits: dict[str, tuple[Edit, ...]] = field(default_factory=dict)
    _proposals: dict[int, str] = field(default_factory=dict)
    _settled: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._base = skill_of(SEED_TEXT)

    def make(self, step: Step) -> Made | NotMade:
        """Make the candidate that a step asks for."""
        if step.kind == "compose":
            chosen = tuple(self.edits[edit] for edit in step.edits)
            return self._made(with_edits(self._base, chosen)[SKILL_FILE].removeprefix(FRONT).strip(), chosen)
        parent = self.texts[step.parents[0]]
        text = self._proposals.get(step.number)
        if text is None:
            text = self._proposed(parent, step.parents[0])
            self._proposals[step.number] = text
        if text in (parent, SEED_TEXT):
            return NotMade("nothing new")
        found = self._edits.get(text)
        if found is None:
            found = self._edits[text] = edits_of(self._base, skill_of(text))
        return self._made(text, found)

    def _proposed(self, parent: str, name: str) -> str:
        failed = self.failed.get(name) or [task for tasks in self.failed.values() for task in tasks]
        text = parent
        for _ in range(ASKS if self.insist else 1):
            self._beat()
            text = self.proposer.propose(parent, failed)
            if text not in (parent, SEED_TEXT):
                break
        return text

    def _made(self, text: str, found: tuple[Edit, ...]) -> Made:
        for edit in found:
            self.edits.setdefault(edit.id, edit)
        name = " ".join(sorted(edit.id for edit in found))
        self.texts.setdefault(name, text)
        return Made(name, found, sum(edit.tokens for edit in found))

    def measure(self, step: Step) -> Scores:
        """Measure the candidates of a step; evaluations that were settled before a kill are not made again."""
        names = (None, *step.candidates) if step.beside else step.candidates
        tasks = [int(task) for task in step.tasks]
        return {name: self._measured(step.batch, name or INCUMBENT, tasks) for name in names}

    def _measured(self, batch: str, name: str, tasks: list[int]) -> list[float]:
        settled = self._settled.get((batch, name))
        if settled is None:
            self._beat()
            settled = self.evaluator.scores(self.texts[name], tasks)
            self._settled[batch, name] = settled
            failures = self.failed.setdefault(name, [])
            failures += [task for task, score in zip(tasks, settled, strict=True) if score == 0]
        return settled

    def _beat(self) -> None:
        if self.heartbeat is not None:
            self.heartbeat()


def settings_of(contest: Contest) -> SearchSettings:
    """Return how our search is set: most of the budget, the rest being kept to confirm its winner."""
    return SearchSettings(
        rounds=1000,
        population=4,
        recombine=4,
        minibatch=6 if contest.sizes.budget >= 6000 else 3,
        rungs=2,
        evaluations=int(contest.sizes.budget * SEARCH_SHARE),
        proposals=100,
    )


@dataclass(frozen=True)
class Ran:
    """A search of ours that came to its end: what it came to, its last state, and how often it was killed."""

    outcome: Outcome
    state: Checkpoint
    kills: int = 0


def run_ours(contest: Contest, deaths: Random | None = None) -> Ran:
    """Search on train tasks, then confirm the winner beside the incumbent on the validation tasks.

    Args:
        contest: What every search is given.
        deaths: If given, kills the search about every twentieth call; it is restored from what was kept last.

    """
    forget()
    evaluator, proposer = _outside("evolve", contest)
    begin = perf_counter()
    hands = RuleHands(evaluator, proposer)
    state = new_checkpoint(settings_of(contest), [str(task) for task in contest.split.train], ["reflect"], contest.seed)
    end, last, kills = _carried_out(state, hands) if deaths is None else _killed(state, hands, deaths)
    candidate = hands.texts[end.candidates[0]] if end.candidates else None
    chosen = confirmed(candidate, contest, evaluator)
    wall = perf_counter() - begin
    return Ran(outcome_of("evolve", contest, chosen, evaluator.meter, proposer.meter, wall), last, kills)


def _outside(name: str, contest: Contest) -> tuple[Evaluator, Proposer]:
    stream = f"{name} {contest.seed}"
    return Evaluator(contest.world, stream), Proposer(contest.world, stream)


def _carried_out(state: Checkpoint, hands: RuleHands) -> tuple[Step, Checkpoint, int]:
    search = begun(state)
    return carry_out(search, hands), search.checkpoint(), 0


def _killed(state: Checkpoint, hands: RuleHands, deaths: Random) -> tuple[Step, Checkpoint, int]:
    """Carry a search out through kills, each time restored from the canonical bytes of its last state."""
    kept = begun(state).checkpoint().canonical()

    def heartbeat() -> None:
        if deaths.random() < 0.05:
            raise Killed

    def keep(state: Checkpoint) -> None:
        nonlocal kept
        heartbeat()
        kept = state.canonical()

    kills = 0
    hands.heartbeat = heartbeat
    while True:
        search = restored(Checkpoint.model_validate_json(kept))
        try:
            return carry_out(search, hands, keep), search.checkpoint(), kills
        except Killed:
            kills += 1


def confirmed(candidate: str | None, contest: Contest, evaluator: Evaluator) -> Chosen:
    """Measure a candidate and the incumbent afresh; a gain is claimed if an exact test of the pairs allows it."""
    tasks = contest.split.validation
    runs = max(1, (contest.sizes.budget - evaluator.meter.count) // (2 * len(tasks)))
    incumbent = _solved(SEED_TEXT, tasks, runs, evaluator)
    base = sum(incumbent) / len(tasks) / runs
    if candidate is None:
        return Chosen(SEED_TEXT, base, base, claims=False)
    solved = _solved(candidate, tasks, runs, evaluator)
    differences = [ours - theirs for ours, theirs in zip(solved, incumbent, strict=True)]
    if sign_flip(differences, "greater").p_value > LEVEL:
        return Chosen(SEED_TEXT, base, base, claims=False)
    return Chosen(candidate, sum(solved) / len(tasks) / runs, base, claims=True)


def _solved(text: str, tasks: tuple[int, ...], runs: int, evaluator: Evaluator) -> list[float]:
    """Return how often each task was solved."""
    sweeps = [evaluator.scores(text, tasks) for _ in range(runs)]
    return [sum(scores) for scores in zip(*sweeps, strict=True)]


def run_baseline(strategy: Strategy, contest: Contest) -> Outcome:
    """Search on the validation tasks by a simple rule, and report the score that was selected on."""
    forget()
    evaluator, proposer = _outside(strategy, contest)
    begin = perf_counter()
    hands = RuleHands(evaluator, proposer, insist=True)
    tasks = [str(task) for task in contest.split.validation]
    most = 5 * contest.sizes.budget // len(tasks)
    settings = SearchSettings(strategy=strategy, rounds=1000, evaluations=contest.sizes.budget, proposals=most)
    search = begun(new_checkpoint(settings, tasks, ["reflect"], contest.seed))
    end = carry_out(search, hands)
    wall = perf_counter() - begin
    seen = search.checkpoint().seen
    champion = end.candidates[0] if end.candidates else None
    base = next(mean_of(one) for one in seen if one.candidate is None)
    reported = next(mean_of(one) for one in reversed(seen) if one.candidate == champion)
    chosen = Chosen(hands.texts[champion or INCUMBENT], reported, base, claims=reported > base)
    return outcome_of(strategy, contest, chosen, evaluator.meter, proposer.meter, wall)
