"""Every metric of a scorecard, in one table: its unit, what it says, and what it is divided by, if anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from evolve.propose.diagnostics.finding import FindingKind
from evolve.scorecard.words import WINDOW

Kind = Literal["amount", "ratio", "rate", "spend"]


class Flag(StrEnum):
    """Why a card is incomplete, so that it is in no average."""

    NOT_MEASURED = "not-measured"
    VOID = "void"
    CUT_OFF = "cut-off"
    USAGE_INCOMPLETE = "usage-incomplete"
    TRANSCRIPT_MISSING = "transcript-missing"
    TRANSCRIPT_DAMAGED = "transcript-damaged"
    CONTRADICTORY = "contradictory"
    ABSURD = "absurd"


FLAG_SAYS: Mapping[Flag, str] = {
    Flag.NOT_MEASURED: "the cell has no row yet",
    Flag.VOID: "its last attempt says nothing about the arm",
    Flag.CUT_OFF: "the session ran into a limit of time, turns or money, so that each figure is less than it would be",
    Flag.USAGE_INCOMPLETE: "nobody reported its input or its output",
    Flag.TRANSCRIPT_MISSING: "the agent writes a transcript, and this one is gone or was changed",
    Flag.TRANSCRIPT_DAMAGED: "lines of the transcript could not be read",
    Flag.CONTRADICTORY: "a turn of the transcript had more input than the whole session",
    Flag.ABSURD: "a figure is one that nobody can have counted",
}


class Why(StrEnum):
    """Why a metric of a card is null."""

    NOT_MEASURED = "not-measured"
    NOT_TOLD = "not-told"
    NO_TRANSCRIPT = "no-transcript"
    OVERLAPPING = "overlapping"
    NOTHING_TO_DIVIDE_BY = "nothing-to-divide-by"
    REPLY_GONE = "reply-gone"
    TOO_SHORT = "too-short"
    ABSURD = "absurd"
    NOT_PAID_HERE = "not-paid-here"
    COST_UNKNOWN = "cost-unknown"
    NO_PASS = "no-pass"
    VOID = "void"


WHY_SAYS: Mapping[Why, str] = {
    Why.NOT_MEASURED: "the cell has no row yet",
    Why.NOT_TOLD: "neither the agent, the provider nor the transcript tells it",
    Why.NO_TRANSCRIPT: "there is no transcript that can be read",
    Why.OVERLAPPING: "the model took longer than the session, as with calls at one time",
    Why.NOTHING_TO_DIVIDE_BY: "what it is divided by is 0",
    Why.REPLY_GONE: "the reply is gone, was changed, or is larger than 4 MiB",
    Why.TOO_SHORT: f"the reply has fewer than {WINDOW} words",
    Why.ABSURD: "nobody can have counted so many",
    Why.NOT_PAID_HERE: "nothing was paid for it in this sweep: it is reused, or has not begun",
    Why.COST_UNKNOWN: "an attempt has neither a cost nor a limit of it",
    Why.NO_PASS: "no cell that was paid for in this sweep passed",
    Why.VOID: "its last attempt says nothing about the arm",
}


@dataclass(frozen=True)
class Metric:
    """One metric of a cell.

    Args:
        name: Its name, which is its column; where `evolve compare` knows such a metric, it is called the same.
        unit: What it counts.
        says: What it is.
        kind: An amount, a quotient of two amounts, a rate of cells, or money over what it bought.
        digits: The digits after the point where it is printed; files have all.

    """

    name: str
    unit: str
    says: str
    kind: Kind = "amount"
    digits: int = 1


COMPLETED: Final = "completed"
COST_PER_PASS: Final = "cost_per_pass_usd"


def found(kind: FindingKind) -> str:
    """Return the name of the metric that counts a kind of finding."""
    return f"found_{kind.value.replace('-', '_')}"


_DIAGNOSTICS = tuple(
    Metric(found(kind), "findings", f"findings of kind `{kind.value}`: [diagnostics.md](diagnostics.md)", digits=2)
    for kind in FindingKind
)
_ALL = (
    Metric(COMPLETED, "share", "1 if the cell passed, 0 if not; void cells have none", "rate", 3),
    Metric("turns", "turns", "turns, as the session counts them"),
    Metric("tool_calls", "calls", "calls of tools"),
    Metric("tools_per_turn", "calls a turn", "`tool_calls` / `turns`", "ratio", 2),
    Metric("wall_ms", "ms", "wall time of the session", digits=0),
    Metric("model_ms", "ms", "time that the session waited for the model", digits=0),
    Metric("tool_ms", "ms", "`wall_ms` - `model_ms`: the time of tools, and of the program itself", digits=0),
    Metric("prompt", "tokens", "all input"),
    Metric("cached", "tokens", "input that was read from a cache"),
    Metric("uncached", "tokens", "`prompt` - `cached`, so that what was written to a cache is in it"),
    Metric("cache_ratio", "share", "`cached` / `prompt`", "ratio", 3),
    Metric("output", "tokens", "all output, reasoning included"),
    Metric("w10", "tokens", "input weighted at 10 %: `uncached` + 0.10 `cached`"),
    Metric("w25", "tokens", "input weighted at 25 %: `uncached` + 0.25 `cached`"),
    Metric(
        "prompt_growth",
        "times",
        "largest input of a turn / input of its session's first turn, in the session that grew most; `prompt-growth` "
        "counts how often it doubled",
        "ratio",
        2,
    ),
    Metric("diagnostics", "findings", "findings of all kinds; null where the transcript cannot show each", digits=2),
    *_DIAGNOSTICS,
    Metric("reply_words", "words", "words of the reply"),
    Metric(
        "reply_density",
        "share",
        f"distinct words / words in each window of {WINDOW} words of the reply, over all windows: the moving-average "
        "type-token ratio",
        "ratio",
        3,
    ),
    Metric("cost_usd", "USD", "what the attempt cost that settled the cell", digits=4),
    Metric(
        "spend_usd", "USD", "what all attempts at the cell cost in this sweep, voided and lost ones included", digits=4
    ),
    Metric(COST_PER_PASS, "USD", "all spend / passes", "spend", 4),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ALL}
