"""``evolve completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from evolve.errors import InputError


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    Example: evolve completion bash > ~/.local/share/bash-completion/completions/evolve
    """
    from evolve.cli.main import cli

    completion = get_completion_class(shell)
    if completion is None:
        raise InputError(f"no completion for {shell}")
    click.echo(completion(cli, {}, "evolve", "_EVOLVE_COMPLETE").source())
