"""Tasks that are nearly the same: across splits, one gives the other away."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from evolve.corpus.loading import LoadedTask

SHINGLE = 5


@dataclass(frozen=True)
class Alike:
    """Two tasks of different splits, and how alike they are: the Jaccard index of their runs of five characters."""

    first: LoadedTask
    second: LoadedTask
    likeness: float


def _shingles(task: LoadedTask) -> frozenset[str]:
    text = "\n".join(
        [task.task.prompt, *(text for _, text in task.seed.texts()), task.patch.decode("utf-8", "replace")]
    )
    flat = re.sub(r"\W+", " ", text).strip().casefold()
    return frozenset(flat[place : place + SHINGLE] for place in range(max(1, len(flat) - SHINGLE + 1)))


def near_duplicates(tasks: Iterable[LoadedTask], threshold: float) -> list[Alike]:
    """Return pairs of tasks that share a skill, lie in different splits and are alike, the most alike first."""
    known = [(task, _shingles(task)) for task in tasks]
    found = []
    for (one, ours), (other, theirs) in combinations(known, 2):
        if one.task.split is other.task.split or set(one.task.skills).isdisjoint(other.task.skills):
            continue
        if min(len(ours), len(theirs)) < threshold * max(len(ours), len(theirs)):
            continue
        likeness = len(ours & theirs) / len(ours | theirs)
        if likeness >= threshold:
            found.append(Alike(one, other, likeness))
    return sorted(found, key=lambda alike: (-alike.likeness, alike.first.id, alike.second.id))
