"""Whether a line that calls evolve names a command and options that exist."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click

from evolve.cli.main import cli

ENDS = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<", "(", ")"})


def calls_of(script: str) -> Iterator[list[str]]:
    """Yield the words of every call of evolve in a script, its name left out."""
    for line in script.replace("\\\n", " ").splitlines():
        try:
            reader = shlex.shlex(line, posix=True, punctuation_chars=True)
            reader.whitespace_split = True
            words = list(reader)
        except ValueError:  # a quotation over several lines
            continue
        while "evolve" in words:
            words = words[words.index("evolve") + 1 :]
            end = next((at for at, word in enumerate(words) if word in ENDS), len(words))
            yield words[:end]
            words = words[end:]


def parse(words: list[str]) -> None:
    """Hold a call against the command line's own definition; nothing is run.

    Raises:
        click.UsageError: There is no such command, option or choice.

    """
    command: click.Command = cli
    context = click.Context(command, info_name="evolve", **command.context_settings)
    rest = list(words)
    while isinstance(command, click.Group):
        if not rest or rest[0].startswith("-"):
            break
        found = command.get_command(context, rest[0])
        if found is None:
            raise click.UsageError(f"no command {rest[0]!r} in {words}")
        command, rest = found, rest[1:]
        context = click.Context(command, info_name=command.name, parent=context)
    values, _, _ = command.make_parser(context).parse_args(list(rest))
    for parameter in command.params:
        given = values.get(parameter.name or "")
        if isinstance(parameter.type, click.Choice) and isinstance(given, (str, list, tuple)):
            for value in [given] if isinstance(given, str) else given:
                parameter.type.convert(value, parameter, context)
