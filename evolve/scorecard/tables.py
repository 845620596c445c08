"""Scorecards as tables for people, for a terminal or in Markdown; here alone figures are rounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from evolve.scorecard.card import Card
from evolve.scorecard.files import round_name
from evolve.scorecard.metrics import METRICS, Metric
from evolve.scorecard.read import Scorecard
from evolve.scorecard.summary import Figure, Summary

SHOWN_CARDS = 20
OF_CARDS = (
    "completed",
    "turns",
    "tool_calls",
    "tools_per_turn",
    "tool_ms",
    "model_ms",
    "cached",
    "uncached",
    "cache_ratio",
    "output",
    "w10",
    "w25",
    "prompt_growth",
    "diagnostics",
    "spend_usd",
    "reply_words",
    "reply_density",
)
"""What is shown of a card: what all of it holds is in the files."""


@dataclass(frozen=True)
class Table:
    """A table: its header and its rows, of as many texts each."""

    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Section:
    """A heading, tables, and what is said below them."""

    heading: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()


def sections_of(scorecard: Scorecard, *, by_task: bool = False, cells: bool = False) -> list[Section]:
    """Return a scorecard as sections: one of each arm, and of its tasks or its cells where they are asked for.

    Args:
        scorecard: What is shown.
        by_task: Each task of an arm has a section.
        cells: Each arm has a table of its cards.

    """
    several = len({one.sweep for one in scorecard.summaries}) > 1
    found = []
    for one in scorecard.summaries:
        if one.task is not None and not by_task:
            continue
        cards = [
            card
            for card in scorecard.cards
            if (card.sweep, card.cell.arm) == (one.sweep, one.arm) and one.task in (None, card.task)
        ]
        shown = cards if cells and one.task is None else []
        found.append(_section(one, cards, shown, several=several))
    return found


def _section(one: Summary, cards: Sequence[Card], shown: Sequence[Card], *, several: bool) -> Section:
    name = round_name(one.sweep, one.arm, several=several)
    heading = f"{name if several else f'{one.sweep}, arm {name}'}{'' if one.task is None else f', task {one.task}'}"
    tables = [_table(one, kind) for kind in ("amount", "ratio", "rate", "spend")]
    if shown:
        tables.append(_cards(shown))
    return Section(heading, tuple(table for table in tables if table.rows), tuple(_notes(one, cards)))


def _table(one: Summary, kind: str) -> Table:
    """Return the figures of a kind of metric, a row a metric; what no card has, and what is nowhere found, has none."""
    by_metric: dict[str, list[Figure]] = {}
    for figure in one.figures:
        if METRICS[figure.metric].kind == kind and (figure.value is not None or kind in ("rate", "spend")):
            by_metric.setdefault(figure.metric, []).append(figure)
    figures = [found for name, found in by_metric.items() if not _nowhere(name, found)]
    estimands = [figure.estimand for figure in figures[0]] if figures else []
    header = [kind, "unit", "n", "incomplete", "null", *estimands]
    rows = []
    for found in figures:
        first = found[0]
        counts = [str(first.n), str(first.incomplete), str(first.null)]
        rows.append([first.metric, first.unit, *counts, *(_shown(figure) for figure in found)])
    return Table(header, rows)


def _nowhere(name: str, figures: Sequence[Figure]) -> bool:
    return _is_finding(name) and all(not figure.value for figure in figures)


def _is_finding(name: str) -> bool:
    return name.startswith("found_")


def _shown(figure: Figure) -> str:
    if figure.value is None:
        return f"none ({figure.why})"
    return f"{'at most ' if figure.caveat else ''}{rounded(figure.value, METRICS[figure.metric])}"


def rounded(value: float, metric: Metric) -> str:
    """Return a value as it is printed."""
    return f"{value:,.{metric.digits}f}"


def _cards(cards: Sequence[Card]) -> Table:
    header = ["task", "run", "card", *(f"{name} ({METRICS[name].unit})" for name in OF_CARDS)]
    return Table(header, [_card(card) for card in cards])


def _card(card: Card) -> list[str]:
    state = "complete" if card.complete else f"INCOMPLETE: {' '.join(card.incomplete)}"
    shown = []
    for name in OF_CARDS:
        metric, value = METRICS[name], card.values.get(name)
        whole = value is not None and metric.kind != "ratio" and metric.unit != "USD"
        shown.append("-" if value is None else f"{value:,.10g}" if whole else rounded(value, metric))
    return [card.task, str(card.cell.identity.run), state, *shown]


def _notes(one: Summary, cards: Sequence[Card]) -> Iterable[str]:
    left_out = [card for card in cards if not card.complete]
    yield f"{one.cells} cells, {one.complete} complete cards"
    if left_out:
        named = [f"{card.task} run {card.cell.identity.run} ({' '.join(card.incomplete)})" for card in left_out]
        more = f" and {len(named) - SHOWN_CARDS} more" if len(named) > SHOWN_CARDS else ""
        yield f"INCOMPLETE, in no average: {', '.join(named[:SHOWN_CARDS])}{more}"
    nulls: dict[str, list[str]] = {}
    for figure in one.figures:
        if figure.value is None and figure.why is not None and METRICS[figure.metric].kind in ("amount", "ratio"):
            nulls.setdefault(figure.why, []).append("found_..." if _is_finding(figure.metric) else figure.metric)
    yield from (f"no figure ({why}): {', '.join(dict.fromkeys(names))}" for why, names in nulls.items())
    yield from dict.fromkeys(f"{one.metric}: {one.caveat}" for one in one.figures if one.caveat is not None)


CLOSING = (
    "n: cells in a figure; of a cost per pass the passes. incomplete, null: cells left out of it, because the card is "
    "incomplete or has no such figure. completed counts every cell that is not void; a cost per pass counts all that "
    "was spent in this sweep, voided, lost and incomplete cells and warm-ups included. Rounded here; --csv and --json "
    "hold every digit. A scorecard decides nothing."
)


def as_text(sections: Sequence[Section], table: Callable[[list[list[str]], list[str]], str]) -> str:
    """Return sections as plain text.

    Args:
        sections: What is shown.
        table: Returns rows and their header with aligned columns.

    """
    blocks = [
        "\n\n".join([one.heading, *(table(each.rows, each.header) for each in one.tables), "\n".join(one.notes)])
        for one in sections
    ]
    return "\n\n".join([*blocks, CLOSING])


def as_markdown(sections: Sequence[Section], inert: Callable[[object], str]) -> str:
    """Return sections as Markdown.

    Args:
        sections: What is shown.
        inert: Returns text that Markdown takes for nothing but text.

    """
    lines = ["# Scorecard"]
    for one in sections:
        lines += ["", f"## {inert(one.heading)}"]
        for table in one.tables:
            rows = [table.header, ["---"] * len(table.header), *table.rows]
            marks = [0 if index == 1 else 1 for index in range(len(rows))]
            cells = [[inert(cell) if mark else cell for cell in row] for row, mark in zip(rows, marks, strict=True)]
            lines += ["", *(f"| {' | '.join(row)} |" for row in cells)]
        lines += ["", *(f"- {inert(note)}" for note in one.notes)]
    return "\n".join([*lines, "", inert(CLOSING), ""])
