"""A real Chromium, each of whose tabs fails its test for what it logs, loads or cannot be used for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request, expect, sync_playwright

from tests.promote.conftest import Measured, measured, measured_once
from tests.report.conftest import evidence

__all__ = ["Measured", "evidence", "measured", "measured_once"]

REQUIRED = "EVOLVE_REAL_BROWSER"
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SERIOUS = ("serious", "critical")
PATIENCE_MS = 30_000  # a busy machine is slow, and not wrong
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Tabs:
    """Opens tabs that remember what must not happen in them.

    Args:
        context: Where tabs are opened.
        faults: What happened: a word on the console, an error, a request to somewhere else.
        allowed: The origins that may be asked beside files.

    """

    context: BrowserContext
    faults: list[str] = field(default_factory=list)
    allowed: set[str] = field(default_factory=set)

    def open(self, where: str | Path) -> Page:
        address = where.resolve().as_uri() if isinstance(where, Path) else where
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda request: self._watch(request, address))
        page.on("dialog", self._refuse)
        page.goto(address)
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        self.faults.append(f"console {message.type}: {message.text}")

    def _refuse(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _watch(self, request: Request, address: str) -> None:
        asked = urlsplit(request.url)
        if asked.scheme != "data" and request.url.split("#")[0] != address.split("#")[0]:
            origin = f"{asked.scheme}://{asked.netloc}"
            if origin not in self.allowed:
                self.faults.append(f"request: {request.url}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    binary = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
    if binary is None:
        assert not os.environ.get(REQUIRED), "no chromium is installed"
        pytest.skip("NOT TESTED: no browser: apt install chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=binary, args=QUIET)
        yield found
        found.close()


@pytest.fixture(params=["light", "dark"])
def tabs(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Tabs]:
    yield from _tabs(browser, request.param)


@pytest.fixture
def tabs_in_light(browser: Browser) -> Iterator[Tabs]:
    yield from _tabs(browser, "light")


def _tabs(browser: Browser, scheme: str) -> Iterator[Tabs]:
    with browser.new_context(color_scheme="dark" if scheme == "dark" else "light") as context:
        found = Tabs(context)
        yield found
    assert found.faults == []


@pytest.fixture
def accessible() -> Callable[[Page], None]:
    """Return a check that a page has no serious fault for who uses it by keyboard or screen reader."""

    def check(page: Page) -> None:
        result = Axe().run(page)
        serious = [one for one in result.response["violations"] if one["impact"] in SERIOUS]
        assert serious == [], result.generate_report()
        assert result.response["passes"], "nothing was checked"

    return check
