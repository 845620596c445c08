"""What a cell costs beside its model: ours, and inspect-ai's sample where that is installed, in one run."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import tempfile
import time
from pathlib import Path

from evolve.agents.base import Session, SessionEnd
from evolve.bench.measure import Bench
from evolve.bench.plan import Group, PlanArm
from evolve.bench.runner import RunOptions
from evolve.cli.progress import SilentProgress
from evolve.corpus.loading import Corpus, load_corpus
from evolve.records.kinds import Role
from evolve.records.policy import Policy
from evolve.records.row import Usage
from evolve.records.task import Limits
from evolve.sandbox.host import Host
from evolve.workspace import find_workspace

TASKS = 20


class InstantAgent:
    """Answers at once."""

    identity = {"adapter": "instant"}  # noqa: RUF012

    def run(self, session: Session) -> SessionEnd:
        """Answer."""
        (session.work / "answer.md").write_text("2011-05-03", encoding="utf-8")
        return SessionEnd("2011-05-03", Usage(cost_usd_micros=0, session_ms=0))

    def worst_cost_micros(self, limits: Limits, prompt_bytes: int) -> int | None:
        """Cost nothing."""
        return 0

    def close(self) -> None:
        """Hold nothing."""


def ours(cells: int, workers: int) -> float:
    """Return milliseconds a cell of a sweep with an instant agent."""
    repository = find_workspace(Path(__file__).parents[1])
    corpus = Corpus(tuple(load_corpus(repository.corpus).of("value-format"))[:TASKS])
    skill = repository.skill("value-format")
    with tempfile.TemporaryDirectory() as scratch:
        workspace = type(repository)(root=Path(scratch), spec=repository.spec)
        policy = Policy(schema_id="evolve/policy@1")
        options = RunOptions(workers=workers)
        bench = Bench(workspace, corpus, policy, InstantAgent(), Host(), SilentProgress(), options)
        group = Group((PlanArm("incumbent", Role.INCUMBENT, skill),), corpus.tasks)
        started = time.perf_counter()
        result = bench.measure("baseline", "benchmark", (group,), cells // TASKS, reuse=False)
        return (time.perf_counter() - started) * 1000 / len(result.rows)


def inspects(cells: int) -> float | None:
    """Return milliseconds a sample of inspect-ai with its mock model, or nothing where it is not installed."""
    if importlib.util.find_spec("inspect_ai") is None:
        return None
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate

    logging.disable(logging.WARNING)
    samples = [Sample(input=f"Say hello {number}", target="Default output") for number in range(cells)]
    task = Task(dataset=samples, solver=generate(), scorer=match())
    with tempfile.TemporaryDirectory() as scratch:
        started = time.perf_counter()
        eval(task, model="mockllm/model", log_dir=scratch, display="none", max_samples=1)
        return (time.perf_counter() - started) * 1000 / cells


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    mine = ours(arguments.cells, arguments.workers)
    print(f"evolve: {mine:.2f} ms a cell over {arguments.cells} cells, {arguments.workers} workers, journal fsynced")
    theirs = inspects(arguments.cells)
    if theirs is None:
        print("inspect-ai is not installed; no ratio")
    else:
        print(f"inspect-ai: {theirs:.2f} ms a sample over {arguments.cells} samples, one at a time")
        print(f"ratio evolve / inspect-ai: {mine / theirs:.2f}")


if __name__ == "__main__":
    main()
