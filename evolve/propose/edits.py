"""What a candidate changes, as edits that can be taken or left one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from evolve.digest import sha256_json
from evolve.propose.matching import gaps, names_of, text_of_name
from evolve.propose.passages import Passage, Placed, body_of, passages_of, placed, resident_tokens
from evolve.propose.sections import EXAMPLES_HEADING
from evolve.protected import protected_passages
from evolve.skills import SKILL_FILE, Skill, split_frontmatter, with_body

FRONTMATTER = "frontmatter"
GONE = "\0gone"


@dataclass(frozen=True)
class Edit:
    """One change to a skill.

    Args:
        file: The file within the skill, or ``frontmatter`` for that of SKILL.md.
        removes: Names of the incumbent's passages that it takes out; empty for what is only added.
        adds: The passages that it puts in; empty for what is only taken out.
        after: The name of the incumbent's passage that it stands behind; ``None`` is the beginning.
        under: New headings that it brings and stands under, outermost first.
        whole: The whole new text, for a file that is replaced as one.
        gone: Whether the file is deleted.
        longer: How many more resident tokens that text has; a file beside SKILL.md has none.

    """

    file: str
    removes: tuple[str, ...] = ()
    adds: tuple[Passage, ...] = ()
    after: str | None = None
    under: tuple[Passage, ...] = ()
    whole: str | None = None
    gone: bool = False
    longer: int = 0

    @property
    def of_file(self) -> bool:
        """Whether it takes a whole file, and not passages of SKILL.md."""
        return self.whole is not None or self.gone

    @cached_property
    def id(self) -> str:
        """What tells it from other edits; where it stands does not count, so that the same rule is the same edit."""
        added = tuple(passage.key for passage in (*self.under, *self.adds))
        return _id_of(self.file, self.removes, added, GONE if self.gone else self.whole)

    @cached_property
    def slots(self) -> frozenset[str]:
        """What no two edits may both change."""
        if self.of_file:
            return frozenset((f"{self.file}\0",))
        return frozenset(f"{self.file}\0{key}" for key in self.removes)

    @cached_property
    def tokens(self) -> int:
        """About how many resident tokens it adds; what is read on demand alone, as other files are, adds none."""
        if self.of_file:
            return self.longer
        taken = sum(resident_tokens(text_of_name(name)) for name in self.removes)
        return sum(passage.tokens for passage in self.adds) - taken


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
                found.append(Edit(path, whole=new.get(path), gone=path not in after.files.files))
    return tuple(found)


def body_edits(old: Sequence[Passage], new: Sequence[Passage]) -> list[Edit]:
    """Return the edits between two bodies: one for each passage that is added or taken out, or run that is replaced."""
    names = names_of(old)
    stands = placed(new)
    found: list[Edit] = []
    for gap in gaps(names, names_of(new)):
        after = names[gap.start - 1] if gap.start else None
        gone, added = names[gap.start : gap.end], stands[gap.first : gap.last]
        if not added:
            found += [Edit(SKILL_FILE, (name,), after=after) for name in gone]
        elif not gone:
            found += _inserted(added, after)
        else:
            found += _replaced(old[gap.start : gap.end], gone, added, after)
    return found


def _replaced(old: Sequence[Passage], names: Sequence[str], new: Sequence[Placed], after: str | None) -> list[Edit]:
    """Return a replaced run as edits: item by item where they match, else as one; new sections are added.

    What is taken out before a new section is no part of it, so that the section stays the edit that it is elsewhere.
    """
    split = next((number for number, place in enumerate(new) if place.passage.level), len(new))
    if [p.kind for p in old] == [place.passage.kind for place in new] and not any(p.level for p in old):
        return [Edit(SKILL_FILE, (name,), (place.passage,), after) for name, place in zip(names, new, strict=True)]
    if any(passage.level for passage in old):
        split = len(new)
    if not split:
        return [*(Edit(SKILL_FILE, (name,), after=after) for name in names), *_inserted(new, names[-1])]
    head, rest = new[:split], new[split:]
    first = Edit(SKILL_FILE, tuple(names), tuple(place.passage for place in head), after)
    return [first, *_inserted(rest, names[-1])]


def _inserted(added: Sequence[Placed], after: str | None) -> list[Edit]:
    """Return one edit for each passage that is added; the headings that are added with it come with it."""
    found: list[Edit] = []
    path: list[Passage] = []
    for number, place in enumerate(added):
        passage = place.passage
        if passage.level:
            path = [heading for heading in path if heading.level < passage.level]
        following = added[number + 1].passage if number + 1 < len(added) else None
        bare = following is None or 0 < following.level <= passage.level
        if not passage.level or bare:
            found.append(Edit(SKILL_FILE, adds=(passage,), after=after, under=tuple(path)))
        if passage.level:
            path.append(passage)
    return found


def consistent(edits: Iterable[Edit]) -> list[Edit]:
    """Return edits of which no two change the same thing; of two that do, the earlier stays."""
    taken: set[str] = set()
    found = []
    for edit in edits:
        if not edit.slots & taken:
            taken |= edit.slots
            found.append(edit)
    return found


def with_edits(skill: Skill, edits: Iterable[Edit]) -> dict[str, str | None]:
    """Return the new text of each file that some edits change, by its path in the skill; ``None``: it goes.

    Edits that are in conflict with an earlier one are left out. What is added keeps the order of the edits; worked
    examples stay last, as a small model minds best what it read last.
    """
    chosen = consistent(edits)
    texts = {edit.file: edit.whole for edit in chosen if edit.of_file and edit.file != FRONTMATTER}
    front = next((edit.whole for edit in chosen if edit.file == FRONTMATTER), None)
    body_changes = [edit for edit in chosen if not edit.of_file]
    if front is None and not body_changes:
        return texts
    body = body_of(edited(passages_of(skill.body), body_changes)) if body_changes else skill.body
    text = with_body(skill.text, body)
    texts[SKILL_FILE] = text if front is None else f"{front.rstrip()}\n\n{body.strip()}\n"
    return texts


def edited(old: Sequence[Passage], edits: Sequence[Edit]) -> list[Passage]:
    """Return passages with some edits made: a replacement stands where the first that it takes out stood.

    A protected passage is taken out only where one of the edits puts it in again.
    """
    names = names_of(old)
    present = set(names)
    removed = {name for edit in edits for name in edit.removes} - _still_protected(old, names, edits)
    instead: dict[str, list[Edit]] = {}
    behind: dict[str | None, list[Edit]] = {}
    for edit in edits:
        place = next((name for name in edit.removes if name in present), None)
        if place is not None:
            instead.setdefault(place, []).append(edit)
        else:
            behind.setdefault(edit.after, []).append(edit)
    found = _added(behind.pop(None, []))
    for name, passage in zip(names, old, strict=True):
        if name not in removed:
            found.append(passage)
        found += [added for edit in instead.get(name, ()) for added in edit.adds]
        found += _added(behind.pop(name, []))
    for left in behind.values():
        found += _added(left)
    return found


def _still_protected(old: Sequence[Passage], names: Sequence[str], edits: Sequence[Edit]) -> set[str]:
    moved = {text for edit in edits for passage in edit.adds for text in protected_passages(passage.text)}
    return {name for name, passage in zip(names, old, strict=True) if set(protected_passages(passage.text)) - moved}


def _added(edits: Sequence[Edit]) -> list[Passage]:
    """Return what edits add at one place: what brings no heading first, then section by section, examples last."""
    sections: dict[tuple[Passage, ...], list[Passage]] = {}
    for edit in edits:
        lone = edit.adds[:1] if edit.adds and edit.adds[0].level and not edit.removes else ()
        path = (*edit.under, *lone)
        for depth in range(len(path) + 1):
            sections.setdefault(path[:depth], [])
        sections[path] += edit.adds[len(lone) :]
    ranks = {path: (_shows_examples(path), rank) for rank, path in enumerate(sections)}

    def order(path: tuple[Passage, ...]) -> list[tuple[bool, int]]:
        return [ranks[path[:depth]] for depth in range(1, len(path) + 1)]

    return [passage for path in sorted(sections, key=order) for passage in (*path[-1:], *sections[path])]


def _shows_examples(path: Sequence[Passage]) -> bool:
    return bool(path) and path[-1].text.strip() == EXAMPLES_HEADING
