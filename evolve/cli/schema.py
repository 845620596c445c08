"""``evolve schema``."""

from __future__ import annotations

import json

import click

from evolve.cli.output import emit, json_option


@click.command("schema", short_help="Print the JSON Schema of a file format.")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """Print the JSON Schema of a file format; without a name, list the formats.

    Example: evolve schema task > task.schema.json
    """
    from evolve.records.schemas import FORMATS, json_schema

    if name is None:
        emit(list(FORMATS), "\n".join(FORMATS), as_json=as_json)
    else:
        click.echo(json.dumps(json_schema(name), indent=2))
