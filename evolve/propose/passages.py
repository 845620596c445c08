"""A skill's body as passages: the smallest pieces of text that can be taken or left on their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from evolve.protected import BEGIN, END

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_NUMBER = re.compile(r"^\d{1,9}[.)](?:[ \t]+(?=\S)|[ \t]*(?=\n|\Z))")
_BULLET = re.compile(r"^[-*+](?:[ \t]+(?=\S)|[ \t]*(?=\n|\Z))")
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9]*(?: [A-Za-z0-9]+)*")
CODE_INDENT = 4
_EXAMPLE = re.compile(r"^(?:User|Input)[ \t]*:", re.IGNORECASE)


class Kind(Enum):
    """What a passage is."""

    HEADING = "heading"
    NUMBERED = "numbered item"
    BULLET = "bullet"
    TEXT = "text"


@dataclass(frozen=True)
class Passage:
    """A passage: what it is, its text without a number, whether it stands apart, and where its list begins."""

    kind: Kind
    text: str
    apart: bool = True
    start: int = field(default=1, compare=False)

    @cached_property
    def key(self) -> str:
        """What tells it from other passages, whatever its number, spacing and case."""
        return f"{self.kind.value}: {' '.join(self.text.split()).casefold()}"

    @property
    def level(self) -> int:
        """The level of a heading; 0 for what is none."""
        if self.kind is not Kind.HEADING:
            return 0
        marks = len(self.text.lstrip()) - len(self.text.lstrip().lstrip("#"))
        return marks or (1 if self.text.rstrip().endswith("=") else 2)

    @property
    def tokens(self) -> int:
        """About how many tokens it is."""
        return resident_tokens(self.text)


def resident_tokens(text: str) -> int:
    """Return about how many tokens a text is: a quarter of its UTF-8 bytes, at least one for each word."""
    return max(len(text.encode("utf-8")) // 4, len(text.split()))


class _Block(NamedTuple):
    kind: Kind
    start: int
    end: int
    number: int = 1


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Only where blocks begin and end is asked, not what stands in them.
    return MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])


def _whole(body: str, lines: Sequence[str]) -> Iterator[_Block]:
    """Yield the blocks of a body, and as text the lines that make none, as link reference definitions do."""
    end = 0
    for block in _blocks(body):
        yield from _between(end, block.start, lines)
        yield block
        end = block.end
    yield from _between(end, len(lines), lines)


def _blocks(body: str) -> tuple[_Block, ...]:
    """Return the blocks of CommonMark that a body is made of, lists by their items; lines are counted from 0."""
    # But for the names of HTML elements, words decide nothing about blocks: other words in the same places are known.
    return _blocks_of(body if "<" in body else _WORDS.sub("x", body))


@lru_cache(maxsize=512)
def _blocks_of(body: str) -> tuple[_Block, ...]:
    found, listed, number = [], Kind.TEXT, 1
    for token in _parser().parse(body):
        if token.map is None or token.nesting < 0:
            continue
        if token.level == 0 and token.type.endswith("list_open"):
            listed = Kind.NUMBERED if token.type.startswith("ordered") else Kind.BULLET
            number = int(token.attrs.get("start", 1))
        elif token.level == 1 and token.type == "list_item_open":
            found.append(_Block(listed, token.map[0], token.map[1], number))
        elif token.level == 0:
            found.append(_Block(Kind.HEADING if token.type == "heading_open" else Kind.TEXT, *token.map))
    return tuple(found)


def _between(start: int, end: int, lines: Sequence[str]) -> Iterator[_Block]:
    first = start
    for number in range(start, end + 1):
        if number == end or not lines[number].strip():
            if number > first:
                yield _Block(Kind.TEXT, first, number)
            first = number + 1


def _joined(blocks: Iterable[_Block], lines: Sequence[str]) -> list[_Block]:
    """Join what must not be parted: a protected passage, a worked example, and what a line announces with a colon."""
    found: list[_Block] = []
    open_mark = open_example = False
    for block in blocks:
        text = "\n".join(lines[block.start : block.end])
        begins_mark = BEGIN in text and not open_mark
        text_alone = block.kind is Kind.TEXT and bool(found) and found[-1].kind is not Kind.HEADING
        announced = text_alone and _announces(found[-1], lines)
        new_example = bool(_EXAMPLE.match(text))
        goes_on = open_mark or (open_example and not new_example and block.kind is not Kind.HEADING and not begins_mark)
        goes_on = goes_on or (announced and not begins_mark and not new_example)
        if goes_on:
            found[-1] = found[-1]._replace(end=block.end)
        else:
            found.append(block)
            open_example = new_example
        open_mark = (open_mark or begins_mark) and text.rfind(END) <= text.rfind(BEGIN)
    return found


def _announces(block: _Block, lines: Sequence[str]) -> bool:
    kept = [line for line in lines[block.start : block.end] if line.strip()]
    return bool(kept) and kept[-1].rstrip().endswith(":")


def _outdented(lines: Sequence[str]) -> list[str]:
    """Return lines with as much less indentation as the first one has; code that is told by its own keeps it."""
    indent = len(lines[0]) - len(lines[0].lstrip(" "))
    if indent >= CODE_INDENT:
        return list(lines)
    return [line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines]


@lru_cache(maxsize=512)
def passages_of(body: str) -> tuple[Passage, ...]:
    """Split a body into its passages: headings, list items, worked examples, and paragraphs with what they announce.

    A fenced block, and what stands between the marks of a protected passage, is never split.
    """
    text = body.replace("\r\n", "\n").replace("\r", "\n").strip()
    lines = text.split("\n")
    found = []
    for block in _joined(_whole(text, lines), lines):
        piece = "\n".join(_outdented(lines[block.start : block.end])).rstrip()
        mark = _NUMBER if block.kind is Kind.NUMBERED else _BULLET if block.kind is Kind.BULLET else None
        match = mark.match(piece) if mark else None
        apart = block.start == 0 or not lines[block.start - 1].strip()
        found.append(Passage(block.kind, piece[match.end() :] if match else piece, apart, block.number))
    return tuple(found)


def body_of(passages: Iterable[Passage]) -> str:
    """Join passages into a body; numbered items that follow one another are numbered anew from their list's start."""
    pieces: list[str] = []
    number = 0
    before: Passage | None = None
    for passage in passages:
        follows = before is not None and before.kind is Kind.NUMBERED
        number = (number + 1 if follows else passage.start) if passage.kind is Kind.NUMBERED else 0
        mark = f"{number}. " if passage.kind is Kind.NUMBERED else "- " if passage.kind is Kind.BULLET else ""
        if before is not None and (passage.apart or _stands_apart(before, passage)):
            pieces.append("")
        pieces.append(mark + _indented(passage.text, len(mark)) if passage.text else mark.rstrip())
        before = passage
    return "\n".join(pieces)


def _indented(text: str, width: int) -> str:
    """Return the text of an item with what stands in it as far in as a wider number needs; protected text stays."""
    if "\n" not in text:
        return text
    first, *rest = text.split("\n")
    inside = [line for line in rest if line.startswith("  ") and line.strip()]
    short = width - min((len(line) - len(line.lstrip(" ")) for line in inside), default=width)
    if short <= 0 or BEGIN in text:
        return text
    return "\n".join([first, *(" " * short + line if line in inside else line for line in rest)])


def _stands_apart(before: Passage, passage: Passage) -> bool:
    """Whether a passage would run into the one before it without a blank line between them."""
    if passage.kind is Kind.TEXT:
        return before.kind is not Kind.HEADING
    listed = passage.kind in (Kind.NUMBERED, Kind.BULLET)
    if listed and before.kind is Kind.TEXT and (passage.start != 1 or not passage.text):
        return True
    underlined = passage.kind is Kind.HEADING and not passage.text.lstrip().startswith("#")
    return underlined or (before.kind is Kind.TEXT and before.text.startswith(("<", "[", "|")))


class Placed(NamedTuple):
    """A passage with the headings that it stands under, outermost first."""

    passage: Passage
    under: tuple[Passage, ...]


def placed(passages: Iterable[Passage]) -> list[Placed]:
    """Return passages with the headings that they stand under; a heading stands under those above its level."""
    path: list[Passage] = []
    found = []
    for passage in passages:
        if passage.kind is Kind.HEADING:
            path = [heading for heading in path if heading.level < passage.level]
        found.append(Placed(passage, tuple(path)))
        if passage.kind is Kind.HEADING:
            path.append(passage)
    return found
