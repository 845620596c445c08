"""A world of rules whose true scores are known, its counted evaluator and its scripted proposer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from time import perf_counter

HELPFUL, NEUTRAL, HARMFUL = 12, 20, 6
TASKS = 400
SEED_TEXT = "# SKILL"
_RULE = re.compile(r"^- RULE (\w+)$", re.MULTILINE)


def rules_of(text: str) -> tuple[str, ...]:
    """Return the rules of a text, each once."""
    return tuple(dict.fromkeys(_RULE.findall(text)))


def text_of(rules: Sequence[str]) -> str:
    """Return the text that holds some rules."""
    return "\n".join([SEED_TEXT, "", *(f"- RULE {rule}" for rule in rules)]) if rules else SEED_TEXT


@dataclass(frozen=True)
class World:
    """Tasks that need two helpful rules each; a harmful rule, and every line, lowers the chance of success.

    Args:
        seed: Which rules the tasks need and how hard they are.
        null: Every text succeeds with probability one half.

    """

    seed: int
    null: bool = False
    needs: tuple[tuple[int, int], ...] = field(init=False)
    ease: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        random = Random(f"world {self.seed}")
        pairs = [random.sample(range(HELPFUL), 2) for _ in range(TASKS)]
        object.__setattr__(self, "needs", tuple((first, second) for first, second in pairs))
        object.__setattr__(self, "ease", tuple(random.uniform(-0.15, 0.15) for _ in range(TASKS)))

    def chance(self, task: int, rules: Sequence[str]) -> float:
        """Return the probability that a task is solved with some rules."""
        if self.null:
            return 0.5
        present = sum(f"r{need}" in rules for need in self.needs[task]) / 2
        harms = sum(rule.startswith("h") for rule in rules)
        chance = 0.25 + self.ease[task] + 0.6 * present - 0.08 * harms - 0.006 * len(rules)
        return min(0.98, max(0.02, chance))

    def true_score(self, text: str, tasks: Sequence[int]) -> float:
        """Return what a text is worth: the mean chance over some tasks."""
        rules = rules_of(text)
        return sum(self.chance(task, rules) for task in tasks) / len(tasks)


@dataclass(frozen=True)
class Sizes:
    """How many evaluations a search may make, and how many tasks it may train and be validated on."""

    budget: int
    train: int
    validation: int


@dataclass(frozen=True)
class Split:
    """Tasks by what they are for; no search is told anything about those of ``test``."""

    train: tuple[int, ...]
    validation: tuple[int, ...]
    test: tuple[int, ...]


def split_of(seed: int, sizes: Sizes) -> Split:
    """Return the split that every search of a seed is given."""
    tasks = Random(f"split {seed}").sample(range(TASKS), TASKS)
    end = sizes.train + sizes.validation
    return Split(tuple(tasks[: sizes.train]), tuple(tasks[sizes.train : end]), tuple(tasks[end:]))


@dataclass
class Meter:
    """How often something outside of a search was called, and how long that took."""

    count: int = 0
    seconds: float = 0.0

    @contextmanager
    def running(self, count: int = 1) -> Iterator[None]:
        """Count some calls and the time until they are done."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.count += count
            self.seconds += perf_counter() - begun


@dataclass
class Evaluator:
    """Solves tasks with a text: one independent draw an evaluation, no draw shared between texts."""

    world: World
    stream: str
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        self._random = Random(f"draws {self.stream}")

    def scores(self, text: str, tasks: Sequence[int]) -> list[float]:
        """Return 1.0 or 0.0 a task."""
        with self.meter.running(len(tasks)):
            rules = rules_of(text)
            return [float(self._random.random() < self.world.chance(task, rules)) for task in tasks]


@dataclass
class Proposer:
    """Changes one line: adds a helpful rule (45 %), a harmful one (20 %), takes one out (15 %), or adds a neutral one.

    A helpful rule is one that a failed task needs; where no failure is known, any.
    """

    world: World
    stream: str
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        self._random = Random(f"proposals {self.stream}")

    def propose(self, text: str, failed: Sequence[int]) -> str:
        """Return a changed text; now and then it is the same, as when a rule is there already."""
        with self.meter.running():
            rules = list(rules_of(text))
            random = self._random
            mark = random.random()
            if 0.65 <= mark < 0.8 and rules:
                rules.remove(random.choice(rules))
                return text_of(rules)
            if mark < 0.45:
                needs = self.world.needs[random.choice(failed)] if failed else range(HELPFUL)
                new = f"r{random.choice(needs)}"
            elif mark < 0.65:
                new = f"h{random.randrange(HARMFUL)}"
            else:
                new = f"d{random.randrange(NEUTRAL)}"
            return text_of([*rules, new] if new not in rules else rules)


@dataclass(frozen=True)
class Contest:
    """What every search of one seed is given."""

    seed: int
    sizes: Sizes
    null: bool = False
    world: World = field(init=False)
    split: Split = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "world", World(self.seed, self.null))
        object.__setattr__(self, "split", split_of(self.seed, self.sizes))


@dataclass(frozen=True)
class Outcome:
    """What a search came to.

    Args:
        name: The search.
        seed: The world, the split and all draws.
        winner: The text that it chose.
        reported: The score that it says the winner has.
        seed_reported: The score that it says the text which it began with has.
        claims: Whether it says that the winner is better than that text.
        true: What the winner is worth on the test tasks.
        evaluations: Tasks that were solved with any text.
        proposals: Times that the proposer was called.
        wall_s: Seconds from beginning to end.
        harness_s: Of these, those spent neither in the evaluator nor in the proposer.

    """

    name: str
    seed: int
    winner: str
    reported: float
    seed_reported: float
    claims: bool
    true: float
    evaluations: int
    proposals: int
    wall_s: float
    harness_s: float

    @property
    def optimism(self) -> float:
        """How much more it says than is true."""
        return self.reported - self.true

    @property
    def harness_s_per_thousand(self) -> float:
        """Seconds of its own per 1,000 evaluations."""
        return self.harness_s / self.evaluations * 1000


@dataclass(frozen=True)
class Chosen:
    """A winner as its search reports it."""

    winner: str
    reported: float
    seed_reported: float
    claims: bool


def outcome_of(
    name: str, contest: Contest, chosen: Chosen, evaluations: Meter, proposals: Meter, wall_s: float
) -> Outcome:
    """Return what a search came to, its winner's true score looked up."""
    return Outcome(
        name=name,
        seed=contest.seed,
        winner=chosen.winner,
        reported=chosen.reported,
        seed_reported=chosen.seed_reported,
        claims=chosen.claims,
        true=contest.world.true_score(chosen.winner, contest.split.test),
        evaluations=evaluations.count,
        proposals=proposals.count,
        wall_s=wall_s,
        harness_s=wall_s - evaluations.seconds - proposals.seconds,
    )
