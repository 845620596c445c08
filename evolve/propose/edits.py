"""What a candidate changes, as edits that can be taken or left one by one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from evolve.digest import sha256_json
from evolve.propose.passages import Passage, Placed, body_of, passages_of, placed, resident_tokens
from evolve.propose.sections import EXAMPLES_HEADING
from evolve.skills import SKILL_FILE, Skill, split_frontmatter, with_body

FRONTMATTER = "frontmatter"


@dataclass(frozen=True)
class Edit:
    """One change to a skill.

    Args:
        file: The file within the skill, or ``frontmatter`` for that of SKILL.md.
        removes: Keys of the incumbent's passages that it takes out; empty for what is only added.
        adds: The passages that it puts in; empty for what is only taken out.
        after: The key of the incumbent's passage that it stands behind; ``None`` is the beginning.
        under: New headings that it stands under, outermost first.
        whole: The whole new text, for a file that is replaced as one.
        longer: How many more resident tokens that text has; a file beside SKILL.md has none.

    """

    file: str
    removes: tuple[str, ...] = ()
    adds: tuple[Passage, ...] = ()
    after: str | None = None
    under: tuple[Passage, ...] = ()
    whole: str | None = None
    longer: int = 0

    @cached_property
    def id(self) -> str:
        """What tells it from other edits; where it stands does not count, so that the same rule is the same edit."""
        added = tuple(passage.key for passage in (*self.under, *self.adds))
        return _id_of(self.file, self.removes, added, self.whole)

    @cached_property
    def slots(self) -> frozenset[str]:
        """What no two edits may both change."""
        if self.whole is not None:
            return frozenset((f"{self.file}\0",))
        return frozenset(f"{self.file}\0{key}" for key in self.removes)

    @cached_property
    def tokens(self) -> int:
        """About how many resident tokens it adds; what is read on demand alone, as other files are, adds none."""
        if self.whole is not None:
            return self.longer
        return sum(passage.tokens for passage in self.adds) - sum(map(resident_tokens, self.removes))


@lru_cache(maxsize=4096)
def _id_of(file: str, removes: tuple[str, ...], added: tuple[str, ...], whole: str | None) -> str:
    return sha256_json([file, sorted(removes), added, whole])[:16]


def edits_of(before: Skill, after: Skill) -> tuple[Edit, ...]:
    """Return the edits that lead from one text of a skill to another, in the order in which they stand."""
    found: list[Edit] = []
    old_front, new_front = split_frontmatter(before.text)[0], split_frontmatter(after.text)[0]
    if old_front != new_front:
        found.append(Edit(FRONTMATTER, whole=new_front, longer=resident_tokens(new_front) - resident_tokens(old_front)))
    found += body_edits(passages_of(before.body), passages_of(after.body))
    if set(before.files.files) | set(after.files.files) != {SKILL_FILE}:
        old, new = dict(before.files.texts()), dict(after.files.texts())
        for path in sorted(set(old) | set(new)):
            if path != SKILL_FILE and old.get(path) != new.get(path):
                found.append(Edit(path, whole=new.get(path, "")))
    return tuple(found)


def body_edits(old: Sequence[Passage], new: Sequence[Passage]) -> list[Edit]:
    """Return the edits between two bodies: one for each passage that is added or taken out, or run that is replaced."""
    known = {passage.key for passage in old}
    stands = placed(new)
    found: list[Edit] = []
    for tag, start, end, first, last in _changes([p.key for p in old], [p.key for p in new]):
        after = old[start - 1].key if start else None
        added = stands[first:last]
        match tag:
            case "replace":
                found += _replaced(old[start:end], added, after, known)
            case "delete":
                found += [Edit(SKILL_FILE, (passage.key,), after=after) for passage in old[start:end]]
            case "insert":
                found += _inserted(added, after, known)
    return found


def _changes(old: list[str], new: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    if new[: len(old)] == old:
        # What the search for matching runs comes to, and the most frequent case: something is added at the end.
        return [("insert", len(old), len(old), len(old), len(new))]
    return difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _replaced(old: Sequence[Passage], new: Sequence[Placed], after: str | None, known: set[str]) -> list[Edit]:
    """Return a replaced run as edits: item by item where they match, else as one; new sections are added."""
    split = next((number for number, place in enumerate(new) if place.passage.level), len(new))
    if [p.kind for p in old] == [place.passage.kind for place in new] and not any(p.level for p in old):
        return [Edit(SKILL_FILE, (gone.key,), (place.passage,), after) for gone, place in zip(old, new, strict=True)]
    removed = tuple(passage.key for passage in old)
    if any(passage.level for passage in old) or not split:
        split = len(new)
    head, rest = new[:split], new[split:]
    first = Edit(SKILL_FILE, removed, tuple(place.passage for place in head), after)
    return [first, *_inserted(rest, removed[-1], known)]


def _inserted(added: Sequence[Placed], after: str | None, known: set[str]) -> list[Edit]:
    """Return one edit for each passage that is added; headings come with what stands under them."""
    inside = {heading.key for place in added for heading in place.under}
    return [
        Edit(
            SKILL_FILE,
            adds=(place.passage,),
            after=after,
            under=tuple(heading for heading in place.under if heading.key not in known),
        )
        for place in added
        if place.passage.level == 0 or place.passage.key not in inside
    ]


def consistent(edits: Iterable[Edit]) -> list[Edit]:
    """Return edits of which no two change the same thing; of two that do, the earlier stays."""
    taken: set[str] = set()
    found = []
    for edit in edits:
        if taken.isdisjoint(edit.slots):
            taken.update(edit.slots)
            found.append(edit)
    return found


def with_edits(skill: Skill, edits: Iterable[Edit]) -> dict[str, str]:
    """Return the new text of each file that some edits change, by its path in the skill.

    Edits that are in conflict with an earlier one are left out. What is added keeps the order of the edits; worked
    examples stay last, as a small model minds best what it read last.
    """
    chosen = consistent(edits)
    texts = {edit.file: edit.whole for edit in chosen if edit.whole is not None and edit.file != FRONTMATTER}
    front = next((edit.whole for edit in chosen if edit.file == FRONTMATTER), None)
    body_changes = [edit for edit in chosen if edit.whole is None]
    if front is None and not body_changes:
        return texts
    body = body_of(edited(passages_of(skill.body), body_changes)) if body_changes else skill.body
    text = with_body(skill.text, body)
    texts[SKILL_FILE] = text if front is None else f"{front.rstrip()}\n\n{body.strip()}\n"
    return texts


def edited(old: Sequence[Passage], edits: Sequence[Edit]) -> list[Passage]:
    """Return passages with some edits made."""
    removed = {key for edit in edits for key in edit.removes}
    behind: dict[str | None, list[Edit]] = {}
    for edit in edits:
        if edit.adds:
            behind.setdefault(edit.after, []).append(edit)
    found = _added(behind.pop(None, []))
    for passage in old:
        if passage.key not in removed:
            found.append(passage)
        found += _added(behind.pop(passage.key, []))
    for left in behind.values():
        found += _added(left)
    return found


def _added(edits: Sequence[Edit]) -> list[Passage]:
    groups: dict[tuple[Passage, ...], list[Passage]] = {}
    for edit in edits:
        groups.setdefault(edit.under, []).extend(edit.adds)
    found: list[Passage] = []
    for under in sorted(groups, key=lambda headings: bool(headings) and headings[0].text.strip() == EXAMPLES_HEADING):
        found += [heading for heading in under if heading not in found]
        found += groups[under]
    return found
