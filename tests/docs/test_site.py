"""The documentation can be built, read without a network, and walked through from its first page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.docs.pages import ROOT

RESOURCES = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src", "video": "src"}
LOADED = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"]?(?:https?:)?//", re.IGNORECASE)
NOT_LOADED = ("canonical", "license", "author")


class Reader(HTMLParser):
    """Collects what a page loads, where it leads, and what in it can be led to."""

    def __init__(self) -> None:
        super().__init__()
        self.resources: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in RESOURCES and RESOURCES[tag] in given and given.get("rel") not in NOT_LOADED:
            self.resources.append(given[RESOURCES[tag]])


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does, in another folder."""
    built = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(built / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(built / "html")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return built / "html"


@pytest.fixture(scope="module")
def read_pages(site: Path) -> dict[Path, Reader]:
    return {path.resolve(): read(path) for path in site.rglob("*.html")}


def targets(page: Path, reader: Reader) -> Iterator[tuple[Path, str]]:
    for link in reader.links:
        if not re.match(r"[a-z]+:", link):
            path, fragment = urldefrag(unquote(link))
            yield (page.parent / path).resolve() if path else page, fragment


def test_nothing_is_loaded_from_elsewhere(site: Path, read_pages: dict[Path, Reader]) -> None:
    for path, reader in read_pages.items():
        assert [one for one in reader.resources if re.match(r"(?:[a-z]+:)?//", one)] == [], path.name
    for sheet in site.rglob("*.css"):
        assert not LOADED.search(sheet.read_text(encoding="utf-8")), sheet.name


def test_every_page_of_docs_is_built_and_can_be_reached_from_the_first(
    site: Path, read_pages: dict[Path, Reader]
) -> None:
    built = ROOT / "docs/_build"
    sources = [path for path in (ROOT / "docs").rglob("*.md") if not path.is_relative_to(built)]
    expected = {(site / path.relative_to(ROOT / "docs")).with_suffix(".html").resolve() for path in sources}
    seen, waiting = set[Path](), [(site / "index.html").resolve()]
    while waiting:
        page = waiting.pop()
        if page not in seen:
            seen.add(page)
            waiting += [path for path, _ in targets(page, read_pages[page]) if path in read_pages]
    assert expected - seen == set()


def test_every_link_within_the_site_leads_somewhere(read_pages: dict[Path, Reader]) -> None:
    broken = []
    for page, reader in read_pages.items():
        for path, fragment in targets(page, reader):
            anchors = read_pages[path].anchors if path in read_pages else set()
            if not path.exists() or (fragment and path in read_pages and fragment not in anchors):
                broken.append(f"{page.name}: {path.name}#{fragment}")
    assert broken == []


def test_every_link_of_readme_and_docs_leads_to_a_file_of_the_repository() -> None:
    pages = [ROOT / "README.md", *(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)]
    for page in pages:
        text = re.sub(r"^( *)(`{3,}).*?^\1\2$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
            if not re.match(r"[a-z]+:", link) and urldefrag(link)[0]:
                assert (page.parent / urldefrag(link)[0]).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize(
    "name", ["evolve.gate.decide.decide", "evolve.stats.paired.sign_flip", "evolve.stats.power.sample_size"]
)
def test_what_is_public_of_the_package_has_its_docstring_on_the_site(
    site: Path, read_pages: dict[Path, Reader], name: str
) -> None:
    assert name in read_pages[(site / "reference/python.html").resolve()].anchors
