"""Take the screenshots of the documentation from a workspace in which a generation has promoted something.

python scripts/take_screenshots.py WORKSPACE
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from evolve.view.export import export_site
from evolve.view.server import Viewer
from evolve.view.site import Site
from evolve.workspace import find_workspace

IMAGES = Path(__file__).parents[1] / "docs/images"
WIDTH, HEIGHT = 1120, 760


@contextmanager
def viewed(site: Site) -> Iterator[str]:
    """Serve a workspace."""
    viewer = Viewer(site)
    thread = Thread(target=viewer.run)
    thread.start()
    yield viewer.url
    viewer.stop()
    thread.join()


def take(browser: Browser, url: str, name: str, *, dark: bool = False, to: str = "", press: str = "") -> None:
    """Take a picture of a page, of the part with a heading, after a link was followed."""
    size: ViewportSize = {"width": WIDTH, "height": HEIGHT}
    with browser.new_context(color_scheme="dark" if dark else "light", viewport=size) as context:
        page: Page = context.new_page()
        page.goto(url)
        if press:
            page.locator(press).first.click()
            page.wait_for_timeout(300)
        if to:
            page.locator(to).first.evaluate("one => one.scrollIntoView({block: 'start'})")
            page.wait_for_timeout(300)
        page.screenshot(path=IMAGES / f"{name}.png")


def main() -> None:
    """Take every picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workspace", type=Path)
    given = parser.parse_args()
    workspace = find_workspace(given.workspace.resolve())
    promotion = next(path.parent for path in sorted(workspace.promotion.glob("purchase-json/*/promotion.json")))
    sweep = max(workspace.sweeps.glob("sealed-purchase-json-*"), key=lambda path: path.stat().st_mtime)
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"]) as browser,
        viewed(Site(workspace, live=True, cells=True)) as url,
    ):
        export_site(Site(workspace, live=False, cells=False), Path(folder) / "site")
        page = (Path(folder) / f"site/promotion/purchase-json/{promotion.name}.html").as_uri()
        take(browser, page, "report-verdict")
        take(browser, page, "report-effect", to="#effect")
        take(browser, page, "report-tasks", to="#tasks")
        take(browser, page, "report-cost", to="#usage svg")
        take(browser, page, "report-change-dark", dark=True, to="#change")
        take(browser, url, "view-index")
        take(browser, url.replace("index.html", f"sweep/{sweep.name}/index.html"), "view-sweep-dark", dark=True)
        take(browser, url.replace("index.html", f"sweep/{sweep.name}/cell/0.html"), "view-cell")


if __name__ == "__main__":
    main()
