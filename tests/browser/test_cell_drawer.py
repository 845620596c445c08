"""What is kept of a cell, opened from the matrix; a hostile transcript is text."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from evolve.agents.accounts import PhaseAccount, with_accounts
from evolve.promote.evidence import Evidence
from evolve.records.row import Row
from evolve.report.cell.kept import kept_of
from evolve.report.cell.view import CellView, cell_view
from evolve.report.page.drawers import drawers_of
from evolve.report.page.view import Around
from evolve.report.page.write import page_html
from evolve.sandbox.gateway.meter import Tokens
from tests.browser.conftest import Tabs
from tests.report.cell.test_view import PATCH, keep

SCRIPT = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>"
HOSTILE = f"{SCRIPT}\x1b[31mred\x1b[0m \u202egnp.exe\u202c\n::error file=x::boom\r\n"
SEEN = ("<script>alert(1)</script>", "\\x1b[31mred", "\\u202egnp.exe", "::error file=x::boom")
CALL = {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": f"echo {HOSTILE}"}}
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": HOSTILE, "is_error": True}
ENDLESS = {"type": "text", "text": "y" * 10_000_000}
LINES = [
    {"type": "assistant", "message": {"content": [{"type": "text", "text": HOSTILE}, CALL]}},
    {"type": "user", "message": {"content": [RESULT]}},
    {"type": "assistant", "message": {"content": [ENDLESS]}},
    {"type": "result", "result": HOSTILE},
]
ACCOUNT = PhaseAccount("work", Tokens(10), Tokens(11), 2, 2)


@pytest.fixture
def path(evidence: Evidence, tmp_path: Path) -> Path:
    """Write a page whose cells are kept with it; one of them has a hostile transcript."""
    text = with_accounts("\n".join(map(json.dumps, LINES)), [ACCOUNT])
    rows = [keep(tmp_path, row, "the reply") for row in evidence.rows]
    rows[0] = keep(tmp_path, evidence.rows[0], HOSTILE, text, PATCH)

    def view(row: Row) -> CellView:
        return cell_view(row, kept_of([tmp_path], row, "claude-code", None))

    page = page_html(replace(evidence, rows=tuple(rows)), Around(), drawers_of(rows, view))
    path = tmp_path / "page.html"
    path.write_bytes(page)
    return path


def opened(page: Page, row: Row) -> Page:
    """Open the drawer of a row."""
    arm = "incumbent" if row.role == "incumbent" else "candidate"
    page.get_by_role("link", name=f"{arm} of {row.identity.task}: ").nth(row.identity.run).click()
    return page


def test_a_drawer_opens_takes_the_focus_and_gives_it_back(tabs: Tabs, path: Path, evidence: Evidence) -> None:
    page = tabs.open(path)
    assert page.locator(".drawer:visible").count() == 0
    row = evidence.rows[0]
    drawer = opened(page, row).locator(".drawer:visible")
    expect(drawer).to_have_count(1)
    expect(drawer).to_be_focused()
    expect(drawer.get_by_role("heading", level=2)).to_contain_text(row.identity.task)
    page.keyboard.press("Escape")
    expect(page.locator(".drawer:visible")).to_have_count(0)
    assert page.evaluate("document.activeElement.closest('.matrix') !== null")
    page.keyboard.press("Enter")
    expect(drawer).to_have_count(1)
    drawer.get_by_role("link", name="Close").click()
    expect(page.locator(".drawer:visible")).to_have_count(0)


def test_a_drawer_has_no_serious_fault_of_access(
    tabs: Tabs, path: Path, evidence: Evidence, accessible: Callable[[Page], None]
) -> None:
    page = opened(tabs.open(path), evidence.rows[0])
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    accessible(page)


def test_a_hostile_transcript_is_text_and_calls_are_folded(tabs_in_light: Tabs, path: Path, evidence: Evidence) -> None:
    page = opened(tabs_in_light.open(path), evidence.rows[0])
    drawer = page.locator(".drawer:visible")
    said = drawer.locator(".steps .said-step").first
    for text in SEEN:
        expect(said).to_contain_text(text)
    call = drawer.locator("details.failed")
    expect(call.locator("pre").last).not_to_be_visible()
    call.locator("summary").click()
    for text in SEEN:
        expect(call.locator("pre").last).to_contain_text(text)
    assert page.locator("script").count() == 1 and page.locator("img").count() == 0
    expect(drawer.locator(".steps .said-step").last).to_contain_text("more characters")
    expect(drawer.get_by_role("row", name="work: input 10 11 tokens differ")).to_be_visible()
    expect(drawer.locator(".diff ins")).to_have_text("new")


def test_drawers_open_without_the_script_as_well(browser: Browser, path: Path, evidence: Evidence) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(path.as_uri())
        opened(page, evidence.rows[1])
        drawer = page.locator(".drawer:visible")
        assert drawer.count() == 1
        drawer.get_by_role("link", name="Close").click()
        assert page.locator(".drawer:visible").count() == 0


def test_what_does_not_fit_is_left_out_and_counted_what_failed_comes_first(evidence: Evidence, tmp_path: Path) -> None:
    rows = [keep(tmp_path, row, "the reply") for row in evidence.rows]

    def view(row: Row) -> CellView:
        return cell_view(row, kept_of([tmp_path], row, "chat", None))

    found = drawers_of(rows, view, most_bytes=20_000)
    assert 0 < len(found.drawers) < len(rows)
    assert found.left_out == len(rows) - len(found.drawers)
    kept = [row for row in rows if found.href(row)]
    assert not any(row.resolved for row in kept) or all(found.href(row) for row in rows if not row.resolved)
    page = page_html(replace(evidence, rows=tuple(rows)), Around(), found)
    assert f"Of {found.left_out} cells nothing is in this page".encode() in page
