"""A unified diff at the level of words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from evolve.report.page.visible import LINE_CHARS, shown, visible

MOST_LINES: Final = 2_000
MOST_BLOCK_WORDS: Final = 1_200
# Below it, marking words would leave scattered ones unmarked that have nothing to do with each other.
ALIKE: Final = 0.4
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")

PieceKind = Literal["same", "del", "ins"]
LineKind = Literal["context", "del", "ins", "hunk", "file"]
SIGNS: Final[dict[LineKind, str]] = {"context": " ", "del": "-", "ins": "+", "hunk": "", "file": ""}


@dataclass(frozen=True)
class Piece:
    """A stretch of a line that stays, goes, or comes."""

    kind: PieceKind
    text: str


@dataclass(frozen=True)
class Line:
    """A line of a diff."""

    kind: LineKind
    pieces: tuple[Piece, ...]

    @property
    def sign(self) -> str:
        """What stands before it."""
        return SIGNS[self.kind]

    @property
    def text(self) -> str:
        """The line without its sign."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True)
class WordDiff:
    """The lines of a diff, how many were left out, and how many are added and removed in all."""

    lines: tuple[Line, ...] = ()
    left_out: int = 0
    added: int = 0
    removed: int = 0


def word_diff(unified: str) -> WordDiff:
    """Return a unified diff in which the words of changed lines are marked."""
    lines = unified.split("\n") if unified else []
    kinds = list(_kinds(lines))
    kept: list[Line] = []
    old: list[str] = []
    new: list[str] = []
    for kind, line in zip(kinds[:MOST_LINES], lines[:MOST_LINES], strict=True):
        if kind in ("del", "ins"):
            (old if kind == "del" else new).append(_cut(line[1:]))
            continue
        kept += _changed(old, new)
        old, new = [], []
        kept.append(_line(kind, "same", shown(line[1:] if kind == "context" else line)))
    kept += _changed(old, new)
    return WordDiff(tuple(kept), max(0, len(lines) - MOST_LINES), kinds.count("ins"), kinds.count("del"))


def _cut(line: str) -> str:
    """Return a line as it is compared; what tells of its length must not look like a word that changed."""
    return shown(line).replace("\n", " ") if len(line) > LINE_CHARS else visible(line)


def _kinds(lines: Sequence[str]) -> Iterator[LineKind]:
    """Yield what each line is; inside a hunk its counts say so, whatever the text looks like."""
    before = after = 0
    for line in lines:
        sign = line[:1]
        if before > 0 and sign == "-":
            before -= 1
            yield "del"
        elif after > 0 and sign == "+":
            after -= 1
            yield "ins"
        elif before > 0 and after > 0:
            before, after = before - 1, after - 1
            yield "context"
        elif hunk := _HUNK.match(line[:LINE_CHARS]):
            before, after = (1 if count is None else int(count) for count in hunk.groups())
            yield "hunk"
        else:
            yield "file"


def _line(kind: LineKind, piece: PieceKind, text: str) -> Line:
    return Line(kind, (Piece(piece, text),))


def _changed(old: Sequence[str], new: Sequence[str]) -> list[Line]:
    """Return the lines of a block that changed: those that go, then those that come."""
    before, after = _WORD.findall("\n".join(old)), _WORD.findall("\n".join(new))
    if old and new and len(before) + len(after) <= MOST_BLOCK_WORDS:
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        codes = matcher.get_opcodes()
        kept = sum(_words(before[i:j]) for tag, i, j, _, _ in codes if tag == "equal")
        if 2 * kept >= ALIKE * (_words(before) + _words(after)):
            gone = [("same" if tag == "equal" else "del", before[i:j]) for tag, i, j, _, _ in codes]
            come = [("same" if tag == "equal" else "ins", after[i:j]) for tag, _, _, i, j in codes]
            return [*_lines("del", gone), *_lines("ins", come)]
    return [*(_line("del", "del", text) for text in old), *(_line("ins", "ins", text) for text in new)]


def _words(tokens: Sequence[str]) -> int:
    return sum(not token.isspace() for token in tokens)


def _lines(kind: Literal["del", "ins"], runs: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Line]:
    pieces: list[Piece] = []
    for mark, words in runs:
        first, *rest = "".join(words).split("\n")
        pieces += _piece(kind, mark, first)
        for text in rest:
            yield Line(kind, tuple(pieces))
            pieces = _piece(kind, mark, text)
    yield Line(kind, tuple(pieces))


def _piece(kind: Literal["del", "ins"], mark: str, text: str) -> list[Piece]:
    return [Piece("same" if mark == "same" else kind, text)] if text else []
