"""GEPA in the world of rules, as its users call it: an adapter to measure, a language model that is the proposer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from benchmarks.head_to_head.world import SEED_TEXT, Chosen, Contest, Evaluator, Meter, Outcome, Proposer, outcome_of

VERSION = "0.1.4"
_TEXT = re.compile(r"```\n(.*?)\n```", re.DOTALL)
_FAILED = re.compile(r"task (\d+)\s+## Feedback\s+failed")


class Silent:
    """A logger that says nothing."""

    def log(self, message: str) -> None:
        """Take a message."""


class Adapter:
    """Measures candidates, and tells the proposer which tasks of a minibatch failed."""

    propose_new_texts = None

    def __init__(self, scores: Callable[[str, Sequence[int]], list[float]]) -> None:
        self._scores = scores

    def evaluate(self, batch: list[int], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        """Return a score for each task of a batch."""
        from gepa.core.adapter import EvaluationBatch

        scores = self._scores(candidate["skill"], batch)
        traces = [{"task": task, "score": score} for task, score in zip(batch, scores, strict=True)]
        return EvaluationBatch(outputs=[None] * len(batch), scores=scores, trajectories=traces)

    def make_reflective_dataset(
        self, candidate: dict[str, str], batch: Any, components: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, str]]]:
        """Return what the proposer sees of each task."""
        seen = [
            {"Inputs": f"task {one['task']}", "Feedback": "solved" if one["score"] else "failed"}
            for one in batch.trajectories
        ]
        return {component: seen for component in components}


class Model:
    """The proposer, as a language model that reads GEPA's prompt."""

    total_cost = 0.0

    def __init__(self, propose: Callable[[str, Sequence[int]], str], reading: Meter) -> None:
        self._propose, self._reading = propose, reading

    def __call__(self, prompt: str) -> str:
        """Answer a prompt."""
        with self._reading.running():
            found = _TEXT.search(prompt)
            failed = [int(task) for task in _FAILED.findall(prompt)]
        assert found, "GEPA's prompt holds the text between fences"
        return f"```\n{self._propose(found.group(1), failed)}\n```"


def optimized(contest: Contest, adapter: Adapter, model: Model, budget: int, run_dir: str | None = None) -> Any:
    """Run GEPA with its defaults and a budget, and return its result."""
    import gepa

    return gepa.optimize(
        seed_candidate={"skill": SEED_TEXT},
        trainset=list(contest.split.train),
        valset=list(contest.split.validation),
        adapter=adapter,
        reflection_lm=model,
        max_metric_calls=budget,
        reflection_minibatch_size=3,
        seed=contest.seed,
        logger=Silent(),
        run_dir=run_dir,
    )


def run_gepa(contest: Contest) -> Outcome:
    """Search with GEPA, and report the score that it selected on."""
    evaluator, proposer = (
        Evaluator(contest.world, f"gepa {contest.seed}"),
        Proposer(contest.world, f"gepa {contest.seed}"),
    )
    reading = Meter()
    import gepa  # noqa: F401 - so that the import is not timed

    begin = perf_counter()
    result = optimized(contest, Adapter(evaluator.scores), Model(proposer.propose, reading), contest.sizes.budget)
    # Reading GEPA's prompt is the wiring's work, not GEPA's.
    wall = perf_counter() - begin - reading.seconds
    scores = result.val_aggregate_scores
    reported = scores[result.best_idx]
    chosen = Chosen(result.best_candidate["skill"], reported, scores[0], claims=reported > scores[0])
    return outcome_of("gepa", contest, chosen, evaluator.meter, proposer.meter, wall)
