"""What a generation is bound to before its first candidate."""

from __future__ import annotations

from evolve.bench.measure import Bench
from evolve.digest import sha256_bytes, sha256_json
from evolve.generation.state import GenerationState
from evolve.records.generation import Bound
from evolve.skills import Skill


def bound_of(bench: Bench, state: GenerationState, skill: Skill) -> Bound:
    """Return what decides how a generation goes, as it is now: policy, agent, search, tasks, and the skill's files."""
    request = state.record.request
    search = request.search or bench.workspace.spec.search
    operators = request.operators or bench.workspace.spec.proposer.operators
    return Bound(
        policy_sha256=bench.policy.digest(),
        agent_sha256=sha256_json(bench.agent.identity),
        search_sha256=sha256_json([search.json_value(), list(operators)]),
        tasks={
            task.id: sha256_json([task.task_sha256, task.oracle_sha256, bench.grounds.of(task).digest])
            for task in bench.corpus.of(skill.name)
        },
        bases={f"{skill.folder}/{path}": sha256_bytes(entry.content) for path, entry in skill.files.files.items()},
    )


def changes(before: Bound, now: Bound) -> list[str]:
    """Return what has changed, in words."""
    found = []
    if before.policy_sha256 != now.policy_sha256:
        found.append("promotion/policy.yaml")
    if before.agent_sha256 != now.agent_sha256:
        found.append("the agent or its model")
    if before.search_sha256 != now.search_sha256:
        found.append("the search of evolve.yaml, or its operators,")
    for task in sorted(set(before.tasks) | set(now.tasks)):
        if before.tasks.get(task) != now.tasks.get(task):
            found.append(f"task {task}")
    for path in sorted(set(before.bases) | set(now.bases)):
        if before.bases.get(path) != now.bases.get(path):
            found.append(path)
    return found
