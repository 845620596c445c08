"""The archive of all candidates: reading it, adding to it, and telling whether a candidate is new."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from evolve.errors import InputError
from evolve.files import write_atomic, writer_lock
from evolve.overlays import FrozenOverlay, apply_overlay
from evolve.propose.edits import Edit, edits_of
from evolve.records.archive import ARCHIVE_FILE, LEARNINGS_FILE, ArchiveEntry, Learning
from evolve.records.base import jsonl_bytes, read_jsonl
from evolve.records.search import OperatorState
from evolve.skills import Skill
from evolve.workspace import Workspace

LOCK_WAIT_S = 10.0
NEARLY_THE_SAME = 0.95
"""Share of words in the same order from which two changes are taken for one."""
MOST_COMPARED = 2000
"""Words of two changes that are compared in any order; a long text that was moved about is another one."""

E = TypeVar("E", ArchiveEntry, Learning)


def read_archive(workspace: Workspace) -> tuple[ArchiveEntry, ...]:
    """Return every candidate that was archived, the oldest first.

    Raises:
        InputError: The file is damaged; the line is named.

    """
    return _read(ArchiveEntry, workspace.overlays / ARCHIVE_FILE)


def read_learnings(workspace: Workspace) -> tuple[Learning, ...]:
    """Return everything that was learnt, the oldest first.

    Raises:
        InputError: The file is damaged; the line is named.

    """
    return _read(Learning, workspace.overlays / LEARNINGS_FILE)


def _read(kind: type[E], path: Path) -> tuple[E, ...]:
    try:
        return tuple(read_jsonl(kind, path)) if path.exists() else ()
    except InputError as error:
        hint = "take the line out, or restore the file as it was committed; audits look lineages up in it"
        raise InputError(error.message, hint=error.hint or hint, code=error.code) from error


def add_to_archive(workspace: Workspace, entries: Sequence[ArchiveEntry], learnings: Sequence[Learning]) -> None:
    """Add what a generation tried; the lines that it added before, as in an interrupted try, are replaced."""
    with writer_lock(workspace.locks / "archive.lock", "the archive", wait_s=LOCK_WAIT_S):
        _replace(workspace.overlays / ARCHIVE_FILE, read_archive(workspace), entries)
        _replace(workspace.overlays / LEARNINGS_FILE, read_learnings(workspace), learnings)


def _replace(path: Path, before: Sequence[E], new: Sequence[E]) -> None:
    generations = {(entry.generation, entry.skill, entry.incumbent) for entry in new}
    kept: list[E] = [entry for entry in before if (entry.generation, entry.skill, entry.incumbent) not in generations]
    if not new and len(kept) == len(before):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, jsonl_bytes([*kept, *new]))


def operator_states(
    entries: Iterable[ArchiveEntry], skill: str, operators: Sequence[str], agent_sha256: str
) -> tuple[OperatorState, ...]:
    """Return what each operator earned with a skill and an agent so far.

    What a recombination earned counts for none, and what was measured again counts once.
    """
    states = {operator: OperatorState(operator=operator) for operator in operators}
    for entry in entries:
        state = states.get(entry.operator)
        mine = (entry.skill, entry.agent_sha256) == (skill, agent_sha256)
        if state is None or not mine or entry.name.startswith(RECOMBINED) or of_before(entry.name):
            continue
        gain = {"earned": state.earned + (entry.earned or 0.0), "missed": state.missed + 1 - (entry.earned or 0.0)}
        if entry.fate != "refused" and entry.earned is None:
            gain = {}
        refused = state.refused + (entry.fate == "refused")
        states[entry.operator] = state.model_copy(update={**gain, "asked": state.asked + 1, "refused": refused})
    return tuple(states.values())


def of_before(name: str) -> bool:
    """Whether a candidate's name says that it is one of an earlier generation, measured again."""
    return re.match(r"g\d{4,}-", name) is not None


RECOMBINED = "recombined"
"""How the names of candidates begin that the search put together from edits."""


@dataclass(frozen=True)
class Known:
    """A candidate to compare new ones with."""

    name: str
    digest: str
    skill: Skill
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, name: str, overlay: FrozenOverlay, incumbent: Skill) -> Known:
        """Return what is known of an overlay."""
        candidate = apply_overlay(incumbent, overlay)
        return cls(name, overlay.digest, candidate, edits_of(incumbent, candidate))


def check_new(overlay: FrozenOverlay, incumbent: Skill, earlier: Iterable[Known]) -> tuple[Edit, ...]:
    """Return what an overlay changes, seen to differ from the incumbent and from every earlier candidate.

    Raises:
        InputError: It differs in spacing, numbers or case alone, or hardly at all.

    """
    mine = Known.of("", overlay, incumbent)
    if not mine.edits:
        raise InputError("differs from the incumbent in spacing, case or numbers alone", code="no-change")
    for other in earlier:
        if other.digest == overlay.digest:
            raise InputError(f"equals {other.name}", code="known-candidate")
        if nearly_the_same(mine.edits, other.edits):
            raise InputError(f"hardly differs from {other.name}", code="near-duplicate")
    return mine.edits


def nearly_the_same(one: Sequence[Edit], other: Sequence[Edit]) -> bool:
    """Whether two changes take out the same and put in nearly the same words in the same order."""
    if {edit.id for edit in one} == {edit.id for edit in other}:
        return True
    if {slot for edit in one for slot in edit.slots} != {slot for edit in other for slot in edit.slots}:
        return False
    return _likeness(_words(one), _words(other)) >= NEARLY_THE_SAME


def _likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of words that stand in both in the same order; of long texts at the least."""
    begin = _shared(one, other)
    end = _shared(one[begin:][::-1], other[begin:][::-1])
    middles = one[begin : len(one) - end], other[begin : len(other) - end]
    total, shared = len(one) + len(other), begin + end
    if not total:
        return 1.0
    if 2 * (shared + min(map(len, middles))) / total < NEARLY_THE_SAME or max(map(len, middles)) > MOST_COMPARED:
        return 2 * shared / total
    matcher: difflib.SequenceMatcher[str] = difflib.SequenceMatcher(None, *middles, autojunk=False)
    return 2 * (shared + sum(block.size for block in matcher.get_matching_blocks())) / total


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words two sequences have in common at their beginning."""
    return next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )


def _words(edits: Sequence[Edit]) -> list[str]:
    texts = [text for edit in edits for text in (*(passage.text for passage in edit.adds), edit.whole or "")]
    return " ".join(texts).casefold().split()
