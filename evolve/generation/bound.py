"""What a generation is bound to before its first candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evolve.bench.measure import Bench
from evolve.digest import sha256_bytes, sha256_json
from evolve.generation.state import GenerationState
from evolve.records.generation import Bound
from evolve.skills import Skill


def bound_of(bench: Bench, state: GenerationState, skills: Sequence[Skill]) -> Bound:
    """Return what decides how a generation goes, as it is now: policy, agent, search, and skills with their tasks."""
    request = state.record.request
    search = request.search or bench.workspace.spec.search
    operators = request.operators or bench.workspace.spec.proposer.operators
    return Bound(
        policy_sha256=bench.policy.digest(),
        agent_sha256=sha256_json(bench.agent.identity),
        search_sha256=sha256_json([search.json_value(), list(operators)]),
        tasks={
            skill.name: {
                task.id: sha256_json([task.task_sha256, task.oracle_sha256, bench.grounds.of(task).digest])
                for task in bench.corpus.of(skill.name)
            }
            for skill in skills
        },
        bases={
            skill.name: {path: sha256_bytes(entry.content) for path, entry in skill.files.files.items()}
            for skill in skills
        },
    )


def changes(before: Bound, now: Bound) -> list[str]:
    """Return what has changed, in words, for the skills that are bound now."""
    found = []
    if before.policy_sha256 != now.policy_sha256:
        found.append("promotion/policy.yaml")
    if before.agent_sha256 != now.agent_sha256:
        found.append("the agent or its model")
    if before.search_sha256 != now.search_sha256:
        found.append("the search of evolve.yaml, or its operators,")
    for skill in now.tasks:
        found += [f"task {task}" for task in _differing(before.tasks.get(skill, {}), now.tasks[skill])]
        found += [f"{path} of {skill}" for path in _differing(before.bases.get(skill, {}), now.bases[skill])]
    return found


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]
