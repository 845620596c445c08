"""The options of every command that measures: workers and budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from evolve.bench.runner import RunOptions

F = TypeVar("F", bound=Callable[..., Any])


class _Amount(click.FloatRange):
    """A finite number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what is no number that a limit can be."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no limit; leave the option out for none", param, ctx)
        return number


unsafe_host_option = click.option(
    "--unsafe-host",
    is_flag=True,
    help="Run agents and graders WITHOUT containment, as you. Refused in CI; such rows are never promoted.",
)
expensive_option = click.option("--include-expensive", is_flag=True, help="Take tasks that are marked expensive too.")
_OPTIONS = (
    click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Cells at once."),
    click.option("--max-usd", type=_Amount(min=0), help="End with exit 3 before more than this is spent."),
    click.option("--max-cells", type=click.IntRange(min=0), help="End with exit 3 after this many cells."),
    click.option("--max-wall", type=_Amount(min=0), metavar="SECONDS", help="Begin no cell after this time."),
    expensive_option,
    unsafe_host_option,
)


def run_options(command: F) -> F:
    """Add the options to a command; it takes them as what :func:`options_of` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def options_of(
    workers: int,
    max_usd: float | None,
    max_cells: int | None,
    max_wall: float | None,
    *,
    unsafe_host: bool,
    include_expensive: bool,
) -> RunOptions:
    """Return how sweeps are run, as the options say; one budget serves all sweeps of the command."""
    from evolve.bench.budget import Budget, Limits
    from evolve.bench.runner import RunOptions

    micros = None if max_usd is None else round(max_usd * 1_000_000)
    budget = Budget(Limits(micros, max_cells, max_wall))
    return RunOptions(workers=workers, budget=budget, unsafe_host=unsafe_host, include_expensive=include_expensive)
