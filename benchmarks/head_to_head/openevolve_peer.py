"""OpenEvolve in the world of rules: an evaluator file and a model client, both of which its worker process loads."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks.head_to_head.world import (
    SEED_TEXT,
    Chosen,
    Contest,
    Evaluator,
    Meter,
    Outcome,
    Proposer,
    Sizes,
    outcome_of,
)

VERSION = "0.4.1"
ROOT = Path(__file__).parents[2]
SHOWN = 10
_CURRENT = re.compile(r"# Current Program.*?```\w*\n(.*?)```", re.DOTALL)
_FAILED = re.compile(r"FAILED TASKS ([\d ]+)")
_EVALUATOR = """\
import sys
sys.path.insert(0, {root!r})
from benchmarks.head_to_head.openevolve_peer import Bridge

BRIDGE = Bridge.of({name!r})


def evaluate(path):
    return BRIDGE.evaluate(path)
"""


@dataclass(frozen=True)
class Bridge:
    """The contest as OpenEvolve's processes see it, which share no memory: each call adds a line to a tally."""

    contest: Contest
    tally: Path

    @property
    def name(self) -> str:
        """Everything that it is made of, as one word: the name of a model is all that a client is told."""
        sizes = self.contest.sizes
        parts = (self.contest.seed, sizes.budget, sizes.train, sizes.validation, int(self.contest.null), self.tally)
        return "|".join(map(str, parts))

    @classmethod
    def of(cls, name: str) -> Bridge:
        """Return the bridge of a name."""
        seed, budget, train, validation, null, tally = name.split("|", 5)
        sizes = Sizes(int(budget), int(train), int(validation))
        return cls(Contest(int(seed), sizes, bool(int(null))), Path(tally))

    def _stream(self, kind: str) -> str:
        """Return the name of the random stream of one call: which call it is says the tally."""
        return f"openevolve {self.contest.seed} {len(self._lines(kind))}"

    def _lines(self, kind: str) -> list[list[str]]:
        lines = self.tally.read_text(encoding="utf-8").splitlines() if self.tally.exists() else []
        return [line.split()[1:] for line in lines if line.split()[0] == kind]

    def note(self, kind: str, count: int, seconds: float) -> None:
        """Add a line to the tally."""
        with self.tally.open("a", encoding="utf-8") as file:
            file.write(f"{kind} {count} {seconds!r}\n")

    def meter(self, kind: str) -> Meter:
        """Return the sum of the tally."""
        lines = self._lines(kind)
        return Meter(sum(int(count) for count, _ in lines), sum(float(seconds) for _, seconds in lines))

    def evaluate(self, path: str) -> Any:
        """Measure a text on all validation tasks, and name some of those that failed."""
        begin = perf_counter()
        from openevolve.evaluation_result import EvaluationResult

        tasks = self.contest.split.validation
        evaluator = Evaluator(self.contest.world, self._stream("evaluated"))
        scores = evaluator.scores(Path(path).read_text(encoding="utf-8"), tasks)
        failed = [str(task) for task, score in zip(tasks, scores, strict=True) if score == 0][:SHOWN]
        result = EvaluationResult(
            metrics={"combined_score": sum(scores) / len(scores)},
            artifacts={"failures": f"FAILED TASKS {' '.join(failed)}"},
        )
        self.note("evaluated", len(tasks), perf_counter() - begin)
        return result

    def propose(self, prompt: str) -> str:
        """Answer OpenEvolve's prompt."""
        begin = perf_counter()
        found = _CURRENT.search(prompt)
        assert found, "OpenEvolve's prompt holds the text between fences"
        named = _FAILED.search(prompt)
        failed = [int(task) for task in named.group(1).split()] if named else []
        text = Proposer(self.contest.world, self._stream("proposed")).propose(found.group(1), failed)
        self.note("proposed", 1, perf_counter() - begin)
        return f"```text\n{text}\n```"


def client(config: Any) -> Any:
    """Return the proposer as a client of a language model."""
    from openevolve.llm.base import LLMInterface

    bridge = Bridge.of(config.name)

    class Client(LLMInterface):  # type: ignore[misc]
        async def generate(self, prompt: str, **options: Any) -> str:
            return bridge.propose(prompt)

        async def generate_with_context(
            self, system_message: str, messages: list[dict[str, str]], **options: Any
        ) -> str:
            return bridge.propose(messages[-1]["content"])

    return Client()


def _config(bridge: Bridge, iterations: int) -> Any:
    from openevolve.config import Config, LLMModelConfig

    seed = bridge.contest.seed
    config = Config()
    config.max_iterations, config.random_seed = iterations, seed
    config.diff_based_evolution, config.language, config.file_suffix = False, "text", ".md"
    config.checkpoint_interval, config.log_level = 10**6, "CRITICAL"
    config.database.num_islands, config.database.population_size, config.database.random_seed = 3, 60, seed
    config.evaluator.parallel_evaluations, config.evaluator.cascade_evaluation = 1, False
    model = LLMModelConfig(name=bridge.name, api_key="none", init_client=client, random_seed=seed)
    config.llm.models = config.llm.evaluator_models = [model]
    return config


def run_openevolve(contest: Contest) -> Outcome:
    """Search with OpenEvolve on the validation tasks, and report the score that it selected on."""
    from openevolve import run_evolution

    # The text that it begins with is measured too.
    iterations = contest.sizes.budget // contest.sizes.validation - 1
    logging.disable(logging.CRITICAL)
    with TemporaryDirectory() as scratch:
        bridge = Bridge(contest, Path(scratch, "tally"))
        file = Path(scratch, "evaluator.py")
        file.write_text(_EVALUATOR.format(root=str(ROOT), name=bridge.name), encoding="utf-8")
        begin = perf_counter()
        result = run_evolution(
            initial_program=SEED_TEXT,
            evaluator=str(file),
            config=_config(bridge, iterations),
            iterations=iterations,
            output_dir=str(Path(scratch, "out")),
            cleanup=False,
        )
        wall = perf_counter() - begin
        evaluations, proposals = bridge.meter("evaluated"), bridge.meter("proposed")
        base = _seed_score(contest)
    logging.disable(logging.NOTSET)
    winner, reported = result.best_code, float(result.best_score)
    return outcome_of(
        "openevolve", contest, Chosen(winner, reported, base, claims=reported > base), evaluations, proposals, wall
    )


def _seed_score(contest: Contest) -> float:
    """Return what the text that it began with scored: the first call, drawn again."""
    evaluator = Evaluator(contest.world, f"openevolve {contest.seed} 0")
    return sum(evaluator.scores(SEED_TEXT, contest.split.validation)) / contest.sizes.validation
