"""Tables whose cells may lead somewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from evolve.report.page.visible import shown

NAME: Final = r"(?!\.)[A-Za-z0-9._-]{1,200}"
"""What a folder may be called for something of it to have a page."""


@dataclass(frozen=True)
class Cell:
    """A text, and the address of the page that tells more of it; ``kind`` says how it looks."""

    text: str
    href: str = ""
    kind: str = ""


@dataclass(frozen=True)
class LinkedTable:
    """A table with a name and a caption; ``sorts`` says for each column whether it is text or number, or is none."""

    name: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sorts: tuple[str, ...] = ()
    names_rows: bool = False

    def row_name(self, row: tuple[Cell, ...]) -> str:
        """Return the name of a row: that of the table, and the text of its first cell."""
        return f"{self.name}-{row[0].text}" if self.names_rows else ""


def named(name: str, address: str, most: int = 200) -> Cell:
    """Return a name that leads to its page, if something of such a name can have one.

    Args:
        name: The name.
        address: The address, with ``{}`` for the name.
        most: The most characters of it that are shown.

    """
    return Cell(shown(name, most), address.format(name) if re.fullmatch(NAME, name) else "")


def cells(*texts: object) -> tuple[Cell, ...]:
    """Return texts as cells that lead nowhere."""
    return tuple(text if isinstance(text, Cell) else Cell(str(text)) for text in texts)


def count(number: int, one: str) -> str:
    """Return a number with what it counts; all that is counted here has a plural in -s."""
    return f"{number:,} {one}" + ("" if number == 1 else "s")
