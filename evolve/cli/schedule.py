"""``evolve schedule``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option

if TYPE_CHECKING:
    from evolve.scaffold.schedule import Kind


@click.group("schedule", short_help="Print a ready weekly job.")
def command() -> None:
    """Print a ready weekly job. Nothing is installed or started.

    Example: evolve schedule print github --max-usd 20
    """


@command.command("print")
@click.argument("kind", type=click.Choice(("github", "systemd", "cron")))
@click.option("--day", type=click.Choice(("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")), default="Mon")
@click.option("--hour", type=click.IntRange(0, 23), default=3, show_default=True, help="UTC at GitHub, else local.")
@click.option("--minute", type=click.IntRange(0, 59), default=17, show_default=True)
@click.option("--branch", default="evolve/weekly", show_default=True, help="What is proven is committed here.")
@click.option("--max-usd", type=click.FloatRange(min=0, min_open=True), help="The budget of a week.")
@click.option("--max-minutes", type=click.IntRange(1, 10_000), default=300, show_default=True)
@click.option("--skill", help="The skill; by default the one that fails most.")
@json_option
def print_command(
    kind: Kind,
    day: str,
    hour: int,
    minute: int,
    branch: str,
    max_usd: float | None,
    max_minutes: int,
    skill: str | None,
    as_json: bool,
) -> None:
    """Print a job that runs a generation every week within a budget, and opens a pull request at most.

    KIND is github (a workflow with least permissions), systemd (a user's service and timer) or cron.

    Example: evolve schedule print github --max-usd 20 > .github/workflows/evolve.yml
    """
    from evolve.scaffold.schedule import Schedule, job_text

    workspace = here()
    if skill is not None:
        workspace.skill(skill)
    schedule = Schedule(day, hour, minute, branch, max_usd, max_minutes, skill)
    text = job_text(kind, schedule, workspace.spec, workspace.root)
    emit({"kind": kind, "job": text}, text.rstrip("\n"), as_json=as_json)
