"""Keeping files within their limits: whole parts only, and what was cut is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

KIB = 1024
FILE_BYTES = 256 * KIB
BUNDLE_BYTES = 2 * 1024 * KIB
TITLE_CHARS = 120
NOTE_BYTES = 4 * TITLE_CHARS + 160
GAP = "\n\n"


@dataclass(frozen=True)
class Section:
    """A part of a file: a heading, and below it one text or several events, the newest first.

    Args:
        title: What it is.
        parts: Its texts, each of which is kept whole or left out; those that come first are kept first.

    """

    title: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Cut:
    """What was left out of a file, and why."""

    file: str
    what: str
    parts: int
    bytes: int
    why: str

    def sentence(self) -> str:
        """Return it as a sentence."""
        number = "" if self.parts == 1 else f"{self.parts} parts of "
        return f"Left out: {number}{self.what} ({self.bytes} bytes): {self.why}."


@dataclass(frozen=True)
class Fitted:
    """A file within its limit, and what was left out of it."""

    text: str
    cut: tuple[Cut, ...]


def size_of(text: str) -> int:
    """Return the length of a text in UTF-8 bytes."""
    return len(text.encode("utf-8"))


def fitted_file(file: str, head: str, sections: Sequence[Section], most: int = FILE_BYTES) -> Fitted:
    """Return a file of at most so many bytes.

    Room is given to sections in their order, and in a section to its parts in theirs: the first part that has no room
    ends a section. A note stands where something was left out; the room for all notes is kept back beforehand.

    Args:
        file: The file's path, for what is said.
        head: Its first lines, which are always kept.
        sections: What follows.
        most: The limit in UTF-8 bytes.

    """
    left = most - size_of(head) - NOTE_BYTES * len(sections)
    pieces, cut = [head], []
    for section in sections:
        title = f"## {section.title[:TITLE_CHARS]}"
        kept: list[str] = []
        for number, part in enumerate(section.parts):
            needed = size_of(part) + len(GAP) + (0 if kept else size_of(title) + len(GAP))
            if needed > left:
                gone = section.parts[number:]
                size = sum(map(size_of, gone))
                why = f"a file holds at most {most // KIB} KiB" if most >= KIB else f"a file holds {most} bytes"
                cut.append(Cut(file, section.title[:TITLE_CHARS], len(gone), size, why))
                break
            left -= needed
            kept.append(part)
        note = [f"({cut[-1].sentence()})"] if len(kept) < len(section.parts) else []
        pieces += [*([title] if kept else []), *kept, *note]
    return Fitted(GAP.join(pieces) + "\n", tuple(cut))


def within(files: Mapping[str, str], most: int) -> tuple[dict[str, str], tuple[Cut, ...]]:
    """Return the files, in their order, that fit into so many bytes together, and those that do not.

    A file that has no room is left out whole; a smaller one that comes after it may still have some.
    """
    kept, cut = {}, []
    for path, text in files.items():
        if (size := size_of(text)) <= most:
            kept[path] = text
            most -= size
        else:
            cut.append(Cut(path, "the whole file", 1, size, f"a bundle holds at most {BUNDLE_BYTES // KIB} KiB"))
    return kept, tuple(cut)
