"""The merging operator: the edits of two candidates together, each conflict to the one that does better there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from evolve.digest import sha256_bytes
from evolve.errors import InputError
from evolve.overlays import FrozenOverlay, changing
from evolve.propose.ask import Ask, Parent
from evolve.propose.edits import Edit, with_edits
from evolve.propose.evidence import TrainEvidence, worked_example
from evolve.propose.sections import stated
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from evolve.skills import Skill


def merge(incumbent: Skill, ask: Ask) -> FrozenOverlay:
    """Merge two candidates whose common ancestor is the incumbent.

    Raises:
        InputError: There are no two candidates, or one has all that the other has.

    """
    if len(ask.parents) < 2 or not all(parent.edits for parent in ask.parents[:2]):
        raise InputError("there are no two candidates to merge yet", code="nothing-to-merge")
    one, two = ask.parents[:2]
    edits = merged(one, two, ask.scores(one.digest), ask.scores(two.digest), one.evidence)
    ids = {edit.id for edit in edits}
    if ids in ({edit.id for edit in one.edits}, {edit.id for edit in two.edits}):
        raise InputError("one of the two candidates has all that the other has", code="nothing-to-merge")
    return composed(incumbent, edits, (one, two), "Merges two candidates, section by section.")


def merged(
    one: Parent, two: Parent, ones: Mapping[str, float], twos: Mapping[str, float], evidence: TrainEvidence
) -> list[Edit]:
    """Return the edits of both; of those in conflict, the ones of the candidate that does better on what they touch.

    Only tasks that both were measured on are compared; where nothing tells them apart, the first prevails.

    Args:
        one: A candidate.
        two: Another one.
        ones: The mean score of the first by task, as far as it was measured.
        twos: That of the second.
        evidence: The train tasks.

    """
    dropped: set[str] = set()
    for mine in one.edits:
        for theirs in two.edits:
            if mine.id != theirs.id and mine.slots & theirs.slots:
                tasks = touched((mine, theirs), evidence)
                dropped.add((mine if _better(twos, ones, tasks) else theirs).id)
    return list({e.id: e for e in (*one.edits, *two.edits) if e.id not in dropped}.values())


def touched(edits: Sequence[Edit], evidence: TrainEvidence) -> set[str]:
    """Return the train tasks that some edits speak of: whose example they show or whose broken rule they state.

    Where they speak of none, all tasks are touched.
    """
    text = "\n".join([*(p.text for edit in edits for p in edit.adds), *(edit.whole or "" for edit in edits)])
    shown = {task.id for task in evidence.tasks if stated(text, worked_example(task).user)}
    ruled = {failure.task for failure in evidence.failures if failure.rule and stated(text, failure.rule)}
    return shown | ruled or {task.id for task in evidence.tasks}


def _better(one: Mapping[str, float], other: Mapping[str, float], tasks: Collection[str]) -> bool:
    """Whether one does better than another on some tasks, or on all where those were not measured of both."""
    both = one.keys() & other.keys()
    compared = sorted(both & set(tasks) or both)
    return sum(one[task] for task in compared) > sum(other[task] for task in compared)


def distinct(edits: Sequence[Edit]) -> list[Edit]:
    """Return edits without those that only add what a larger one among them adds too."""
    added = [{passage.key for passage in edit.adds} for edit in edits]
    return [
        edit
        for edit, keys in zip(edits, added, strict=True)
        if edit.removes or not keys or not any(keys < others for others in added)
    ]


def composed(incumbent: Skill, edits: Sequence[Edit], parents: Sequence[Parent], rationale: str) -> FrozenOverlay:
    """Return the overlay with some edits.

    Raises:
        InputError: They change nothing.

    """
    texts = with_edits(incumbent, distinct(edits))
    if not texts:
        raise InputError("nothing is left to change", code="no-change")
    quoted = [name for parent in parents if parent.overlay for name in parent.overlay.spec.worked_examples]
    spec = OverlaySpec(
        schema_id=OVERLAY_SCHEMA,
        skills=(incumbent.name,),
        operator="merge",
        parents=tuple(dict.fromkeys(parent.digest for parent in parents))[:8],
        rationale=rationale,
        evidence_sha256=sha256_bytes("\n".join(edit.id for edit in edits).encode()),
        worked_examples=tuple(dict.fromkeys(quoted)),
    )
    return changing(incumbent, spec, texts)
