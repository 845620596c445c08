"""What README and docs hold between fences, and the marks beside it that say how a test runs it.

A mark is a comment on a line of its own, ``<!-- run: … -->``. These hold for the next block:

- ``skip: REASON``: it cannot be run in a test; its `evolve` lines are parsed all the same. ``SKIPPED`` has the reasons.
- ``exit N``: the block ends with this code.
- ``scripted alone``: on the real weights it takes too long for a test.
- ``shows``: each line of this block, which is none of commands, was printed by the block before it.
- ``first: COMMAND``: what the reader has done before, and the page does not show.

And these from there to the end of the page:

- ``in WORLD``: the folder in which the page's blocks run, one after the other (``worlds.py``).
- ``with NAME=TEXT``: what stands in the place of a word that the reader fills in.

In a block, ``…`` is the rest of a name.

A fence that names a file after its language (```` ```yaml evolve.yaml ````) is written to that file, in the
folder where the page begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHELLS = ("sh", "bash", "console")
SKIPPED = (
    "installs software",
    "takes ten minutes on the model",
    "needs a forge",
    "needs a key of a provider",
    "changes the machine",
    "serves until it is stopped",
)
FENCE = re.compile(r"^ *(?P<ticks>`{3,})(?P<info>[^`]*)$")
MARK = re.compile(r"^ *<!-- run: (?P<verb>skip:|exit|shows|scripted alone|first:|in|with) ?(?P<rest>.*?) ?-->$")


@dataclass(frozen=True)
class Block:
    """What stands between two fences, and how it is run."""

    line: int
    language: str
    name: str
    text: str
    skip: str = ""
    exit_code: int = 0
    scripted_alone: bool = False
    shows: bool = False
    first: tuple[str, ...] = ()
    filled_in: tuple[tuple[str, str], ...] = ()

    @property
    def script(self) -> str:
        """The commands alone, with what the reader fills in filled in."""
        text = self.text
        if self.language == "console":
            text = "".join(line[2:] for line in text.splitlines(keepends=True) if line.startswith("$ "))
        return self._filled_in(text).replace("…", "*")

    @property
    def file(self) -> str:
        """The text of the file that the fence names."""
        return self._filled_in(self.text)

    def _filled_in(self, text: str) -> str:
        for name, value in self.filled_in:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", value.replace("\\", r"\\"), text)
        return text


@dataclass(frozen=True)
class Page:
    """A page with its blocks, in order."""

    path: Path
    world: str
    blocks: tuple[Block, ...]

    @property
    def name(self) -> str:
        """The path as one writes it."""
        return self.path.relative_to(ROOT).as_posix() if self.path.is_relative_to(ROOT) else self.path.name

    @property
    def shells(self) -> tuple[Block, ...]:
        """The blocks that hold commands."""
        return tuple(block for block in self.blocks if block.language in SHELLS)


@dataclass
class _Reader:
    """What was read so far of a page."""

    world: str = ""
    filled_in: dict[str, str] = field(default_factory=dict)
    marks: dict[str, list[str]] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)

    def mark(self, verb: str, rest: str) -> None:
        if verb == "in":
            self.world = rest
        elif verb == "with":
            name, _, value = rest.partition("=")
            self.filled_in[name] = value
        else:
            self.marks.setdefault(verb.rstrip(":"), []).append(rest)

    def block(self, line: int, info: str, text: str) -> None:
        language, _, name = info.strip().partition(" ")
        marks, self.marks = self.marks, {}
        self.blocks.append(
            Block(
                line,
                language,
                name,
                text,
                marks.get("skip", [""])[0],
                int(marks.get("exit", ["0"])[0]),
                "scripted alone" in marks,
                "shows" in marks,
                tuple(marks.get("first", ())),
                tuple(self.filled_in.items()),
            )
        )


def read_page(path: Path) -> Page:
    """Read a page; a mark that is none, or that no block follows, fails."""
    reader, lines = _Reader(), path.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        if mark := MARK.match(line):
            reader.mark(mark["verb"], mark["rest"])
        else:
            assert "<!-- run:" not in line, f"{path}:{number + 1}: a mark that says nothing: {line}"
        if fence := FENCE.match(line):
            closing = next(at for at in range(number + 1, len(lines)) if lines[at].strip() == fence["ticks"])
            body = "".join(f"{one}\n" for one in lines[number + 1 : closing])
            reader.block(number + 1, fence["info"], body)
            number = closing
        number += 1
    assert not reader.marks, f"{path}: marks at its end that no block follows: {reader.marks}"
    return Page(path, reader.world, tuple(reader.blocks))


def all_pages() -> list[Page]:
    """Read README and every page of docs."""
    built = ROOT / "docs/_build"
    paths = [path for path in sorted((ROOT / "docs").rglob("*.md")) if not path.is_relative_to(built)]
    return [read_page(path) for path in (ROOT / "README.md", *paths)]
