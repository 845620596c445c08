"""What of a page is another than it was: parts of it as HTML, by their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from evolve.report.page.html import environment
from evolve.view.index_page import sweeps_table
from evolve.view.site import Site
from evolve.view.sweep_page import CELLS, SweepBook, arms_of, cell_row, sweep_facts

Parts = dict[str, str]


class Watch(Protocol):
    """Somebody who looks at a page."""

    def news(self) -> Parts:
        """Return the parts that are another than when this was asked last; at first, all that may have changed."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        ...


def _macros() -> Any:
    return environment().get_template("macros.html.j2").module


class IndexWatch:
    """Looks at the page of a workspace."""

    over = False

    def __init__(self, site: Site) -> None:
        self._site = site
        self._macros = _macros()
        self._seen: Parts = {}

    def news(self) -> Parts:
        """Return the table of sweeps, when it is another."""
        return _changed(self._seen, {"sweeps-box": str(self._macros.linked(sweeps_table(*self._site.standings.now())))})


class SweepWatch:
    """Looks at the page of a sweep."""

    def __init__(self, site: Site, name: str) -> None:
        self._site = site
        self._name = name
        self._macros = _macros()
        self._seen: Parts = {}
        self._cells: dict[int, object] = {}
        self._stage = ""

    def news(self) -> Parts:
        """Return where it stands, its arms, and each cell to which something happened.

        Raises:
            EvolveError: The sweep is damaged.

        """
        book = self._site.book(self._name)
        if book is None:
            return {}
        status = book.status
        self._stage = status.stage
        parts = {
            "panel": str(self._macros.panel(sweep_facts(status))),
            "arms-box": str(self._macros.linked(arms_of(book))),
        }
        return _changed(self._seen, parts) | dict(self._rows(book))

    def _rows(self, book: SweepBook) -> Iterator[tuple[str, str]]:
        """Yield the rows of cells to which something happened; a page that is just opened has them all."""
        first, voids = not self._cells, book.voids
        under_way = {lease.cell for lease in book.follower.state.leases.values()}
        for cell in book.plan.cells:
            standing = (book.row(cell) is not None, cell.index in under_way, len(voids.get(cell.index, ())))
            if self._cells.get(cell.index) != standing:
                self._cells[cell.index] = standing
                if not first:
                    row = cell_row(book, cell, voids.get(cell.index, []), opens=self._site.cells)
                    name = f"{CELLS}-{cell.index}"
                    yield name, str(self._macros.linked_row(row, name))

    @property
    def over(self) -> bool:
        """Whether the sweep has come to its end."""
        return self._stage == "finished"


def _changed(seen: Parts, parts: Parts) -> Parts:
    news = {name: html for name, html in parts.items() if seen.get(name) != html}
    seen.update(news)
    return news
