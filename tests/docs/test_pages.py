"""Pages are read and run as their marks say, and a page that is not true fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.docs.pages import Page, all_pages, read_page
from tests.docs.running import Place, run_page
from tests.docs.worlds import build


def page_of(folder: Path, text: str) -> Page:
    (folder / "page.md").write_text(text, encoding="utf-8")
    return read_page(folder / "page.md")


def run(folder: Path, text: str) -> Place:
    place = Place(folder)
    build("folder", place)
    run_page(page_of(folder, text), place)
    return place


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.name)
def test_the_blocks_of_a_page_are_those_that_commonmark_sees(page: Page) -> None:
    tokens = MarkdownIt().parse(page.path.read_text(encoding="utf-8"))
    fences = [token for token in tokens if token.type == "fence"]
    assert [(token.map or [0])[0] + 1 for token in fences] == [block.line for block in page.blocks]
    assert [token.content for token in fences] == [block.text for block in page.blocks]
    assert [token.content for token in tokens if token.type == "code_block"] == [], "say ```"


def test_blocks_share_folder_and_variables_and_follow_one_another(tmp_path: Path) -> None:
    place = run(tmp_path, "```sh\nmkdir a && cd a\nexport B=c\n```\n\n```console\n$ echo $B > d\nnot a command\n```\n")
    assert (place.work / "a/d").read_text() == "c\n"


def test_a_fence_that_names_a_file_is_written_before_what_follows(tmp_path: Path) -> None:
    text = "<!-- run: with NAME=you -->\n```python tools/a.py\nprint('NAME')\n```\n\n```sh\npython tools/…\n```\n"
    place = run(tmp_path, f"{text}\n<!-- run: shows -->\n```text\nyou\n```\n")
    assert (place.work / "tools/a.py").read_text() == "print('you')\n"


@pytest.mark.parametrize(
    "text",
    [
        "```sh\nfalse\ntrue\n```\n",
        "```sh\nfalse | cat\n```\n",
        "<!-- run: exit 3 -->\n```sh\ntrue\n```\n",
        "<!-- run: first: false -->\n```sh\ntrue\n```\n",
        "```sh\necho one\n```\n<!-- run: shows -->\n```text\ntwo\n```\n",
        "```console\n$ cat not-there\n```\n",
    ],
)
def test_a_page_that_is_not_true_fails(text: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run(tmp_path, text)


def test_a_block_ends_with_the_code_that_the_page_states(tmp_path: Path) -> None:
    run(tmp_path, "<!-- run: exit 2 -->\n```sh\nevolve check\n```\n")


def test_a_block_that_is_skipped_is_not_run(tmp_path: Path) -> None:
    place = run(tmp_path, "<!-- run: skip: needs a forge -->\n```sh\ntouch a\n```\n\n```sh\ntouch b\n```\n")
    assert [path.name for path in place.work.iterdir()] == ["b"]


@pytest.mark.parametrize(
    "text", ["<!-- run: maybe -->\n```sh\ntrue\n```\n", "```sh\ntrue\n```\n<!-- run: exit 1 -->\n"]
)
def test_a_mark_that_says_nothing_or_belongs_to_no_block_fails(text: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        page_of(tmp_path, text)
