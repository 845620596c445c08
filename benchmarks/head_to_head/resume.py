"""What is left of a search that was killed: ours from its canonical checkpoint, GEPA's from its run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.head_to_head.gepa_peer import Adapter, Model, optimized
from benchmarks.head_to_head.ours import run_ours
from benchmarks.head_to_head.world import Contest, Evaluator, Meter, Proposer, World


@dataclass(frozen=True)
class Resumed:
    """A search that was killed, beside the same search left alone."""

    seed: int
    kills: int
    same_candidates: bool
    same_evaluations: bool
    same_end: bool

    @property
    def identical(self) -> bool:
        """Whether nothing tells the two apart."""
        return self.same_candidates and self.same_evaluations and self.same_end


def resumed_ours(contest: Contest) -> Resumed:
    """Run our search twice, once killed at random calls and restored from canonical bytes each time."""
    alone, killed = run_ours(contest), run_ours(contest, Random(f"deaths {contest.seed}"))
    evaluations = (alone.outcome.evaluations, alone.outcome.proposals, alone.state.seen)
    return Resumed(
        contest.seed,
        killed.kills,
        same_candidates=alone.state.candidates == killed.state.candidates,
        same_evaluations=evaluations == (killed.outcome.evaluations, killed.outcome.proposals, killed.state.seen),
        same_end=alone.state == killed.state and alone.outcome.winner == killed.outcome.winner,
    )


@dataclass
class Settled:
    """Outside of a search, the same call has the same answer: what differs after a resume is the search's own doing."""

    world: World
    made: Meter = field(default_factory=Meter)

    def scores(self, text: str, tasks: Sequence[int]) -> list[float]:
        """Return the scores of a text, always the same for a task."""
        self.made.count += len(tasks)
        return [Evaluator(self.world, f"{self.world.seed} {task} {text}").scores(text, [task])[0] for task in tasks]

    def propose(self, text: str, failed: Sequence[int]) -> str:
        """Return a changed text, always the same for a text and the tasks that failed."""
        return Proposer(self.world, f"{self.world.seed} {text} {failed}").propose(text, failed)


@dataclass(frozen=True)
class ResumedGepa:
    """GEPA stopped at half of its budget and run again in the same folder, beside the same run left alone."""

    seed: int
    same_prefix: int
    candidates: int
    candidates_alone: int
    counted: int
    made: int

    @property
    def identical(self) -> bool:
        """Whether both found the same candidates."""
        return self.same_prefix == self.candidates == self.candidates_alone


def resumed_gepa(contest: Contest) -> ResumedGepa:
    """Run GEPA left alone, and stopped half-way and resumed."""
    alone = _gepa(contest, Settled(contest.world), contest.sizes.budget)
    outside = Settled(contest.world)
    with TemporaryDirectory() as folder:
        _gepa(contest, outside, contest.sizes.budget // 2, folder)
        again = _gepa(contest, outside, contest.sizes.budget, folder)
    same = 0
    for one, other in zip(alone.candidates, again.candidates, strict=False):
        if one != other:
            break
        same += 1
    return ResumedGepa(
        contest.seed, same, len(again.candidates), len(alone.candidates), again.total_metric_calls, outside.made.count
    )


def _gepa(contest: Contest, outside: Settled, budget: int, folder: str | None = None) -> Any:
    return optimized(contest, Adapter(outside.scores), Model(outside.propose, Meter()), budget, folder)
