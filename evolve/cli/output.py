"""Printing: text for people, one JSON document for programs, nothing that steers a terminal."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import click

from evolve.errors import EnvironmentFault, EvolveError, InputError

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document; events go to standard error, one a line."
)


def plain(text: str) -> str:
    """Return text without control characters; untrusted text must not steer the terminal."""
    return _STEERING.sub("", text)


def say(text: str, *, err: bool = False) -> None:
    """Print a line."""
    click.echo(plain(text), err=err)


def emit(value: Any, text: str, *, as_json: bool) -> None:
    """Print a result: as JSON, or as text."""
    if as_json:
        click.echo(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True))
    else:
        say(text)


def emit_bytes(data: bytes, output: Path | None) -> None:
    """Write a result to a file, or print it byte by byte; whoever made it saw to it that it steers no terminal."""
    from evolve.files import write_atomic

    if output is None:
        click.echo(data, nl=False)
        return
    if output.is_dir():
        raise InputError(f"--output: {output} is a folder", hint="give a file", code="usage")
    try:
        write_atomic(output, data)
    except EnvironmentFault as error:
        hint = "free some space, or give another file with --output"
        raise EnvironmentFault(error.message, hint=hint, code=error.code) from error
    say(f"written: {output}", err=True)


def emit_event(event: str, **fields: Any) -> None:
    """Print an event as one line of JSON to standard error, at once."""
    click.echo(json.dumps({"event": event, "at": round(time.time(), 3), **fields}), err=True)
    sys.stderr.flush()


def print_error(error: EvolveError, *, as_json: bool) -> None:
    """Print an error with its remedy to standard error; as JSON to standard output, and as an event."""
    from evolve.redact import redact

    message = redact(error.message)
    if as_json:
        fields = {"code": error.code, "message": message, "hint": error.hint}
        click.echo(json.dumps({"error": fields}, indent=2, ensure_ascii=False, sort_keys=True))
        emit_event("error", **fields)
        return
    say(f"error: {message}", err=True)
    if error.hint:
        say(f"  try: {error.hint}", err=True)
    sys.stderr.flush()


def table(rows: list[list[str]], header: list[str]) -> str:
    """Return a plain table with aligned columns."""
    cells = [header, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join(lines)
