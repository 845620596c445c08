"""The page of a promotion in a browser: used by mouse and keyboard, in light and dark, without asking anybody."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.report_page import enlarged
from evolve.promote.evidence import Evidence
from evolve.report.page.view import Around
from evolve.report.page.write import page_html
from tests.browser.conftest import Tabs
from tests.promote.conftest import Measured
from tests.report.test_page import HOSTILE, around, hostile, with_usage


@pytest.fixture
def path(measured: Measured, evidence: Evidence, tmp_path: Path) -> Path:
    """Write the page of the small promotion in which a task got worse."""
    decision = evidence.promotion.decision
    worst = decision.tasks[0].model_copy(update={"incumbent_resolved": 1, "candidate_resolved": 0})
    worse = decision.model_copy(update={"tasks": (worst, *decision.tasks[1:])})
    shown = evidence.promotion.model_copy(update={"decision": worse})
    told = replace(with_usage(evidence, cost_usd_micros=1_000, turns=3), promotion=shown)
    path = tmp_path / "page.html"
    path.write_bytes(page_html(told, around(measured, evidence)))
    return path


def tasks(page: Page) -> list[str]:
    return page.locator("#matrix-1 tbody tr:visible th").all_inner_texts()


def test_the_page_is_quiet_asks_nobody_and_has_no_serious_fault_of_access(
    tabs: Tabs, path: Path, accessible: Callable[[Page], None]
) -> None:
    page = tabs.open(path)
    accessible(page)
    assert page.locator("svg:visible").count() == 6


def test_the_dark_page_is_dark_and_the_light_one_light(tabs: Tabs, path: Path) -> None:
    page = tabs.open(path)
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    paper, ink = (_brightness(page, name) for name in ("background-color", "color"))
    assert (paper < 60 and ink > 200) if dark else (paper > 200 and ink < 60)


def _brightness(page: Page, name: str) -> float:
    colour = page.evaluate(f"getComputedStyle(document.body).getPropertyValue('{name}')")
    numbers = [float(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")]
    return sum(numbers) / len(numbers)


def test_tasks_are_found_by_a_part_of_their_name_and_by_regression(tabs_in_light: Tabs, path: Path) -> None:
    page = tabs_in_light.open(path)
    every = tasks(page)
    assert len(every) > 2
    page.get_by_label("Task", exact=True).fill(every[1].upper())
    assert tasks(page) == [name for name in every if every[1].lower() in name.lower()]
    page.get_by_label("Task", exact=True).fill("")
    page.get_by_label("Only regressions").check()
    assert tasks(page) == [every[0]]
    expect(page.locator("form.filter output").first).to_have_text(f"1 of {len(every)} tasks")
    page.get_by_label("Only regressions").uncheck()
    assert tasks(page) == every


def test_a_column_sorts_down_and_up_by_keyboard(tabs_in_light: Tabs, path: Path) -> None:
    page = tabs_in_light.open(path)
    button = page.get_by_role("button", name="task", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    assert tasks(page) == sorted(tasks(page))
    page.keyboard.press("Enter")
    assert tasks(page) == sorted(tasks(page), reverse=True)
    expect(page.locator("#matrix-1 th[aria-sort]")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="change in runs").click()
    texts = page.locator("#matrix-1 td[data-value]").all_inner_texts()
    changes = [int(text.split()[-1]) for text in texts]
    assert changes == sorted(changes)
    assert page.locator("#matrix-1 th[aria-sort]").count() == 1


def test_a_digest_is_copied(tabs_in_light: Tabs, path: Path) -> None:
    tabs_in_light.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = tabs_in_light.open(path)
    button = page.locator("button.copy").first
    button.click()
    expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == button.get_attribute("data-copy")


def test_a_digest_is_selected_where_nothing_may_be_copied(tabs_in_light: Tabs, path: Path) -> None:
    tabs_in_light.context.add_init_script("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))")
    page = tabs_in_light.open(path)
    button = page.locator("button.copy").first
    button.click()
    expect(button).to_have_text("Selected")
    assert page.evaluate("getSelection().toString()") == button.get_attribute("data-copy")


def test_the_words_that_changed_are_marked_in_the_diff(tabs: Tabs, path: Path) -> None:
    page = tabs.open(path)
    marked = page.locator(".diff ins", has_text="## Examples")
    expect(marked).to_be_visible()
    background = "one => getComputedStyle(one).backgroundColor"
    assert marked.evaluate(background) != page.locator("body").evaluate(background)


def test_untrusted_text_runs_nothing(
    tabs_in_light: Tabs, evidence: Evidence, tmp_path: Path, accessible: Callable[[Page], None]
) -> None:
    diff = f"--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-{HOSTILE}\n+{HOSTILE} more".replace("\r", "")
    path = tmp_path / "hostile.html"
    path.write_bytes(page_html(hostile(evidence, HOSTILE), Around(diff=diff, signed=(HOSTILE,))))
    page = tabs_in_light.open(path)
    assert page.locator("script").count() == 1
    assert "<script>alert(1)</script>" in page.locator(".diff").inner_text()
    accessible(page)


def test_everything_is_there_without_the_script(browser: Browser, path: Path) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(path.as_uri())
        assert len(tasks(page)) > 2
        assert page.locator("button:visible, form:visible").count() == 0


def test_five_thousand_rows_open_in_a_second(tabs_in_light: Tabs, evidence: Evidence, tmp_path: Path) -> None:
    path = tmp_path / "large.html"
    path.write_bytes(page_html(enlarged(evidence, 5_000), Around()))
    assert path.stat().st_size < 2_000_000
    page = tabs_in_light.open(path)
    took = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    began = time.monotonic()
    page.get_by_label("Task", exact=True).fill("00007")
    assert len(tasks(page)) >= 1
    print(f"opened in {took:.0f} ms, filtered and read in {1000 * (time.monotonic() - began):.0f} ms")
    assert took > 0


def test_on_paper_nothing_is_cut_off(tabs_in_light: Tabs, path: Path) -> None:
    page = tabs_in_light.open(path)
    page.emulate_media(media="print")
    assert page.locator("form.filter:visible, nav:visible, button.copy:visible").count() == 0
    hidden = page.evaluate(
        "[...document.querySelectorAll('.wide, .tall')].filter(e => getComputedStyle(e).overflow !== 'visible').length"
    )
    assert hidden == 0
