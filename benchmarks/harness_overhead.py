"""What a cell costs beside its model: ours, and inspect-ai's sample where that is installed, in one run.

With ``--sandbox bubblewrap`` each cell runs code that a model wrote, contained, once for each check of its oracle; the
peer is then the same program started as often without any containment.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from evolve.agents.reference import ReferenceAgent
from evolve.bench.measure import Bench
from evolve.bench.plan import Group, PlanArm
from evolve.bench.runner import RunOptions
from evolve.cli.progress import LineProgress
from evolve.corpus.loading import Corpus, load_corpus
from evolve.records.kinds import Role
from evolve.records.policy import Policy
from evolve.sandbox.base import Sandbox, base_python
from evolve.sandbox.bubblewrap import find_bubblewrap
from evolve.sandbox.host import Host
from evolve.scoring.code_checks import RUNNER
from evolve.workspace import find_workspace

TASKS = 20
SKILLS = {"host": "value-format", "bubblewrap": "python-function"}


class Silence(LineProgress):
    """Says nothing."""

    def _say(self, text: str) -> None:
        """Keep silent."""


def corpus_of(skill: str) -> Corpus:
    """Return the tasks that a sweep is measured with."""
    repository = find_workspace(Path(__file__).parents[1])
    return Corpus(tuple(load_corpus(repository.corpus).of(skill))[:TASKS])


def ours(cells: int, workers: int, skill_name: str, sandbox: Sandbox) -> float:
    """Return milliseconds a cell of a sweep whose agent plays the references at once."""
    repository = find_workspace(Path(__file__).parents[1])
    corpus, skill = corpus_of(skill_name), repository.skill(skill_name)
    agent = ReferenceAgent("good", {task.id: task.good for task in corpus.tasks})
    with tempfile.TemporaryDirectory() as scratch:
        workspace = type(repository)(root=Path(scratch), spec=repository.spec)
        policy = Policy(schema_id="evolve/policy@1", cache="cold")
        bench = Bench(workspace, corpus, policy, agent, sandbox, Silence(), RunOptions(workers=workers))
        group = Group((PlanArm("incumbent", Role.INCUMBENT, skill),), corpus.tasks)
        started = time.perf_counter()
        result = bench.measure("baseline", "benchmark", (group,), cells // TASKS, reuse=False)
        took = (time.perf_counter() - started) * 1000 / len(result.rows)
    assert all(row.resolved for row in result.rows)
    return took


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


def bare(times: int) -> float:
    """Return the median milliseconds of running the graders' program so often, without evolve and containment."""
    request = json.dumps({"code": "def same(x): return x", "function": "same", "calls": [[1], [2]]}).encode()
    took = []
    for _ in range(50):
        started = time.perf_counter()
        for _ in range(times):
            subprocess.run([base_python(), "-I", "-S", "-c", RUNNER], input=request, capture_output=True, check=True)
        took.append((time.perf_counter() - started) * 1000)
    return median(took)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--sandbox", choices=sorted(SKILLS), default="host")
    arguments = parser.parse_args()
    if arguments.sandbox == "bubblewrap":
        found, why = find_bubblewrap()
        if found is None:
            parser.error(why)
        jobs = len(corpus_of(SKILLS["bubblewrap"]).tasks[0].oracle.checks)
        mine = ours(arguments.cells, arguments.workers, SKILLS["bubblewrap"], found)
        peer, name = bare(jobs), f"the same {jobs} graders, bare"
    else:
        mine = ours(arguments.cells, arguments.workers, SKILLS["host"], Host())
        peer, name = inspects(arguments.cells), "inspect-ai, a sample, one at a time"
    print(f"evolve: {mine:.2f} ms a cell over {arguments.cells} cells, {arguments.workers} workers, journal fsynced")
    if peer is None:
        print("inspect-ai is not installed; no ratio")
        return
    print(f"{name}: {peer:.2f} ms")
    print(f"ratio: {mine / peer:.2f}, difference: {mine - peer:.2f} ms")


if __name__ == "__main__":
    main()
