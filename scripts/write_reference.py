"""Write docs/reference: the pages that are made from `--help` and from the schemas of the file formats.

They are committed, so that they can be read without a build and a change of an option or a field is seen in a diff; a
test holds them against what they are made from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from evolve.cli.main import cli
from evolve.records.schemas import FORMATS, json_schema

FOLDER = Path(__file__).parents[1] / "docs/reference"
WIDTH = 100
MADE = "<!-- Made by scripts/write_reference.py; do not edit. -->\n"
BY_PEOPLE: Mapping[str, str] = {
    "workspace": "evolve.yaml",
    "policy": "promotion/policy.yaml",
    "task": "corpus/TASK/task.yaml",
    "oracle": "corpus/TASK/oracle/oracle.yaml",
    "review": "review.json, of tasks of kind review",
    "overlay": "overlays/OVERLAY/overlay.yaml",
    "prices": "the table of prices",
}
BY_EVOLVE_ALONE: Mapping[str, str] = {
    "archive": "overlays/archive.jsonl, a line each",
    "cell-spec": "none: what an executor is handed",
    "decision": "none: part of promotion.json",
    "event": "results/sweeps/SWEEP/journal.jsonl, a line each",
    "generation": "results/generations/GENERATION/generation.json",
    "learning": "overlays/learnings.jsonl, a line each",
    "ledger": "promotion/ledger.jsonl, a line each",
    "plan": "results/sweeps/SWEEP/plan.json",
    "promotion": "promotion/SKILL/OVERLAY/promotion.json",
    "row": "rows.jsonl of a sweep and of evidence, a line each",
    "search": "results/generations/GENERATION/search.json",
    "weights": "a table that ships",
}
ANCHORS = {
    record.__name__: f"{'formats' if name in BY_PEOPLE else 'records'}.md#{name}" for name, record in FORMATS.items()
}
Schema = Mapping[str, Any]


def commands(command: click.Command, parent: click.Context | None, name: str) -> Iterator[tuple[int, str, str]]:
    """Yield depth, path and help of a command and all below it."""
    context = click.Context(
        command, parent, name, terminal_width=WIDTH, max_content_width=WIDTH, **command.context_settings
    )
    depth = 0
    above = parent
    while above is not None:
        depth, above = depth + 1, above.parent
    yield depth, context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for one in command.list_commands(context):
            below = command.get_command(context, one)
            assert below is not None
            yield from commands(below, context, one)


def cli_page() -> str:
    """Return the page of all commands."""
    parts = ["# Commands\n", MADE, "What `--help` says, of every command. Any command takes `--help`.\n"]
    for depth, path, text in commands(cli, None, "evolve"):
        parts.append(f"{'#' * (2 + (depth > 1))} {path}\n\n```text\n{text.rstrip()}\n```\n")
    return "\n".join(parts)


def cell(text: str) -> str:
    """Return a text as it may stand in a table."""
    return " ".join(text.split()).replace("|", "\\|")


def type_of(field: Schema) -> str:
    """Return the type of a field in words; what has a table of its own is a link to it."""
    if "$ref" in field:
        name = str(field["$ref"]).rsplit("/", 1)[-1]
        return f"[{name}]({ANCHORS.get(name, f'#{name.lower()}')})"
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    for several in ("anyOf", "oneOf"):
        if several in field:
            return " or ".join(dict.fromkeys(type_of(one) for one in field[several]))
    if field.get("type") == "array":
        items = field.get("items") or {"prefixItems": None}
        return "list" if "prefixItems" in field or "prefixItems" in items else f"list of {type_of(items)}"
    if field.get("type") == "object":
        values = field.get("additionalProperties") or next(iter(field.get("patternProperties", {}).values()), None)
        return f"mapping to {type_of(values)}" if isinstance(values, Mapping) else "mapping"
    return {"string": "text", "null": "null"}.get(str(field.get("type")), str(field.get("type", "anything")))


def bounds_of(field: Schema) -> str:
    """Return the limits of a field."""
    words = {"minimum": "≥", "maximum": "≤", "exclusiveMinimum": ">", "exclusiveMaximum": "<"}
    found = {**field}
    for one in field.get("anyOf", ()):
        found.update(one)
    return ", ".join(f"{sign} {found[name]:g}" for name, sign in words.items() if name in found)


def table(schema: Schema) -> str:
    """Return the fields of a record."""
    lines = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    required = set(schema.get("required", ()))
    for name, field in schema["properties"].items():
        limits = bounds_of(field)
        kind = type_of(field) + (f" ({limits})" if limits else "")
        default = "required" if name in required or "default" not in field else f"`{json.dumps(field['default'])}`"
        default = "" if default == "required" and name not in required else default
        parts = (f"`{name}`", kind, default, str(field.get("description", "")))
        lines.append("| " + " | ".join(cell(part) for part in parts) + " |")
    return "\n".join(lines) + "\n"


def fields_of(name: str) -> Iterator[tuple[str, Schema]]:
    """Yield the records of a format: its own first, then those in it that have fields."""
    schema = json_schema(name)
    yield FORMATS[name].__name__, schema
    yield from sorted(schema.get("$defs", {}).items())


def formats_page(title: str, about: str, names: Mapping[str, str]) -> str:
    """Return a page of formats; a record that several have stands where it is met first."""
    parts, told = [f"# {title}\n", MADE, about], set[str]()
    for name, where in names.items():
        for number, (record, schema) in enumerate(fields_of(name)):
            if record in told or (number and record in ANCHORS):
                continue
            told.add(record)
            said = str(schema.get("description", "")).split("\n\n")[0]
            head = f"## {name}\n\nFile: {where}. {said}\n" if number == 0 else f"### {record}\n\n{said}\n"
            if "enum" in schema:
                parts.append(head + "\nOne of " + ", ".join(f"`{value}`" for value in schema["enum"]) + ".\n")
            elif "properties" in schema:
                parts.append(head + "\n" + table(schema))
    return "\n".join(parts)


BY_HAND = """\
The files that people write, field by field. An unknown field is refused. `evolve schema NAME` prints the JSON Schema of
each, and the same lie in `docs/schemas` for editors: a first line `# yaml-language-server: $schema=.../task.json`
completes and checks a file as it is written.
"""
BY_EVOLVE = """\
The files that evolve writes, for programs that read them; [Evidence](../evidence.md) says how they belong together. All
are canonical JSON (RFC 8785), but for `weights`, which is a table that ships. `evolve schema NAME` prints the JSON
Schema of each.
"""


def pages() -> Mapping[str, str]:
    """Return the text of every page by the name of its file."""
    return {
        "cli.md": cli_page(),
        "formats.md": formats_page("Files that people write", BY_HAND, BY_PEOPLE),
        "records.md": formats_page("Files that evolve writes", BY_EVOLVE, BY_EVOLVE_ALONE),
    }


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
