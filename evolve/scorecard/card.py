"""The scorecard of one cell: every metric, or why it is null, and whether the whole of it may be averaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evolve.agents.transcript_events import EventKind, Transcript
from evolve.compare.figures import CACHED_WEIGHTS, weighted
from evolve.hostile import as_count
from evolve.propose.diagnostics.diagnose import diagnose_transcript
from evolve.propose.diagnostics.rules.prompts import largest_growth
from evolve.records.kinds import ErrorKind
from evolve.records.plan import PlannedCell
from evolve.records.row import Row
from evolve.scorecard.metrics import COMPLETED, COST_PER_PASS, METRICS, Flag, Why, found
from evolve.scorecard.spend import Paid
from evolve.scorecard.words import distinct_in_windows, words_of

CUT_OFF = frozenset({ErrorKind.AGENT_TIMEOUT, ErrorKind.AGENT_LIMIT})


@dataclass(frozen=True)
class Told:
    """What is kept of a cell beside its row.

    Args:
        transcript: Its events; ``None`` where there is no transcript that can be read.
        writes: Whether its agent writes a transcript that can be read.
        reply: Its reply, empty where there was none; ``None`` where it is gone.
        paid: What all attempts at it cost; ``None`` where nothing was paid in this sweep.
        void: Whether its last attempt so far was void.

    """

    transcript: Transcript | None = None
    writes: bool = False
    reply: str | None = ""
    paid: Paid | None = None
    void: bool = False


@dataclass(frozen=True)
class Quotient:
    """A ratio by its two parts, so that those of many cells can be summed."""

    over: float
    under: float


@dataclass(frozen=True)
class Card:
    """The scorecard of one cell; each metric has either a value or a reason why it has none.

    Args:
        sweep: The sweep.
        cell: The cell, as it was planned.
        kind: Why it did not pass.
        values: The value of each metric that has one.
        parts: What the ratios are made of.
        nulls: Why each of the others has none.
        incomplete: Why it may not be averaged; nothing, when it may.
        paid: What all attempts at it cost in this sweep.

    """

    sweep: str
    cell: PlannedCell
    kind: ErrorKind | None
    values: Mapping[str, float]
    parts: Mapping[str, Quotient]
    nulls: Mapping[str, Why]
    incomplete: tuple[Flag, ...] = ()
    paid: Paid | None = None

    @property
    def complete(self) -> bool:
        """Whether it may be averaged."""
        return not self.incomplete

    @property
    def task(self) -> str:
        """The task of the cell."""
        return self.cell.identity.task


@dataclass
class _Draft:
    """A card in the making: each metric gets a value, or a reason why it has none."""

    values: dict[str, float] = field(default_factory=dict)
    parts: dict[str, Quotient] = field(default_factory=dict)
    nulls: dict[str, Why] = field(default_factory=dict)

    def put(self, name: str, value: float | None, why: Why = Why.NOT_TOLD) -> None:
        if value is None:
            self.nulls[name] = why
        else:
            self.values[name] = value

    def count(self, name: str, value: int | None) -> int | None:
        """Put in what somebody else counted, if it can have been counted, and return it."""
        counted = as_count(value)
        self.put(name, counted, Why.NOT_TOLD if value is None else Why.ABSURD)
        return counted

    def divide(self, name: str, over: float | None, under: float | None, why: Why = Why.NOT_TOLD) -> None:
        if over is None or under is None:
            self.nulls[name] = why
        elif under == 0:
            self.nulls[name] = Why.NOTHING_TO_DIVIDE_BY
        else:
            self.parts[name] = Quotient(over, under)
            self.values[name] = over / under


def card_of(sweep: str, cell: PlannedCell, row: Row | None, told: Told) -> Card:
    """Return the scorecard of a cell.

    Args:
        sweep: The sweep.
        cell: The cell.
        row: The row that counts for it; ``None`` where none does yet.
        told: What is kept beside the row.

    """
    draft = _Draft()
    if row is not None:
        _put_usage(draft, row, told.transcript)
        _put_trace(draft, told.transcript)
        _put_reply(draft, told.reply)
    void = told.void if row is None else row.void
    _put_outcome(draft, None if void else row, told.paid, void=void)
    for name in METRICS:
        if name not in draft.values:
            draft.nulls.setdefault(name, Why.VOID if void else Why.NOT_MEASURED)
    return Card(
        sweep=sweep,
        cell=cell,
        kind=None if row is None else row.kind,
        values=draft.values,
        parts=draft.parts,
        nulls={name: draft.nulls[name] for name in METRICS if name in draft.nulls},
        incomplete=tuple(_flags(row, told, void=void)),
        paid=told.paid,
    )


def _put_outcome(draft: _Draft, row: Row | None, paid: Paid | None, *, void: bool) -> None:
    draft.put(COMPLETED, None if row is None else int(row.resolved), Why.VOID if void else Why.NOT_MEASURED)
    spend = None if paid is None else paid.usd
    draft.put("spend_usd", spend, Why.NOT_PAID_HERE if paid is None else Why.COST_UNKNOWN)
    if paid is None or paid.unknown:
        draft.nulls[COST_PER_PASS] = draft.nulls["spend_usd"]
    else:
        draft.put(COST_PER_PASS, spend if paid.passes else None, Why.NO_PASS)


def _put_usage(draft: _Draft, row: Row, transcript: Transcript | None) -> None:
    usage = row.usage
    turns = draft.count("turns", usage.turns if _tells_turns(transcript) else None)
    calls = draft.count("tool_calls", usage.tool_calls)
    prompt, cached = draft.count("prompt", usage.input_tokens), draft.count("cached", usage.cached_input_tokens)
    draft.count("output", usage.output_tokens)
    uncached = None if prompt is None or cached is None else prompt - cached
    draft.put("uncached", uncached)
    for name, weight in CACHED_WEIGHTS.items():
        draft.put(name, weighted(weight).of({"cached": cached, "uncached": uncached}))
    draft.divide("tools_per_turn", calls, turns)
    draft.divide("cache_ratio", cached, prompt)
    wall, model = draft.count("wall_ms", usage.session_ms), draft.count("model_ms", usage.api_ms)
    left = None if wall is None or model is None else wall - model
    draft.put("tool_ms", None if left is None or left < 0 else left, Why.NOT_TOLD if left is None else Why.OVERLAPPING)
    cost = as_count(usage.cost_usd_micros)
    draft.put("cost_usd", None if cost is None else cost / 1_000_000, Why.COST_UNKNOWN)


def _tells_turns(transcript: Transcript | None) -> bool:
    """Whether a row's turns are those of the model: a transcript without any counts the prompts of its user."""
    return transcript is None or any(event.kind is EventKind.TURN for event in transcript.events)


def _put_trace(draft: _Draft, transcript: Transcript | None) -> None:
    if transcript is None:
        for name in ("prompt_growth", "diagnostics", *(metric for metric in METRICS if metric.startswith("found_"))):
            draft.nulls[name] = Why.NO_TRANSCRIPT
        return
    growth = largest_growth(transcript.events)
    largest, first = growth or (None, None)
    draft.divide("prompt_growth", largest, first)
    counts = diagnose_transcript(transcript).counts
    for kind, count in counts.items():
        draft.put(found(kind), count)
    known = [count for count in counts.values() if count is not None]
    draft.put("diagnostics", sum(known) if len(known) == len(counts) else None)


def _put_reply(draft: _Draft, reply: str | None) -> None:
    if reply is None:
        draft.nulls |= {"reply_words": Why.REPLY_GONE, "reply_density": Why.REPLY_GONE}
        return
    words = words_of(reply)
    draft.put("reply_words", len(words))
    distinct, inside = distinct_in_windows(words) or (None, None)
    draft.divide("reply_density", distinct, inside, Why.TOO_SHORT)


def _flags(row: Row | None, told: Told, *, void: bool) -> list[Flag]:
    if void:
        return [Flag.VOID]
    if row is None:
        return [Flag.NOT_MEASURED]
    transcript, usage = told.transcript, row.usage
    holds = {
        Flag.CUT_OFF: row.kind in CUT_OFF,
        Flag.USAGE_INCOMPLETE: usage.input_tokens is None or usage.output_tokens is None,
        Flag.TRANSCRIPT_MISSING: told.writes and transcript is None,
        Flag.TRANSCRIPT_DAMAGED: transcript is not None and transcript.unreadable > 0,
        Flag.CONTRADICTORY: _contradictory(transcript, usage.input_tokens),
        Flag.ABSURD: any(value is not None and as_count(value) is None for _, value in usage),
    }
    return [flag for flag, true in holds.items() if true]


def _contradictory(transcript: Transcript | None, prompt: int | None) -> bool:
    """Whether a turn had more input than the row says that all of them had."""
    usages = [event.usage for event in transcript.events if event.usage is not None] if transcript is not None else []
    return prompt is not None and any(usage.input is not None and usage.input > prompt for usage in usages)
