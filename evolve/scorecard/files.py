"""Scorecards as files: CSV that `evolve compare` reads, and JSON; every digit of every figure is in them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from evolve.compare.scorecards import COMPLETE, ROUND, RUN, TASK
from evolve.report.cells import Value, shown
from evolve.scorecard.card import Card
from evolve.scorecard.metrics import FLAG_SAYS, METRICS, WHY_SAYS, Why
from evolve.scorecard.read import Scorecard
from evolve.scorecard.summary import Summary

BEFORE = (TASK, ROUND, RUN, COMPLETE, "incomplete_because", "sweep", "arm", "role", "split", "kind")
AFTER = ("null_because",)
COLUMNS = (*BEFORE, *METRICS, *AFTER)


def round_name(sweep: str, arm: str, *, several: bool) -> str:
    """Return the name by which the lines of an arm are known: the arm's, behind its sweep's where there are several."""
    return f"{sweep}/{arm}" if several else arm


def scorecard_csv(scorecard: Scorecard) -> bytes:
    """Return the cards as CSV (RFC 4180, UTF-8), a line a cell; a round of it is an arm."""
    several = _several(scorecard)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([shown(value) for value in _line(card, several=several)] for card in scorecard.cards)
    return text.getvalue().encode("utf-8")


def scorecard_json(scorecard: Scorecard, *, several: bool | None = None) -> dict[str, Any]:
    """Return the cards and what they say together, for programs.

    Args:
        scorecard: The cards and their summaries.
        several: Whether rounds are named with their sweeps; by default where there are several.

    """
    several = _several(scorecard) if several is None else several
    return {
        "metrics": {one.name: {"unit": one.unit, "kind": one.kind, "says": one.says} for one in METRICS.values()},
        "incomplete_reasons": {flag.value: says for flag, says in FLAG_SAYS.items()},
        "null_reasons": {why.value: says for why, says in WHY_SAYS.items()},
        "cells": [_card_value(card, several=several) for card in scorecard.cards],
        "summaries": [_summary_value(one, several=several) for one in scorecard.summaries],
    }


def scorecard_json_pieces(scorecard: Scorecard) -> Iterator[str]:
    """Yield what :func:`scorecard_json` returns as a JSON text, a card in memory at a time: there may be thousands."""
    several = _several(scorecard)
    cells = (_card_value(card, several=several) for card in scorecard.cards)
    yield '{\n  "cells": ['  # the first of all names in their order
    between = "\n    "
    for cell in cells:
        yield between + _dumped(cell).replace("\n", "\n    ")
        between = ",\n    "
    yield ("\n  ]" if scorecard.cards else "]") + ",\n"
    yield _dumped(scorecard_json(replace(scorecard, cards=()), several=several), without="cells").removeprefix("{\n")


def _dumped(value: dict[str, Any], without: str | None = None) -> str:
    left = {name: each for name, each in value.items() if name != without}
    return json.dumps(left, indent=2, ensure_ascii=False, sort_keys=True)


def _several(scorecard: Scorecard) -> bool:
    return len({card.sweep for card in scorecard.cards}) > 1


def _line(card: Card, *, several: bool) -> Sequence[Value]:
    reasons: dict[Why, list[str]] = {}
    for name, why in card.nulls.items():
        reasons.setdefault(why, []).append(name)
    return [
        card.task,
        round_name(card.sweep, card.cell.arm, several=several),
        card.cell.identity.run,
        card.complete,
        " ".join(card.incomplete) or None,
        card.sweep,
        card.cell.arm,
        card.cell.role.value,
        card.cell.split.value,
        card.kind.value if card.kind is not None else None,
        *(card.values.get(name) for name in METRICS),
        "; ".join(f"{why}: {' '.join(names)}" for why, names in reasons.items()) or None,
    ]


def _card_value(card: Card, *, several: bool) -> dict[str, Any]:
    return {
        "round": round_name(card.sweep, card.cell.arm, several=several),
        "sweep": card.sweep,
        "arm": card.cell.arm,
        "role": card.cell.role.value,
        "split": card.cell.split.value,
        "task": card.task,
        "run": card.cell.identity.run,
        "kind": card.kind.value if card.kind is not None else None,
        "complete": card.complete,
        "incomplete": [flag.value for flag in card.incomplete],
        "metrics": {name: _metric_value(card, name) for name in METRICS},
    }


def _metric_value(card: Card, name: str) -> dict[str, Any]:
    value = {"value": card.values.get(name), "unit": METRICS[name].unit, "estimand": "of this cell", "n": 1}
    if name in card.parts:
        value |= asdict(card.parts[name])
    if name in card.nulls:
        value |= {"why": card.nulls[name].value, "n": 0}
    return value


def _summary_value(one: Summary, *, several: bool) -> dict[str, Any]:
    return {
        "round": round_name(one.sweep, one.arm, several=several),
        "sweep": one.sweep,
        "arm": one.arm,
        "task": one.task,
        "cells": one.cells,
        "complete": one.complete,
        "incomplete": {flag.value: count for flag, count in sorted(one.flagged.items())},
        "figures": [asdict(figure) for figure in one.figures],
    }
