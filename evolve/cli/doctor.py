"""``evolve doctor``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from evolve.cli.output import emit, json_option
from evolve.errors import ExitCode


@click.command("doctor", short_help="Look whether this machine can do what the workspace asks of it.")
@json_option
def command(as_json: bool) -> int:
    """Look whether this machine can do what the workspace asks of it, and say how to mend what it cannot.

    Nothing is changed and nothing is paid for. Exit 1 when something that is required is missing.

    Example: evolve doctor
    """
    from evolve.doctor import diagnose

    diagnoses = diagnose(Path.cwd())
    lines = []
    for item in diagnoses:
        mark = "ok  " if item.fine else "FAIL" if item.required else "warn"
        lines.append(f"{mark}  {item.what}: {item.found}")
        if not item.fine and item.fix:
            lines.append(f"      try: {item.fix}")
    emit([asdict(item) for item in diagnoses], "\n".join(lines), as_json=as_json)
    return ExitCode.BROKEN if any(item.required and not item.fine for item in diagnoses) else ExitCode.DONE
