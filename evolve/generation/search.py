"""The search of one generation: begun with what the archive knows, restored where it was interrupted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evolve.digest import sha256_json
from evolve.generation.hands import GenerationHands, train_split
from evolve.generation.pool import Pool
from evolve.generation.state import GenerationState
from evolve.propose.archive import operator_states, read_archive
from evolve.propose.search.drive import Search, carry_out
from evolve.propose.search.engine import new_checkpoint
from evolve.propose.search.knowledge import INCUMBENT, facts_of
from evolve.propose.search.strategies import begun, restored
from evolve.records.archive import ArchiveEntry
from evolve.records.base import read_json, write_json
from evolve.records.search import Checkpoint, SearchSettings, Seen, Step, Tried
from evolve.workspace import Workspace

SEARCH_FILE = "search.json"


def search_path(state: GenerationState) -> Path:
    """Return where a generation keeps the state of its search."""
    return state.folder / SEARCH_FILE


def settings_of(state: GenerationState, workspace: Workspace) -> SearchSettings:
    """Return how a generation searches; as many proposals at least as operators were asked for."""
    request = state.record.request
    settings = request.search or workspace.spec.search
    population = max(settings.population, len(request.operators))
    return settings.model_copy(update={"population": population})


def opened_search(
    state: GenerationState, workspace: Workspace, pool: Pool, operators: tuple[str, ...], tasks: tuple[str, ...]
) -> Search:
    """Return the search of a generation, as it stands.

    Raises:
        InputError: Its state is damaged.

    """
    path = search_path(state)
    if path.exists():
        return restored(read_json(Checkpoint, path))
    entries = read_archive(workspace)
    seed = f"{state.record.id} {pool.skill.fingerprint}"
    states = operator_states(entries, pool.skill.name, operators, sha256_json(pool.agent_identity))
    begin = new_checkpoint(settings_of(state, workspace), tasks, states, seed)
    search = begun(with_archived(begin, pool, entries))
    write_json(path, search.checkpoint())
    return search


def with_archived(begin: Checkpoint, pool: Pool, entries: Iterable[ArchiveEntry]) -> Checkpoint:
    """Return the state of a search that knows the archived candidates, and what those of the same agent scored."""
    found = [candidate for _, candidate in pool.archived.values()]
    tried = [
        Tried(
            id=one.overlay.digest,
            operator=one.overlay.spec.operator,
            edits=tuple(edit.id for edit in one.edits),
            tokens=one.tokens,
            round=0,
        )
        for one in found
    ]
    edits = [edit for one in found for edit in one.edits]
    return begin.model_copy(
        update={
            "candidates": tuple(tried),
            "edits": tuple({edit.id: facts_of(edit) for edit in edits}.values()),
            "seen": tuple(_seen(begin, pool, entries)),
        }
    )


def _seen(begin: Checkpoint, pool: Pool, entries: Iterable[ArchiveEntry]) -> Iterable[Seen]:
    agent = sha256_json(pool.agent_identity)
    by_generation: dict[str, list[ArchiveEntry]] = {}
    for entry in entries:
        ours = entry.skill == pool.skill.name and entry.incumbent == pool.skill.fingerprint
        if ours and entry.agent_sha256 == agent and entry.train:
            by_generation.setdefault(entry.generation, []).append(entry)
    for generation, group in by_generation.items():
        if not any(entry.name == INCUMBENT for entry in group):
            continue  # without the incumbent beside them, their scores compare with nothing
        for entry in group:
            known = entry.name == INCUMBENT or entry.overlay_sha256 in pool.archived
            tasks = tuple(task for task in entry.train if task in begin.tasks)
            if known and tasks:
                name = None if entry.name == INCUMBENT else entry.overlay_sha256
                scores = tuple(entry.train[task][0] for task in tasks)
                yield Seen(candidate=name, batch=generation, tasks=tasks, scores=scores)


def carried_out(
    state: GenerationState, workspace: Workspace, pool: Pool, hands: GenerationHands, operators: tuple[str, ...]
) -> tuple[Step, Checkpoint]:
    """Take the search of a generation to its end."""
    tasks = train_split(pool.bench, pool.skill.name)
    search = opened_search(state, workspace, pool, operators, tasks)
    end = carry_out(search, hands, lambda checkpoint: write_json(search_path(state), checkpoint))
    state.update(search_ended=end.reason)
    return end, search.checkpoint()
