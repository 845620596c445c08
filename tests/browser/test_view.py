"""The viewer in a browser: followed live, filtered, compared, opened from a disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from evolve.files import writer_lock
from evolve.view.export import export_site
from evolve.view.server import Viewer
from tests.browser.conftest import Tabs
from tests.promote.conftest import Measured
from tests.view.conftest import Growing, MakeSite, growing, make_site

__all__ = ["growing", "make_site"]


@pytest.fixture
def url(make_site: MakeSite) -> Iterator[str]:
    """Serve the workspace; asked for before tabs, so that they are closed while it is still there."""
    viewer = Viewer(make_site())
    thread = Thread(target=viewer.run)
    thread.start()
    yield viewer.url
    viewer.stop()
    thread.join(20)
    assert not thread.is_alive()


def entered(tabs: Tabs, url: str) -> Page:
    parts = urlsplit(url)
    tabs.allowed.add(f"{parts.scheme}://{parts.netloc}")
    return tabs.open(url)


def test_every_kind_of_page_is_quiet_and_has_no_serious_fault_of_access(
    url: str, tabs: Tabs, measured: Measured, accessible: Callable[[Page], None]
) -> None:
    page = entered(tabs, url)
    sweep = measured.evidence().promotion.sweep
    accessible(page)
    page.get_by_role("link", name=sweep).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"sweep {sweep}")
    accessible(page)
    page.get_by_role("link", name=re.compile("Its arms beside one another")).click()
    accessible(page)
    page.get_by_role("link", name=re.compile("^candidate of ")).first.click()
    expect(page.get_by_role("heading", name="Prompt")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name=re.compile("^evolve: ")).click()
    page.get_by_role("link", name=measured.folder.name).click()
    expect(page.get_by_role("heading", name="Verdict")).to_be_visible()
    accessible(page)


def test_a_sweep_is_followed_as_it_goes_without_being_loaded_again(
    url: str, tabs_in_light: Tabs, growing: Growing, accessible: Callable[[Page], None]
) -> None:
    with writer_lock(growing.folder / ".lock", "the test"):
        page = entered(tabs_in_light, url.replace("index.html", f"sweep/{growing.folder.name}/index.html"))
        page.evaluate("window.first = true")
        expect(page.locator("#panel")).to_contain_text("1 of 48")
        failed = page.locator("#cells td.failed").count()  # which arm was first depends on the digest of the code
        page.get_by_label("Only what did not resolve").check()
        expect(page.locator("#cells tbody tr:visible")).to_have_count(failed)
        growing.grow(20)
        expect(page.locator("#panel")).to_contain_text("11 of 48")
        expect(page.locator("form.filter output")).to_have_text(re.compile("[1-9][0-9]* of 48 cells"))
        assert page.locator("#cells tbody tr:visible td.failed").count() > 0
        assert page.locator("#cells tbody tr:visible td.resolved").count() == 0
        assert page.evaluate("window.first")
        growing.grow()
    expect(page.locator("body[data-live]")).to_have_count(0)
    expect(page.locator("#panel")).to_contain_text("finished")
    assert page.evaluate("window.first === undefined"), "what is over is loaded once more, and not followed"
    accessible(page)


def test_the_first_page_follows_what_runs(url: str, tabs_in_light: Tabs, growing: Growing) -> None:
    page = entered(tabs_in_light, url)
    row = page.get_by_role("row").filter(has_text=growing.folder.name)
    expect(row).to_contain_text("interrupted")
    with writer_lock(growing.folder / ".lock", "the test"):
        growing.grow(6)
        expect(row).to_contain_text("running")
        expect(row).to_contain_text("4 of 48")


def test_two_sweeps_are_compared_by_the_form(url: str, tabs: Tabs, accessible: Callable[[Page], None]) -> None:
    page = entered(tabs, url)
    page.get_by_label("A", exact=True).select_option(index=0)
    page.get_by_label("B", exact=True).select_option(index=0)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("nothing is decided by a comparison")).to_be_visible()
    accessible(page)


def test_cells_are_found_and_sorted(url: str, tabs_in_light: Tabs, measured: Measured) -> None:
    sweep = measured.evidence().promotion.sweep
    page = entered(tabs_in_light, url.replace("index.html", f"sweep/{sweep}/index.html"))
    rows = page.locator("#cells tbody tr:visible")
    expect(rows).to_have_count(48)
    page.get_by_label("Find").fill("sealed-03")
    expect(rows).to_have_count(6)
    page.get_by_role("button", name="run", exact=True).click()
    assert [row.locator("td").nth(1).inner_text() for row in rows.all()] == ["0", "0", "1", "1", "2", "2"]


def test_what_was_written_opens_from_a_disk(
    tabs: Tabs, make_site: MakeSite, tmp_path: Path, measured: Measured
) -> None:
    export_site(make_site(live=False, cells=True), tmp_path / "site")
    tabs.allowed.add("file://")
    page = tabs.open(tmp_path / "site/index.html")
    page.get_by_role("link", name=measured.folder.name).click()
    page.get_by_role("link", name=re.compile("^incumbent of ")).first.click()
    expect(page.get_by_role("heading", name="Reply")).to_be_visible()
    page.get_by_role("link", name=re.compile("^sweep ")).click()
    expect(page.locator("#cells tbody tr:visible")).to_have_count(48)


def test_a_tab_that_nobody_sees_is_not_followed_and_is_told_all_once_it_is_seen(
    url: str, tabs_in_light: Tabs, growing: Growing
) -> None:
    def seen(page: Page, *, yes: bool) -> None:
        page.evaluate(
            "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
            " document.dispatchEvent(new Event('visibilitychange')); }",
            not yes,
        )

    address = url.replace("index.html", f"sweep/{growing.folder.name}/index.html")
    with writer_lock(growing.folder / ".lock", "the test"):
        page = entered(tabs_in_light, address)
        expect(page.locator("#panel")).to_contain_text("1 of 48")
        seen(page, yes=False)
        for _ in range(7):
            seen(entered(tabs_in_light, address), yes=False)
        growing.grow(8)
        another = entered(tabs_in_light, address)
        expect(another.locator("#panel")).to_contain_text("5 of 48")
        expect(page.locator("#panel")).to_contain_text("1 of 48")
        seen(page, yes=True)
        expect(page.locator("#panel")).to_contain_text("5 of 48")
        expect(page.locator("#cells td.resolved, #cells td.failed")).to_have_count(5)
