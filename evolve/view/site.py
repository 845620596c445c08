"""The pages of a workspace by their paths, as a server and a static bundle have them; all links are relative."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from evolve.bench.books import PLAN_FILE
from evolve.errors import EnvironmentFault, EvolveError, InputError
from evolve.generation.state import STATE_FILE, open_generation
from evolve.promote.evidence import read_evidence
from evolve.propose.diagnostics.columns import sweep_diagnostics
from evolve.records.row import Row
from evolve.report.cell.reader import CellReader
from evolve.report.page.html import Surroundings, document
from evolve.report.page.sweep import Beside, page_of_sweep
from evolve.report.page.view import page_of
from evolve.report.page.write import rendered
from evolve.view.alone import around_of
from evolve.view.compare_page import compare_values
from evolve.view.generation_page import generation_facts, generation_tables
from evolve.view.index_page import evidence_folders, generations_table, promotions_table, sweeps_table
from evolve.view.linked import NAME
from evolve.view.standing import Stamp, Standings, stamp_of
from evolve.view.sweep_page import SweepBook, arms_of, cells_table, sweep_facts, voided_pages
from evolve.workspace import Workspace

MOST_BOOKS: Final = 4
MAKER: Final = "evolve view"
ROUTES: Final = (
    (re.compile(r"index\.html"), "_index"),
    (re.compile(rf"sweep/({NAME})/index\.html"), "_sweep"),
    (re.compile(rf"sweep/({NAME})/report\.html"), "_sweep_report"),
    (re.compile(rf"sweep/({NAME})/cell/(\d{{1,9}})(?:-(\d{{1,9}}))?\.html"), "_cell"),
    (re.compile(rf"generation/({NAME})\.html"), "_generation"),
    (re.compile(rf"promotion/({NAME})/({NAME})\.html"), "_promotion"),
    (re.compile(rf"compare/({NAME})/({NAME})\.html"), "_compare"),
)


class Site:
    """The pages of a workspace.

    Args:
        workspace: The workspace.
        live: Whether a server tells of changes and finds comparisons.
        cells: Whether prompts, transcripts and patches of cells are pages too.

    """

    def __init__(self, workspace: Workspace, *, live: bool, cells: bool) -> None:
        self.workspace = workspace
        self.live = live
        self.cells = cells
        self.standings = Standings(workspace.sweeps)
        self._books: dict[str, tuple[Stamp, SweepBook]] = {}
        self._read: tuple[SweepBook, CellReader] | None = None
        self._lock = threading.Lock()
        self._reading: dict[str, threading.RLock] = {}

    def page(self, path: str) -> bytes | None:
        """Return the page at a path; ``None`` when there is none.

        Raises:
            EvolveError: What it would show is damaged.

        """
        for route, name in ROUTES:
            if found := route.fullmatch(path):
                page: bytes | None = getattr(self, name)(*found.groups())
                return page
        return None

    def paths(self) -> Iterator[str]:
        """Yield the path of every page; pages of comparisons aside, of which there are too many."""
        yield "index.html"
        for path in sorted(self.workspace.generations.glob(f"g*/{STATE_FILE}")):
            yield f"generation/{path.parent.name}.html"
        for folder in evidence_folders(self.workspace):
            yield f"promotion/{folder.parent.name}/{folder.name}.html"
        for path in sorted(self.workspace.sweeps.glob(f"*/{PLAN_FILE}")):
            yield from self._paths_of_sweep(path.parent.name)

    def _paths_of_sweep(self, name: str) -> Iterator[str]:
        yield f"sweep/{name}/index.html"
        try:
            book = self.book(name)
        except (EvolveError, OSError):
            return
        if book is None:
            return
        if book.compares:
            yield f"sweep/{name}/report.html"
        if self.cells:
            yield from (
                f"sweep/{name}/cell/{cell.index}.html" for cell in book.plan.cells if book.row(cell) is not None
            )
            yield from (f"sweep/{name}/cell/{index}-{attempt}.html" for index, attempt in voided_pages(book))

    def book(self, name: str) -> SweepBook | None:
        """Return what is known of a sweep, with what has happened to it since; ``None`` when there is none.

        Raises:
            EvidenceFault: Its journal is damaged.
            InputError: Its plan or a row is invalid.

        """
        folder = self.workspace.sweeps / name
        if not (folder / PLAN_FILE).is_file():
            return None
        stamp = stamp_of(folder)
        with self._lock:
            known = self._books.pop(name, None)
        book = SweepBook.open(folder) if known is None else known[1]
        if known is not None and known[0] != stamp:
            book.refresh()
        with self._lock:
            self._books[name] = stamp, book
            while len(self._books) > MOST_BOOKS:
                del self._books[next(iter(self._books))]
        return book

    @contextmanager
    def reading(self, name: str) -> Iterator[SweepBook | None]:
        """Hold what is known of a sweep as it is: nobody reads on in it meanwhile.

        Raises:
            EvidenceFault: Its journal is damaged.
            InputError: Its plan or a row is invalid.

        """
        if not (self.workspace.sweeps / name / PLAN_FILE).is_file():
            yield None
            return
        with self._lock:
            lock = self._reading.setdefault(name, threading.RLock())
        with lock:
            yield self.book(name)

    def _around(self, depth: int, *trail: tuple[str, str], live: str = "") -> Surroundings:
        up = "../" * depth
        home = (f"evolve: {self.workspace.root.name}", f"{up}index.html")
        return Surroundings((home, *trail), live if self.live else "", home=self.live, maker=MAKER)

    def _index(self) -> bytes:
        found, damaged = self.standings.now()
        return document(
            "index.html.j2",
            Surroundings(live="events" if self.live else "", home=self.live, maker=MAKER),
            title=f"evolve: {self.workspace.root.name}",
            running=sum(one.pid is not None for one in found),
            sweeps=sweeps_table(found, damaged),
            names=(names := [one.sweep for one in found if re.fullmatch(NAME, one.sweep)]),
            tables=[generations_table(self.workspace), promotions_table(self.workspace)],
            compares=self.live and len(names) > 1,
        )

    def _sweep(self, name: str) -> bytes | None:
        with self.reading(name) as book:
            if book is None:
                return None
            status = book.status
            return document(
                "sweep.html.j2",
                self._around(2, live="" if status.stage == "finished" else f"events?since={book.events}"),
                title=f"sweep {name}",
                facts=sweep_facts(status),
                arms=arms_of(book),
                cells=cells_table(book, opens=self.cells),
                report="report.html" if book.compares and book.rows else "",
            )

    def _sweep_report(self, name: str) -> bytes | None:
        with self.reading(name) as book:
            if book is None or not book.compares:
                return None
            voided = tuple(row for _, row in book.follower.state.voided)
            beside = Beside(voided, sweep_diagnostics(book.folder, book.plan, book.rows))
            page = page_of_sweep(book.plan, book.rows, partial(self._href, "", book), beside)
        return rendered(page, around=self._around(2, (f"sweep {name}", "index.html")))

    def _href(self, up: str, book: SweepBook, row: Row) -> str:
        """Return the address of a row's page from a report."""
        index = book.index_of(row) if self.cells else None
        return "" if index is None else f"{up}cell/{index}.html"

    def _cell(self, name: str, index: str, attempt: str | None) -> bytes | None:
        if not self.cells:
            return None
        with self.reading(name) as book:
            row = None if book is None else book.attempt(int(index), None if attempt is None else int(attempt))
            reader = None if book is None else self._reader(book)
        if reader is None or row is None:
            return None
        view = reader.view(row)
        trail = (f"sweep {name}", "../index.html")
        return document("cell_page.html.j2", self._around(3, trail), cell=view)

    def _reader(self, book: SweepBook) -> CellReader:
        """Return what reads the cells of a sweep; tasks may change under a server, and stay the same for a bundle."""
        if self.live or self._read is None or self._read[0] is not book:
            self._read = book, CellReader(self.workspace.corpus, [book.folder], [book.plan])
        return self._read[1]

    def _generation(self, name: str) -> bytes | None:
        folder = self.workspace.generations / name
        if not (folder / STATE_FILE).is_file():
            return None
        record = open_generation(folder).record
        return document(
            "generation.html.j2",
            self._around(1),
            title=f"generation {name}",
            facts=generation_facts(record),
            tables=generation_tables(record, self._evidence_page, self._sweep_page),
        )

    def _evidence_page(self, evidence: str) -> str:
        folder = Path(evidence)
        there = (self.workspace.root / folder / "promotion.json").is_file()
        return f"../promotion/{folder.parent.name}/{folder.name}.html" if there else ""

    def _sweep_page(self, name: str) -> str:
        there = re.fullmatch(NAME, name) and (self.workspace.sweeps / name / PLAN_FILE).is_file()
        return f"../sweep/{name}/index.html" if there else ""

    def _promotion(self, skill: str, name: str) -> bytes | None:
        folder = self.workspace.promotion / skill / name
        if not (folder / "promotion.json").is_file():
            return None
        evidence = read_evidence(folder)
        promotion = evidence.promotion
        sweeps = [promotion.sweep, *(one.sweep for one in promotion.extra)]
        with ExitStack() as held:
            names = sorted({one for one in sweeps if re.fullmatch(NAME, one)})  # two threads hold them in one order
            books = {one: held.enter_context(self.reading(one)) for one in names}

            def href(row: Row) -> str:
                known = ((one, book) for one in sweeps if (book := books.get(one)) is not None)
                found = (self._href(f"../../sweep/{one}/", book, row) for one, book in known)
                return next((address for address in found if address), "")

            page = page_of(evidence, around_of(self.workspace, evidence), href)
        return rendered(page, around=self._around(2))

    def _compare(self, before: str, after: str) -> bytes | None:
        folders = [self.workspace.sweeps / name for name in (before, after)]
        if not all((folder / PLAN_FILE).is_file() for folder in folders):
            return None
        trail = tuple((f"sweep {name}", f"../../sweep/{name}/index.html") for name in (before, after))
        try:
            values = compare_values(*folders)
        except InputError as error:
            return document("message.html.j2", self._around(2, *trail), title="Not comparable", lines=told(error))
        return document("compare.html.j2", self._around(2, *trail), title=f"{before} and {after}", found=values)

    def error_page(self, title: str, error: EvolveError | None, depth: int) -> bytes:
        """Return the page of what cannot be shown."""
        lines = told(error) if error is not None else ["There is no such page."]
        return document("message.html.j2", self._around(depth), title=title, lines=lines)


def known(error: Exception) -> EvolveError:
    """Return any error as one that can be shown."""
    if isinstance(error, EvolveError):
        return error
    if isinstance(error, OSError):
        return EnvironmentFault(f"{error.filename or 'a file'}: {error.strerror}")
    return EnvironmentFault(f"a fault of evolve itself: {type(error).__name__}: {error}", hint="please report it")


def told(error: EvolveError) -> list[str]:
    """Return an error as the sentences that a user reads."""
    return [error.message, *([f"try: {error.hint}"] if error.hint else [])]
