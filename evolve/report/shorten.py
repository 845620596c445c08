"""A report as short as a forge takes it: what is long is folded away, and left out by whole lines, said in words."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate

# GitHub takes 65,536 characters in a pull request's text.
LIMIT_BYTES = 60_000
FOLDED_ROWS = 20
FOLDED_LINES = 40
SUMMARY_CHARS = 100
CLOSING = "Shortened to what a forge takes{}. The whole: `evolve report --json`, and the evidence itself."

_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*")
_RULE = re.compile(r"\|[ :|-]*-[ :|-]*")


class _Kind(IntEnum):
    """What a block is; the first are given room first."""

    TEXT = 0
    TABLE = 1
    FENCE = 2


@dataclass(frozen=True)
class _Block:
    """A part of a report, of which lines can be left out from the end; its head and its tail stay."""

    kind: _Kind
    head: tuple[str, ...]
    lines: tuple[str, ...]
    tail: tuple[str, ...] = ()
    under: str = ""

    def shown(self, kept: int) -> str:
        """Return it with as many of its lines as are kept, and what was left out."""
        text = "\n".join((*self.head, *self.lines[:kept], *self.tail)).strip("\n")
        left = sum(bool(line.strip()) for line in self.lines[kept:])
        if left or (kept < len(self.lines) and self.kind is not _Kind.TEXT):
            text = f"{text}\n\n({left or len(self.lines) - kept} of {self._lines()} left out)"
        return f"<details><summary>{self._summary()}</summary>\n\n{text}\n\n</details>" if self._folded() else text

    def _lines(self) -> str:
        return f"{len(self.lines)} {'rows' if self.kind is _Kind.TABLE else 'lines'}"

    def _folded(self) -> bool:
        most = {_Kind.TABLE: FOLDED_ROWS, _Kind.FENCE: FOLDED_LINES}
        return self.kind in most and len(self.lines) > most[self.kind]

    def _summary(self) -> str:
        # Within HTML nothing is Markdown any more, so that its escapes would be shown, and would escape nothing.
        title = re.sub(r"\\(.)", r"\1", self.under.lstrip("# "))[:SUMMARY_CHARS]
        return html.escape(f"{title}: {self._lines()}" if title else self._lines())


def shortened(markdown: str, limit: int = LIMIT_BYTES) -> str:
    """Return a report in at most so many bytes; text has room before tables, and tables before fences.

    Args:
        markdown: The report; its untrusted parts are inert, each on a line of its own, or fenced.
        limit: How many bytes of UTF-8 it may take, 1,000 at the least.

    """
    blocks = list(_blocks(markdown.split("\n")))
    whole = _joined([block.shown(len(block.lines)) for block in blocks])
    if _bytes(whole) <= limit:
        return whole
    room = limit - _bytes(CLOSING) - _bytes(f", the last {len(blocks)} parts left out") - 1
    least = list(accumulate(_least(block) for block in blocks))
    # Titles alone must not crowd out what stands below the first: that is the decision.
    fitting = sum(size <= room // 2 for size in least)
    kept = _shares(blocks[:fitting], room - (least[fitting - 1] if fitting else 0))
    gone = len(blocks) - fitting
    closing = CLOSING.format(f", the last {gone} parts left out" if gone else "")
    return _joined([*(block.shown(count) for block, count in zip(blocks, kept, strict=False)), closing])


def _shares(blocks: Sequence[_Block], room: int) -> list[int]:
    """Return how many lines of each block are kept: at first none takes more than half of the room that is left."""
    kept = [0] * len(blocks)
    for part in (2, 1):
        for index in sorted(range(len(blocks)), key=lambda index: blocks[index].kind):
            rest = blocks[index].lines[kept[index] :]
            sizes = list(accumulate(_bytes(line) + 1 for line in rest))
            fitting = sum(size <= room // part for size in sizes)
            kept[index] += fitting
            room -= sizes[fitting - 1] if fitting else 0
    return kept


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    at, under = 0, ""
    while at < len(lines):
        if fence := _FENCE.fullmatch(lines[at]):
            end = next((n for n in range(at + 1, len(lines)) if _closes(lines[n], fence[1])), len(lines))
            yield _Block(_Kind.FENCE, (lines[at],), tuple(lines[at + 1 : end]), (fence[1],), under)
            at = end + 1
        elif _is_table(lines, at):
            end = next((n for n in range(at + 2, len(lines)) if not lines[n].startswith("|")), len(lines))
            yield _Block(_Kind.TABLE, tuple(lines[at : at + 2]), tuple(lines[at + 2 : end]), (), under)
            at = end
        else:
            end = next((n for n in range(at + 1, len(lines)) if _begins(lines, n)), len(lines))
            under, titled = (lines[at], 1) if lines[at].startswith("#") else (under, 0)
            if any(line.strip() for line in lines[at:end]):
                yield _Block(_Kind.TEXT, tuple(lines[at : at + titled]), tuple(lines[at + titled : end]))
            at = end


def _begins(lines: Sequence[str], at: int) -> bool:
    return lines[at].startswith("#") or _FENCE.fullmatch(lines[at]) is not None or _is_table(lines, at)


def _is_table(lines: Sequence[str], at: int) -> bool:
    return lines[at].startswith("|") and at + 1 < len(lines) and _RULE.fullmatch(lines[at + 1]) is not None


def _closes(line: str, fence: str) -> bool:
    return line.startswith(fence) and not line.rstrip().strip(fence[0])


def _least(block: _Block) -> int:
    """Return how many bytes a block takes that keeps none of its lines, with the blank line after it."""
    digits = len(str(len(block.lines)))
    return _bytes(block.shown(0)) + digits + len("\n\n")


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(texts) + "\n"


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", errors="replace"))
