"""Every command block of README and docs does what the page says, in the order in which a reader meets it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from evolve.models.weights import ResolvedWeights
from evolve.sandbox.choose import Uncontainable, choose_sandbox
from tests.docs.answering import Answers
from tests.docs.commands import calls_of, parse
from tests.docs.pages import SHELLS, SKIPPED, Block, Page, all_pages
from tests.docs.running import Place, run_page
from tests.docs.worlds import CONTAINED, WORLDS, build
from tests.worlds import ModelServer

PAGES = all_pages()
WITH_COMMANDS = [page for page in PAGES if page.shells]
ON_THE_MODEL = ("README.md", "docs/tutorial.md")
NOT_RUN = [(f"{page.name}:{block.line}", block) for page in PAGES for block in page.shells if block.skip]
MOST_NOT_RUN = 8
COMMAND = re.compile(r"^(\$ |(evolve|git|make|pip|python3?|cd|export|cat|gh|crontab|systemctl)( |$))", re.MULTILINE)
INLINE = re.compile(r"`(evolve [^`]+)`")
NOT_MARKED = ("", "text", *SHELLS, "yaml", "python", "json", "toml", "mermaid")


def named(page: Page) -> str:
    return page.name


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=named)
def test_every_block_of_a_page_ends_as_the_page_says(
    page: Page, tmp_path: Path, served: ModelServer, zygote: Path, request: pytest.FixtureRequest
) -> None:
    if page.world in CONTAINED and isinstance(choose_sandbox(), Uncontainable):
        pytest.skip("NOT TESTED: bubblewrap does not work here")
    place = Place(tmp_path, zygote, served.url.removeprefix("http://").removesuffix("/v1"))
    served.answer = lambda system, asked, _: Answers(place.work).to(system, asked)
    if page.world == "measured":
        place.furnish()
        place.copy_work_of(request.getfixturevalue("measured"))
    else:
        build(page.world, place)
    run_page(page, place)


@pytest.mark.parametrize(("where", "block"), NOT_RUN, ids=[where for where, _ in NOT_RUN])
def test_a_block_that_cannot_be_run_says_why_and_names_commands_that_exist(where: str, block: Block) -> None:
    assert block.skip in SKIPPED
    for words in calls_of(block.script):
        parse(words)
    pytest.skip(f"NOT RUN: {where}: {block.skip}")


def test_few_blocks_are_not_run() -> None:
    assert len(NOT_RUN) <= MOST_NOT_RUN


@pytest.mark.model
@pytest.mark.parametrize("name", ON_THE_MODEL)
def test_the_tutorial_and_the_readme_hold_on_the_real_model(
    name: str, tmp_path: Path, real_zygote: Path, real_weights: ResolvedWeights
) -> None:
    page = next(page for page in PAGES if page.name == name)
    place = Place(tmp_path, real_zygote, real_model=True)
    build(page.world, place)
    run_page(page, place)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_call_of_evolve_names_commands_and_options_that_exist(page: Page) -> None:
    prose = re.sub(r"^( *)(`{3,}).*?^\1\2$", "", page.path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for block in page.shells:
        for words in calls_of(block.script):
            parse(words)
    for call in INLINE.findall(prose):
        for words in calls_of(call.replace("\n", " ")):
            try:
                parse([word for word in words if word != "…"])
            except click.BadOptionUsage as error:  # the sentence goes on with the value
                assert words[-1] == error.option_name, call


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_blocks_that_are_not_run_hold_no_commands(page: Page) -> None:
    for block in page.blocks:
        where = f"{page.name}:{block.line}"
        assert block.language in NOT_MARKED or block.language.startswith("{"), where
        if block.language in ("", "text") and not block.name:
            assert not COMMAND.search(block.text), f"{where}: commands; say ```sh"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_of_python_can_be_read(page: Page) -> None:
    for block in page.blocks:
        if block.language == "python":
            ast.parse(block.text, f"{page.name}:{block.line}")


def test_every_page_with_commands_names_the_world_that_they_are_run_in() -> None:
    assert [page.name for page in WITH_COMMANDS if page.world not in WORLDS] == []


@pytest.mark.parametrize("call", ["evolve bencmark X", "evolve report X --htlm", "evolve schedule print gitlab"])
def test_a_call_that_does_not_exist_is_found(call: str) -> None:
    with pytest.raises(click.UsageError):
        for words in calls_of(call):
            parse(words)
