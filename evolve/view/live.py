"""What of a page is another than it was: parts of it as HTML, by their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from evolve.report.page.html import environment
from evolve.view.index_page import sweeps_table
from evolve.view.site import Site
from evolve.view.sweep_page import CELLS, SweepBook, arms_of, cell_rows, sweep_facts

Parts = dict[str, str]
GONE = "gone"


class Watch(Protocol):
    """Somebody who looks at a page."""

    def news(self) -> Parts:
        """Return the parts that are another than when this was asked last; at first, all that may have changed."""
        ...

    @property
    def at(self) -> int:
        """Where it is, so that who was away can go on from there."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        ...


def _macros() -> Any:
    return environment().get_template("macros.html.j2").module


class IndexWatch:
    """Looks at the page of a workspace.

    Args:
        site: The pages.
        fresh_s: So many seconds old may be what it tells.

    """

    over = False
    at = 0

    def __init__(self, site: Site, fresh_s: float = 0) -> None:
        self._site = site
        self._fresh_s = fresh_s
        self._macros = _macros()
        self._known: object = None

    def news(self) -> Parts:
        """Return the table of sweeps, when it is another."""
        found = self._site.standings.now(self._fresh_s)
        if found == self._known:
            return {}
        self._known = found
        return {"sweeps-box": str(self._macros.linked(sweeps_table(*found)))}


class SweepWatch:
    """Looks at the page of a sweep.

    Args:
        site: The pages.
        name: The sweep.
        since: How many events the journal had when the page was made; what happened since is told at first.

    """

    def __init__(self, site: Site, name: str, since: int | None = None) -> None:
        self._site = site
        self._name = name
        self._macros = _macros()
        self._seen: Parts = {}
        self._events = since
        self._known: tuple[int, bool] | None = None
        self._stage = ""

    def news(self) -> Parts:
        """Return where it stands, its arms, and each cell to which something happened.

        Raises:
            EvolveError: The sweep is damaged.

        """
        with self._site.reading(self._name) as book:
            if book is None:
                self._stage = GONE
                return {}
            standing = book.events, book.runs
            if standing == self._known:
                return {}
            return self._news(book, standing)

    def _news(self, book: SweepBook, standing: tuple[int, bool]) -> Parts:
        if book.told is None or book.told[0] != standing:  # however many look, it is made once
            status = book.status
            parts = {
                "panel": str(self._macros.panel(sweep_facts(status))),
                "arms-box": str(self._macros.linked(arms_of(book))),
            }
            book.told = standing, status.stage, parts
        _, self._stage, parts = book.told
        news = _changed(self._seen, parts) | dict(self._rows(book, standing[1]))
        self._known, self._events = standing, book.events
        return news

    def _rows(self, book: SweepBook, runs: bool) -> Iterator[tuple[str, str]]:
        """Yield the rows of cells to which something happened, and of those whose sessions were cut off."""
        planned = book.since(book.events if self._events is None else self._events)
        if self._known is not None and self._known[1] != runs:
            planned += [cell for cell in book.plan.cells if cell.index in book.leased]
        for row in cell_rows(book, planned, opens=self._site.cells):
            name = f"{CELLS}-{row[0].text}"
            yield name, str(self._macros.linked_row(row, name))

    @property
    def at(self) -> int:
        """How many events of its journal are told."""
        return self._events or 0

    @property
    def over(self) -> bool:
        """Whether the sweep has come to its end, or is gone."""
        return self._stage in ("finished", GONE)


def _changed(seen: Parts, parts: Parts) -> Parts:
    news = {name: html for name, html in parts.items() if seen.get(name) != html}
    seen.update(news)
    return news
