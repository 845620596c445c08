"""Every command block of README and docs does what the page says, in the order in which a reader meets it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from evolve.models.weights import ResolvedWeights
from tests.docs.answering import Answers
from tests.docs.commands import calls_of, parse
from tests.docs.pages import ROOT, SHELLS, SKIPPED, Page, all_pages, read_page
from tests.docs.running import SCRIPTED_PATH, Place, run_page
from tests.docs.worlds import WORLDS, build
from tests.worlds import ModelServer

PAGES = all_pages()
WITH_COMMANDS = [page for page in PAGES if page.shells]
ON_THE_MODEL = ("README.md", "docs/tutorial.md")
MOST_SKIPPED = 10
COMMAND = re.compile(r"^(\$ |(evolve|git|make|pip|python3?|cd|export|cat|gh|crontab|systemctl)( |$))", re.MULTILINE)
INLINE = re.compile(r"`(evolve [^`]+)`")
NOT_MARKED = ("", "text", *SHELLS, "yaml", "python", "json", "toml", "mermaid")


def named(page: Page) -> str:
    return page.name


@pytest.fixture(scope="session")
def zygote() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "zygote"
        environment = {**os.environ, "PYTHONPATH": SCRIPTED_PATH, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.docs.zygote", str(path)]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield path
            process.terminate()


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory, zygote: Path) -> Place:
    place = Place(tmp_path_factory.mktemp("measured"), zygote)
    build("measured", place)
    return place


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=named)
def test_every_block_of_a_page_ends_as_the_page_says(
    page: Page,
    tmp_path: Path,
    served: ModelServer,
    zygote: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = Place(tmp_path, zygote, served.url.removeprefix("http://").removesuffix("/v1"))
    served.answer = lambda system, asked, _: Answers(place.work).to(system, asked)
    if page.world == "measured":
        place.furnish()
        place.copy_work_of(request.getfixturevalue("measured"))
    else:
        build(page.world, place)
    left_out = run_page(page, place)
    with capsys.disabled():
        for one in left_out:
            print(f"\nnot run: {one}", end="")


@pytest.mark.model
@pytest.mark.parametrize("name", ON_THE_MODEL)
def test_the_tutorial_and_the_readme_hold_on_the_real_model(
    name: str, tmp_path: Path, real_weights: ResolvedWeights
) -> None:
    page = next(page for page in PAGES if page.name == name)
    place = Place(tmp_path, real_model=True)
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


def test_what_is_left_out_is_little_and_has_a_reason() -> None:
    skipped = [(page.name, block) for page in PAGES for block in page.shells if block.skip]
    assert {block.skip for _, block in skipped} <= set(SKIPPED)
    assert len(skipped) <= MOST_SKIPPED, [f"{name}:{block.line}: {block.skip}" for name, block in skipped]


def test_every_page_with_commands_names_the_world_that_they_are_run_in() -> None:
    assert [page.name for page in WITH_COMMANDS if page.world not in WORLDS] == []


@pytest.mark.parametrize("call", ["evolve bencmark X", "evolve report X --htlm", "evolve schedule print gitlab"])
def test_a_call_that_does_not_exist_is_found(call: str) -> None:
    with pytest.raises(click.UsageError):
        for words in calls_of(call):
            parse(words)


def write(folder: Path, text: str) -> Page:
    (folder / "page.md").write_text(text, encoding="utf-8")
    return read_page(folder / "page.md")
