"""``evolve compare``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option, table
from evolve.compare.compare import DEFAULT_ESTIMAND, compare, scaled
from evolve.compare.figures import METRICS, OTHER_NAMES, Metric, Price
from evolve.compare.words import HEADER, LEGEND, change_unit, closing, computed, finding_row, left_out, reasons, size_of
from evolve.errors import EvolveError, ExitCode, InputError
from evolve.stats.estimands import ESTIMANDS

if TYPE_CHECKING:
    from evolve.compare.compare import Comparison, Finding
    from evolve.compare.figures import Side

FEW_TASKS = 5
MAX_LENGTH = 4096
MAX_PRICE = 1_000_000


def _price(ctx: click.Context, param: click.Parameter, value: str | None) -> Price | None:
    """Return the three prices of an option."""
    if value is None:
        return None
    try:
        amounts = [float(part) for part in value.split("/")]
    except ValueError:
        amounts = []
    if len(amounts) != 3 or not all(math.isfinite(one) and 0 <= one <= MAX_PRICE for one in amounts):
        raise click.BadParameter(f"{value[:40]!r} is not UNCACHED/CACHED/OUTPUT, as in 5/0.5/30", ctx, param)
    return Price(*amounts)


@click.command("compare", short_help="Set two sweeps or two imported scorecards beside one another; decides nothing.")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--metric", "names", multiple=True, help=f"One of {', '.join(METRICS)}, or a column; repeat it.")
@click.option("--estimand", type=click.Choice(list(ESTIMANDS)), default=DEFAULT_ESTIMAND, show_default=True)
@click.option("--price", callback=_price, metavar="UNCACHED/CACHED/OUTPUT", help="USD a million tokens of each.")
@click.option("--arm", help="The arm of sweep A, and of B if it has several.")
@click.option("--arm-b", help="The arm of sweep B.")
@click.option("--by-task", is_flag=True, help="Show the change of each task, however many there are.")
@json_option
def command(
    before: str,
    after: str,
    names: tuple[str, ...],
    estimand: str,
    price: Price | None,
    arm: str | None,
    arm_b: str | None,
    by_task: bool,
    as_json: bool,
) -> int:
    """Set two sweeps or two imported scorecards beside one another, over the tasks that both have. Nothing is decided.

    A and B are ids or folders of sweeps, or CSV files with a column task; FILE#ROUND takes one round of a file with a
    column round. A metric that one side lacks is not comparable. Changes are counted from A to B.

    Example: evolve compare rounds.csv#8 rounds.csv#32 --price 5/0.5/30
    """
    metrics = [METRICS.get(name) or Metric(name, _unit(name)) for name in _unique(names)]
    pairs = _pairs(before, after, arm, arm_b, [one.name for one in metrics if one.name not in METRICS], price)
    found = [compare(one, other, metrics, estimand) for one, other in pairs]
    value = {"decides": False, "comparisons": [_value(one) for one in found]}
    text = "\n\n".join(_text(one, by_task=by_task) for one in found)
    emit(value, f"{text}\n{closing(found)}", as_json=as_json)
    return ExitCode.DONE


def _unit(name: str) -> str:
    """Return the unit of a column, if it is one of the columns that evolve scorecard writes."""
    from evolve.scorecard.metrics import METRICS as OF_CARDS

    return OF_CARDS[name].unit if name in OF_CARDS else ""


def _unique(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(OTHER_NAMES.get(name, name) for name in names))


def _pairs(
    before: str, after: str, arm: str | None, arm_b: str | None, extra: Sequence[str], price: Price | None
) -> list[tuple[Side, Side]]:
    """Return which sides stand beside one another."""
    from evolve.compare.scorecards import ROUND, RUN, TASK

    if rows := [name for name in extra if name in (TASK, ROUND, RUN)]:
        raise InputError(f"--metric {rows[0]}: names a row, it is no figure", code="no-metric")
    one, other = _read(before, extra, price), _read(after, extra, price)
    there = set().union(*(side.columns for sides in (one, other) for side in sides.values()))
    for name in extra:
        if name not in there:
            raise InputError(
                f"--metric {name}: neither side has it",
                hint=f"one of {', '.join(METRICS)}, or a column with figures",
                code="no-metric",
            )
    from evolve.compare.sweeps import choose_arms

    return choose_arms(one, other, arm, arm_b)


def _read(what: str, extra: Sequence[str], price: Price | None) -> dict[str, Side]:
    """Return the arms of a sweep by name, or a scorecard as the only one."""
    from evolve.compare.scorecards import is_file, read_scorecard, split_name
    from evolve.compare.sweeps import find_sweep, read_sweep

    if "\0" in what or len(what) > MAX_LENGTH:
        raise InputError(f"{what[:40]!r}: no sweep and no file", code="not-found")
    path, chosen = split_name(what)
    if chosen is not None or path.suffix.lower() == ".csv" or is_file(path):
        card = read_scorecard(what, extra=extra, price=price)
        return {card.name: card}
    try:
        workspace = here()
    except EvolveError as error:
        raise InputError(f"{what}: no such file, and no workspace to find a sweep in: {error.message}") from error
    folder = find_sweep(workspace.sweeps, what)
    if folder is None:
        raise InputError(
            f"{what}: no file, and no sweep below {workspace.relative(workspace.sweeps)}",
            hint="give a sweep's id, or FILE.csv, or FILE.csv#ROUND",
            code="not-found",
        )
    return read_sweep(folder, price)


def _value(found: Comparison) -> dict[str, Any]:
    """Return a comparison for programs."""
    sides = {
        name: {"name": side.name, "agents": side.agents, "runs": side.run_counts(found.tasks)}
        for name, side in (("a", found.before), ("b", found.after))
    }
    left_out = {"only_in_a": found.only_before, "only_in_b": found.only_after, "changed": found.changed}
    return {
        **sides,
        "tasks": found.tasks,
        "left_out": left_out,
        "caveats": found.caveats,
        "metrics": [_finding_value(one) for one in found.findings],
    }


def _finding_value(found: Finding) -> dict[str, Any]:
    estimate = found.estimate
    known = {} if estimate is None else {**asdict(estimate), "estimand": found.estimand}
    return {
        "metric": found.metric.name,
        "unit": found.metric.unit,
        "estimand": found.estimand,
        "verdict": found.verdict,
        "why": found.why,
        "a": found.before,
        "b": found.after,
        "change": found.change,
        "change_unit": change_unit(found),
        "change_low": None if estimate is None else scaled(estimate, estimate.low),
        "change_high": None if estimate is None else scaled(estimate, estimate.high),
        "p_value": found.p_value,
        "estimate": known or None,
        "computed": {"a": found.computed[0], "b": found.computed[1]},
        "by_task": [asdict(one) for one in found.by_task],
    }


def _text(found: Comparison, *, by_task: bool) -> str:
    """Return a comparison for people."""
    n = size_of(found)
    lines = [
        f"A: {found.before.name}",
        f"B: {found.after.name}",
        table([finding_row(one, n) for one in found.findings], list(HEADER)),
        *LEGEND,
        *reasons(found.findings),
        *computed(found),
    ]
    if by_task or len(found.tasks) <= FEW_TASKS:
        lines += [_by_task(one) for one in found.findings if one.estimate is not None]
    return "\n".join([*lines, *left_out(found), *(f"note: {caveat}" for caveat in found.caveats)])


def _by_task(found: Finding) -> str:
    shown = ", ".join(
        f"{one.task} {'unknown' if one.change is None else f'{one.change:+.1f}'}" for one in found.by_task
    )
    return f"{found.metric.name} by task, {change_unit(found)}: {shown}"
