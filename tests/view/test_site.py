"""The pages of a workspace: each well-formed, each link leading to a page, nothing but text of what is untrusted."""

from __future__ import annotations

import posixpath
import re
import shutil
import threading
from pathlib import Path

import pytest

from evolve.bench.books import PLAN_FILE
from evolve.bench.follow import Follower
from evolve.bench.journal import Journal
from evolve.files import writer_lock
from evolve.generation.state import new_generation
from evolve.records.generation import Request
from evolve.view import live
from evolve.view.linked import LinkedTable
from evolve.view.live import IndexWatch, SweepWatch, Watch
from evolve.view.standing import Standings
from evolve.view.sweep_page import SweepBook, arms_of
from tests.promote.conftest import Measured
from tests.report.reading import Reader, named, read_page
from tests.view.conftest import Growing, MakeSite


def links(page: Reader) -> list[str]:
    found = [element.attributes["href"] for element in page.all if "href" in element.attributes]
    return [href for href in found if not href.startswith("#")]


def test_every_page_is_well_formed_and_every_link_of_it_leads_to_a_page(make_site: MakeSite) -> None:
    site = make_site()
    paths = set(site.paths())
    assert len(paths) > 50
    for path in sorted(paths):
        data = site.page(path)
        assert data is not None, path
        page = read_page(data, leads=True)
        for href in links(page):
            assert posixpath.normpath(posixpath.join(posixpath.dirname(path), href)) in paths, f"{path}: {href}"


def test_everything_is_reached_from_the_first_page(make_site: MakeSite) -> None:
    site = make_site()
    seen, waiting = set(), ["index.html"]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        page = site.page(path)
        assert page is not None
        for href in re.findall(rb'href="([^"#]+)"', page):
            waiting.append(posixpath.normpath(posixpath.join(posixpath.dirname(path), href.decode())))
    assert seen == set(site.paths())


@pytest.mark.parametrize(
    "path",
    [
        "",
        "index",
        "sweep/nothing/index.html",
        "sweep/../../evolve.yaml/index.html",
        "sweep/..%2f/index.html",
        "sweep/.hidden/index.html",
        "promotion/bracket/nothing.html",
        "promotion/../x/y.html",
        "generation/g9999.html",
        "compare/a/b.html",
        "index.html\n",
        "\0",
    ],
)
def test_what_is_no_page_is_none(make_site: MakeSite, path: str) -> None:
    assert make_site().page(path) is None


def test_cells_are_pages_only_where_they_are_asked_for(make_site: MakeSite, measured: Measured) -> None:
    site = make_site(live=False, cells=False)
    assert not any("/cell/" in path for path in site.paths())
    sweep = measured.evidence().promotion.sweep
    assert site.page(f"sweep/{sweep}/cell/0.html") is None
    for path in site.paths():
        assert b"/cell/" not in (site.page(path) or b"") and b'href="cell/' not in (site.page(path) or b"")


def test_a_promotion_leads_to_the_cells_of_its_sweep(make_site: MakeSite, measured: Measured) -> None:
    evidence = measured.evidence()
    path = f"promotion/bracket/{measured.folder.name}.html"
    data = make_site().page(path)
    assert data is not None
    found = [href for href in links(read_page(data, leads=True)) if "/cell/" in href]
    assert len(found) == len(evidence.rows)
    assert found[0].startswith(f"../../sweep/{evidence.promotion.sweep}/cell/")


def test_a_sweep_that_is_damaged_is_told_where_the_others_are(make_site: MakeSite, measured: Measured) -> None:
    site = make_site()
    sweeps = site.workspace.sweeps
    sweep = measured.evidence().promotion.sweep
    (sweeps / sweep / PLAN_FILE).write_text("{")
    data = site.page("index.html")
    assert data is not None and b"damaged" in data and sweep.encode() in data
    assert f"sweep/{sweep}/index.html" in set(site.paths())


def test_names_that_steer_are_text(make_site: MakeSite, measured: Measured) -> None:
    site = make_site()
    folder = site.workspace.generations
    state = new_generation(folder, Request(), None)
    state.update(summary="<script>alert(1)</script>\u202e\x1b[31m", skill="bracket")
    for path in ("index.html", f"generation/{state.record.id}.html"):
        data = site.page(path)
        assert data is not None
        page = read_page(data, leads=True)
        assert "<script>alert(1)</script>\\u202e\\x1b[31m" in "".join(one.text for one in named(page, "main"))


def test_two_sweeps_are_compared_and_a_sweep_with_nothing_in_common_is_told(
    make_site: MakeSite, measured: Measured
) -> None:
    site = make_site()
    names = [path.parent.name for path in site.workspace.sweeps.glob(f"*/{PLAN_FILE}")]
    sealed = measured.evidence().promotion.sweep
    train = next(name for name in names if name != sealed)
    same = site.page(f"compare/{sealed}/{sealed}.html")
    assert same is not None and "nothing is decided by a comparison" in read_page(same, leads=True).root.text
    other = site.page(f"compare/{train}/{sealed}.html")
    assert other is not None and "no arm in common" in read_page(other, leads=True).root.text


def test_where_sweeps_stand_is_read_again_only_when_something_happened(
    make_site: MakeSite, growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    standings = Standings(growing.folder.parent)
    first, damaged = standings.now()
    assert damaged == {} and len(first) == 2
    monkeypatch.setattr(Follower, "new_events", lambda _: pytest.fail("nothing happened"))
    assert standings.now()[0] == first
    monkeypatch.undo()
    growing.grow(10)
    changed = {one.sweep: one for one in standings.now()[0]}
    assert changed[growing.folder.name].settled > 0


def test_a_followed_sweep_tells_each_cell_once_and_then_that_it_is_over(make_site: MakeSite, growing: Growing) -> None:
    site = make_site()
    watch = SweepWatch(site, growing.folder.name)
    with writer_lock(growing.folder / ".lock", "the test"):
        assert set(watch.news()) == {"panel", "arms-box"}
        assert watch.news() == {}
        growing.grow(4)
        news = watch.news()
        assert "panel" in news and sum(name.startswith("cells-") for name in news) == 2
        assert "running" in news["panel"]
        assert not watch.over
        growing.grow()
        assert sum(name.startswith("cells-") for name in watch.news()) >= 45
    watch.news()
    assert watch.over


def test_the_rows_that_are_told_are_those_of_the_page(make_site: MakeSite, growing: Growing) -> None:
    site = make_site()
    watch = SweepWatch(site, growing.folder.name)
    watch.news()
    growing.grow()
    page = (site.page(f"sweep/{growing.folder.name}/index.html") or b"").decode()
    for html in watch.news().values():
        assert html.strip() in page


def test_a_followed_workspace_tells_its_sweeps(make_site: MakeSite, growing: Growing) -> None:
    watch = IndexWatch(make_site())
    assert set(watch.news()) == {"sweeps-box"}
    assert watch.news() == {}
    growing.grow(4)
    assert set(watch.news()) == {"sweeps-box"}


def test_a_book_that_was_open_knows_what_one_that_is_opened_knows(make_site: MakeSite, growing: Growing) -> None:
    site = make_site()
    name = growing.folder.name
    before = site.book(name)
    assert before is not None and len(before.rows) < 5
    growing.grow()
    after, fresh = site.book(name), SweepBook.open(Path(growing.folder))
    assert after is before and after is not None
    assert (after.rows, after.status, after.voids) == (fresh.rows, fresh.status, fresh.voids)
    assert [after.index_of(row) for row in after.rows] == [cell.index for cell in after.plan.cells]


def test_what_happened_between_a_page_and_its_first_question_is_told(make_site: MakeSite, growing: Growing) -> None:
    site = make_site()
    name = growing.folder.name
    with writer_lock(growing.folder / ".lock", "the test"):
        page = (site.page(f"sweep/{name}/index.html") or b"").decode()
        since = int(re.findall(r'data-live="events\?since=(\d+)"', page)[0])
        growing.grow(6)
        told = SweepWatch(site, name, since).news()
        assert sum(part.startswith("cells-") for part in told) == 3
        assert SweepWatch(site, name, since + 6).news().keys() == {"panel", "arms-box"}
        after = (site.page(f"sweep/{name}/index.html") or b"").decode()
        assert all(html.strip() in after for html in told.values())


def test_while_nothing_happens_nothing_is_made(
    make_site: MakeSite, growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    watches: list[Watch] = [SweepWatch(make_site(), growing.folder.name), IndexWatch(make_site())]
    for watch in watches:
        assert watch.news()
    for name in ("sweep_facts", "arms_of", "sweeps_table"):
        monkeypatch.setattr(live, name, lambda *_: pytest.fail("nothing happened"))
    assert [watch.news() for watch in watches] == [{}, {}]


def test_a_session_is_under_way_while_somebody_runs_it_and_cut_off_after(make_site: MakeSite, growing: Growing) -> None:
    site = make_site()
    watch = SweepWatch(site, growing.folder.name)
    with writer_lock(growing.folder / ".lock", "the test"):
        growing.grow(1)
        watch.news()
        page = (site.page(f"sweep/{growing.folder.name}/index.html") or b"").decode()
        assert "<td>under way</td>" in page and "<dt>under way</dt>" in page
    news = watch.news()
    assert "<dt>cut off</dt>" in news["panel"]
    assert ["<td>cut off</td>" in html for name, html in news.items() if name.startswith("cells-")] == [True]
    assert not watch.over


def test_a_sweep_that_is_gone_is_over(make_site: MakeSite, growing: Growing) -> None:
    watch = SweepWatch(make_site(), growing.folder.name)
    watch.news()
    shutil.rmtree(growing.folder)
    assert watch.news() == {} and watch.over


def test_what_one_reads_nobody_else_reads_on_in(make_site: MakeSite, growing: Growing) -> None:
    site = make_site()
    name = growing.folder.name
    others = [
        threading.Thread(target=look)
        for look in (lambda: site.page(f"sweep/{name}/index.html"), SweepWatch(site, name).news)
    ]
    with site.reading(name) as book:
        assert book is not None
        before = book.rows
        growing.grow()
        for other in others:
            other.start()
        for other in others:
            other.join(0.2)
        assert book.rows == before and all(other.is_alive() for other in others)
    for other in others:
        other.join(20)
    assert len(book.rows) > len(before)


def test_a_book_says_what_happened_to_its_cells(make_site: MakeSite, growing: Growing) -> None:
    site = make_site()
    book = site.book(growing.folder.name)
    assert book is not None
    journal = Journal(growing.path)
    first, second = book.plan.cells[:2]
    before = book.events
    journal.append("leased", arm=first.arm, token=90)
    journal.append("reuse-dropped", arm=second.arm, reason="drift")
    book.refresh()
    assert {cell.arm for cell in book.since(before)} == {second.arm}, "a warm-up is about no cell"
    assert len(book.since(before)) == sum(cell.arm == second.arm for cell in book.plan.cells)
    assert book.since(book.events) == []


@pytest.mark.parametrize("name", ["a b", "<b>x", ".hidden", "x%2f..", "na\u00efve"])
def test_a_folder_of_a_name_that_has_no_page_is_told_of_and_leads_nowhere(
    make_site: MakeSite, growing: Growing, name: str
) -> None:
    site = make_site()
    shutil.copytree(growing.folder, growing.folder.parent / name)
    shutil.copytree(
        new_generation(site.workspace.generations, Request(), None).folder, site.workspace.generations / f"g{name}"
    )
    page = read_page(site.page("index.html") or b"", leads=True)
    texts = [found.text for found in page.all if found.name == "th"]
    assert name in texts and f"g{name}" in texts
    addresses = [found.attributes["href"] for found in page.all if found.name == "a"]
    assert all(site.page(address) is not None for address in addresses if not address.startswith("#"))
    assert name not in [found.text for found in page.all if found.name == "option"]


def test_a_folder_that_was_renamed_is_known_by_its_name(make_site: MakeSite, growing: Growing) -> None:
    site = make_site()
    growing.folder.rename(growing.folder.with_name("renamed"))
    text = (site.page("index.html") or b"").decode()
    assert 'href="sweep/renamed/index.html"' in text and growing.folder.name not in text.split("h-generations")[0]


def test_an_interrupted_sweep_says_how_it_goes_on_and_no_void_attempt_is_told_as_none(
    make_site: MakeSite, growing: Growing
) -> None:
    page = read_page(make_site().page(f"sweep/{growing.folder.name}/index.html") or b"", leads=True)
    texts = [found.text for found in page.all if found.name in ("dt", "dd")]
    assert texts[texts.index("it goes on with") + 1] == f"evolve resume {growing.folder.name}"
    rows = [found for found in page.all if found.attributes.get("id", "").startswith("cells-") and found.name == "tr"]
    assert {row.children[-1].text for row in rows} == {"0"}


def test_what_is_told_to_many_is_made_once(
    make_site: MakeSite, growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site()
    watches = [SweepWatch(site, growing.folder.name) for _ in range(5)]
    made: list[object] = []

    def counted(book: SweepBook) -> LinkedTable:
        made.append(book)
        return arms_of(book)

    monkeypatch.setattr(live, "arms_of", counted)
    for expected in (1, 2):
        told = [watch.news() for watch in watches]
        assert all(one == told[0] and "arms-box" in one for one in told) and len(made) == expected
        growing.grow(4)
