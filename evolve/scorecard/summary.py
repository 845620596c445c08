"""What the cards of an arm say together; no figure without what it estimates, its unit and its n."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evolve.scorecard.card import Card
from evolve.scorecard.metrics import COMPLETED, METRICS, Flag, Metric, Why
from evolve.scorecard.spend import Paid

MEAN, MEDIAN = "mean over cells", "median over cells"
RATIO_OF_SUMS, MEAN_OF_RATIOS, MEDIAN_OF_RATIOS = "ratio of sums", "mean of ratios", "median of ratios"
PASSES_OVER_CELLS = "passes / cells that are not void"
SPEND_OVER_PASSES = "all spend / passes"
NO_CARD = "no complete card has it"
AT_MOST = "at most: of some sessions only the limit of their cost is known"


@dataclass(frozen=True)
class Figure:
    """One number about many cells.

    Args:
        metric: What was measured.
        estimand: How the cells were put together.
        unit: What it counts.
        value: The number; ``None`` where there is none.
        n: The cells in it; of a cost per pass the passes.
        incomplete: Cells left out because their card is incomplete.
        null: Cells left out because their card, though complete, has no such figure.
        why: Why there is no number.
        caveat: What has to be said beside it.

    """

    metric: str
    estimand: str
    unit: str
    value: float | None
    n: int
    incomplete: int
    null: int
    why: str | None = None
    caveat: str | None = None


@dataclass(frozen=True)
class Summary:
    """An arm over all its tasks, or at one.

    Args:
        sweep: The sweep.
        arm: The arm.
        task: The task; ``None``: all of them.
        cells: Its cells.
        flagged: How many of them are incomplete for each reason; one may have several.
        complete: How many are not.
        figures: Every estimate of every metric.

    """

    sweep: str
    arm: str
    task: str | None
    cells: int
    complete: int
    flagged: Mapping[Flag, int]
    figures: tuple[Figure, ...]


def summarise(cards: Iterable[Card], arms: Mapping[tuple[str, str], Paid]) -> list[Summary]:
    """Return the summary of each arm, each followed by one of each of its tasks.

    Args:
        cards: All cards; their order does not matter to any figure.
        arms: What each (sweep, arm) paid, warm-ups included, which belong to no task.

    """
    groups: dict[tuple[str, str], dict[str, list[Card]]] = {}
    for card in cards:
        groups.setdefault((card.sweep, card.cell.arm), {}).setdefault(card.task, []).append(card)
    summaries = []
    for (sweep, arm), tasks in groups.items():
        everything = [card for of_task in tasks.values() for card in of_task]
        summaries.append(_summary(sweep, arm, None, everything, arms.get((sweep, arm), Paid())))
        for task in sorted(tasks):
            paid = sum((card.paid for card in tasks[task] if card.paid is not None), Paid())
            summaries.append(_summary(sweep, arm, task, tasks[task], paid))
    return summaries


def _summary(sweep: str, arm: str, task: str | None, cards: Sequence[Card], paid: Paid) -> Summary:
    return Summary(
        sweep=sweep,
        arm=arm,
        task=task,
        cells=len(cards),
        complete=sum(card.complete for card in cards),
        flagged=Counter(flag for card in cards for flag in card.incomplete),
        figures=tuple(figure for metric in METRICS.values() for figure in _figures(metric, cards, paid)),
    )


def _figures(metric: Metric, cards: Sequence[Card], paid: Paid) -> Iterator[Figure]:
    if metric.kind == "rate":
        yield _rate(metric, cards)
    elif metric.kind == "spend":
        yield _cost_per_pass(metric, paid)
    else:
        yield from _averages(metric, cards)


def _averages(metric: Metric, cards: Sequence[Card]) -> Iterator[Figure]:
    complete = [card for card in cards if card.complete]
    counted = [card for card in complete if metric.name in card.values]
    values = [card.values[metric.name] for card in counted]
    left_out = (len(cards) - len(complete), len(complete) - len(counted))
    ratio = metric.kind == "ratio"
    estimates = {
        MEAN_OF_RATIOS if ratio else MEAN: math.fsum(values) / len(values) if values else None,
        MEDIAN_OF_RATIOS if ratio else MEDIAN: statistics.median(values) if values else None,
    }
    if ratio:
        parts = [card.parts[metric.name] for card in counted]
        sums = math.fsum(part.over for part in parts), math.fsum(part.under for part in parts)
        estimates = {RATIO_OF_SUMS: sums[0] / sums[1] if parts else None, **estimates}
    for estimand, value in estimates.items():
        why = None if values else _why(metric, complete)
        yield Figure(metric.name, estimand, metric.unit, value, len(values), *left_out, why)


def _why(metric: Metric, complete: Sequence[Card]) -> str:
    """Return why no card has a figure: that of the cards where they agree."""
    reasons = {card.nulls[metric.name] for card in complete}
    return f"{NO_CARD}: {', '.join(sorted(reasons))}" if reasons else "no card is complete"


def _rate(metric: Metric, cards: Sequence[Card]) -> Figure:
    """Return the rate of passes; a cell that was cut off, or lost its transcript, passed or failed all the same."""
    values = [card.values[COMPLETED] for card in cards if COMPLETED in card.values]
    rate = math.fsum(values) / len(values) if values else None
    why = None if values else "no cell has an outcome"
    return Figure(metric.name, PASSES_OVER_CELLS, metric.unit, rate, len(values), len(cards) - len(values), 0, why)


def _cost_per_pass(metric: Metric, paid: Paid) -> Figure:
    why = None
    if paid.unknown:
        why = Why.COST_UNKNOWN
    elif not paid.attempts:
        why = Why.NOT_PAID_HERE
    elif not paid.passes:
        why = Why.NO_PASS
    value = None if why is not None or paid.usd is None else paid.usd / paid.passes
    caveat = AT_MOST if value is not None and paid.bounded else None
    return Figure(metric.name, SPEND_OVER_PASSES, metric.unit, value, paid.passes, 0, 0, why, caveat)
