"""What is kept of cells, in the page itself: opened from the matrix, without anything else at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evolve.records.row import Row
from evolve.report.page.html import environment

if TYPE_CHECKING:
    import markupsafe

    from evolve.report.cell.view import CellView

MOST_BYTES: Final = 8_000_000
MOST_MISSES: Final = 20
"""So many cells that have no room, and the page is taken for full: what is kept of the others is not read at all."""


@dataclass(frozen=True)
class Drawers:
    """The drawers of a page.

    Args:
        drawers: Each as HTML.
        hrefs: The address of each, by the digest of its row.
        left_out: Cells that would have made the page too large.

    """

    drawers: tuple[markupsafe.Markup, ...] = ()
    hrefs: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0

    def href(self, row: Row) -> str:
        """Return the address of a row's drawer, or nothing."""
        return self.hrefs.get(row.digest(), "")


def drawers_of(rows: Sequence[Row], view: Callable[[Row], CellView], most_bytes: int = MOST_BYTES) -> Drawers:
    """Return the drawers of as many cells as a page can hold; those that did not resolve come first.

    Args:
        rows: The cells.
        view: Reads what is kept of one.
        most_bytes: The most bytes of all drawers together.

    """
    macro = environment().get_template("cell.html.j2").module.drawer  # type: ignore[attr-defined]
    kept, hrefs, left, left_out = [], {}, most_bytes, 0
    ordered = sorted(rows, key=lambda row: row.resolved)
    for number, row in enumerate(ordered, 1):
        name = f"cell-{number}"
        drawer = macro(view(row), name)
        size = len(drawer.encode("utf-8"))
        if size > left:
            left_out += 1
            if left_out == MOST_MISSES:
                left_out += len(ordered) - number
                break
            continue
        left -= size
        kept.append(drawer)
        hrefs[row.digest()] = f"#{name}"
    return Drawers(tuple(kept), hrefs, left_out)
