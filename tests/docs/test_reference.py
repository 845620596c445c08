"""The reference says what the program, the schemas and the docstrings say."""

from __future__ import annotations

import click
import pytest

from evolve.cli.main import COMMANDS, cli
from evolve.records.schemas import FORMATS, json_schema
from scripts.write_reference import BY_EVOLVE_ALONE, BY_PEOPLE, FOLDER, commands, pages


@pytest.mark.parametrize("name", pages())
def test_a_page_that_is_made_is_the_one_that_would_be_made_today(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == pages()[name], "python -m scripts.write_reference"


def test_every_command_and_subcommand_has_its_help_in_the_reference() -> None:
    page = (FOLDER / "cli.md").read_text(encoding="utf-8")
    paths = [path for _, path, _ in commands(cli, None, "evolve")]
    assert {path.split()[1] for path in paths[1:]} == set(COMMANDS)
    assert "evolve corpus import harbor" in paths
    for path in paths:
        assert f"# {path}\n" in page


def test_every_option_has_a_line_in_the_reference() -> None:
    page = (FOLDER / "cli.md").read_text(encoding="utf-8")
    context = click.Context(cli, **cli.context_settings)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        section = page.split(f"## evolve {name}\n")[1].split("\n## ")[0]
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert option.opts[0] in section, (name, option.opts)


def test_every_format_and_each_of_its_fields_is_in_the_reference() -> None:
    page = "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("formats.md", "records.md"))
    for name in FORMATS:
        section = page.split(f"\n## {name}\n")[1].split("\n##")[0]
        for field in json_schema(name)["properties"]:
            assert f"| `{field}` |" in section, (name, field)


def test_every_format_has_its_page() -> None:
    assert {*BY_PEOPLE, *BY_EVOLVE_ALONE} == set(FORMATS)
    assert not {*BY_PEOPLE} & {*BY_EVOLVE_ALONE}
