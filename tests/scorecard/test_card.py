"""Every metric of one cell by hand, each reason of a null with its near miss, and each flag."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.agents.claude_code_transcript import read_claude_code
from evolve.agents.codex_transcript import read_codex
from evolve.agents.transcript_events import Event, EventKind, ResultKind, Transcript, TurnUsage
from evolve.hostile import MOST_COUNTED
from evolve.records.kinds import ErrorKind
from evolve.records.row import Row, Usage
from evolve.scorecard.card import Card, Told, card_of
from evolve.scorecard.metrics import METRICS, Flag, Why
from evolve.scorecard.spend import Paid
from tests.propose.diagnostics.transcripts import CODEX
from tests.scorecard.builders import arm_row, cell_of, turns_of, usage_of

WHOLE = Transcript(tuple(turns_of(100, 250)))


def card(row: Row | None = None, **told: Any) -> Card:
    """Return the card of a cell of an agent that writes transcripts, whole unless something else is told."""
    planned = arm_row("one") if row is None else row
    return card_of("s-1", cell_of(planned), planned, Told(**{"transcript": WHOLE, "writes": True, **told}))


def with_usage(**fields: Any) -> Card:
    return card(arm_row("one", usage=usage_of(**fields)))


def test_every_metric_of_a_cell_computed_by_hand() -> None:
    failing = Event(EventKind.COMMAND, 2, tool="Bash", result=ResultKind.ERROR)
    transcript = Transcript((*turns_of(100, 250), failing))
    reply = "one two " * 25
    found = card(transcript=transcript, reply=reply, paid=Paid(70_000, 2, 1))
    assert found.complete and found.nulls == {}
    assert {name: value for name, value in found.values.items() if not name.startswith("found_")} == {
        "completed": 1,
        "turns": 4,
        "tool_calls": 6,
        "tools_per_turn": 6 / 4,
        "wall_ms": 9_000,
        "model_ms": 7_000,
        "tool_ms": 9_000 - 7_000,
        "prompt": 1_000,
        "cached": 600,
        "uncached": 1_000 - 600,
        "cache_ratio": 600 / 1_000,
        "output": 50,
        "w10": 400 + 0.10 * 600,
        "w25": 400 + 0.25 * 600,
        "prompt_growth": 250 / 100,
        "diagnostics": 1,
        "reply_words": 50,
        "reply_density": 2 / 50,
        "cost_usd": 0.03,
        "spend_usd": 0.07,
        "cost_per_pass_usd": 0.07,
    }
    assert found.values["found_tool_error"] == 1 and found.values["found_cache_break"] == 0


def nulls(found: Card, *names: str) -> set[Why]:
    assert not set(names) & found.values.keys()
    return {found.nulls[name] for name in names}


CACHE = ("cached", "uncached", "cache_ratio", "w10", "w25")


@pytest.mark.parametrize(
    ("without", "near", "names", "why"),
    [
        ({"cached_input_tokens": None}, {"cached_input_tokens": 0}, CACHE, Why.NOT_TOLD),
        ({"turns": None}, {"turns": 1}, ("turns", "tools_per_turn"), Why.NOT_TOLD),
        ({"turns": 0}, {"turns": 1}, ("tools_per_turn",), Why.NOTHING_TO_DIVIDE_BY),
        ({"tool_calls": None}, {"tool_calls": 0}, ("tool_calls", "tools_per_turn"), Why.NOT_TOLD),
        (
            {"input_tokens": 0, "cached_input_tokens": 0},
            {"input_tokens": 1, "cached_input_tokens": 0},
            ("cache_ratio",),
            Why.NOTHING_TO_DIVIDE_BY,
        ),
        ({"api_ms": None}, {"api_ms": 0}, ("model_ms", "tool_ms"), Why.NOT_TOLD),
        ({"api_ms": 9_001}, {"api_ms": 9_000}, ("tool_ms",), Why.OVERLAPPING),
        ({"cost_usd_micros": None}, {"cost_usd_micros": 0}, ("cost_usd",), Why.COST_UNKNOWN),
        ({"turns": MOST_COUNTED + 1}, {"turns": MOST_COUNTED}, ("turns",), Why.ABSURD),
    ],
)
def test_a_figure_of_the_row_is_null_for_a_reason_and_a_near_miss_is_not(
    without: dict[str, Any], near: dict[str, Any], names: tuple[str, ...], why: Why
) -> None:
    assert nulls(with_usage(**without), *names) == {why}
    assert set(names) <= with_usage(**near).values.keys()


def test_what_the_transcript_tells_is_null_without_one_and_near_misses_are_not() -> None:
    traced = ("prompt_growth", "diagnostics", "found_tool_error", "found_cache_break")
    assert nulls(card(transcript=None, writes=False), *traced) == {Why.NO_TRANSCRIPT}
    untold = card(transcript=Transcript(tuple(turns_of(None))))
    assert nulls(untold, "prompt_growth", "diagnostics", "found_cache_break") == {Why.NOT_TOLD}
    assert untold.values["found_tool_error"] == 0, "it can be seen without any usage"
    assert set(traced) <= card(transcript=Transcript(tuple(turns_of(1)))).values.keys()


def test_turns_that_count_the_prompts_of_a_user_are_no_turns() -> None:
    found = card(arm_row("one", usage=usage_of(turns=1)), transcript=read_codex(CODEX))
    assert nulls(found, "turns", "tools_per_turn") == {Why.NOT_TOLD}
    assert found.values["tool_calls"] == 6


def test_growth_is_that_of_the_session_that_grew_most() -> None:
    events = [*turns_of(200, 400), *turns_of(10, 90, 30, session=2), *turns_of(900, session=3)]
    assert card(transcript=Transcript(tuple(events))).values["prompt_growth"] == 90 / 10
    assert card(transcript=Transcript(tuple(turns_of(0, 6)))).values["prompt_growth"] == 6, "as diagnostics has it"


def test_a_reply_one_word_short_has_words_and_no_density() -> None:
    short, enough = card(reply="word " * 49), card(reply="word " * 50)
    assert (short.values["reply_words"], short.nulls["reply_density"]) == (49, Why.TOO_SHORT)
    assert (enough.values["reply_words"], enough.values["reply_density"]) == (50, 1 / 50)


def test_a_reply_that_is_gone_is_not_an_empty_one() -> None:
    assert nulls(card(reply=None), "reply_words", "reply_density") == {Why.REPLY_GONE}
    assert card(reply="").values["reply_words"] == 0


@pytest.mark.parametrize(
    ("paid", "spend", "per_pass"),
    [
        (None, Why.NOT_PAID_HERE, Why.NOT_PAID_HERE),
        (Paid(5, 1, 1, unknown=1), Why.COST_UNKNOWN, Why.COST_UNKNOWN),
        (Paid(5, 1, 0), 5e-06, Why.NO_PASS),
        (Paid(5, 1, 1), 5e-06, 5e-06),
        (Paid(0, 1, 1), 0, 0),
    ],
)
def test_spend_and_cost_per_pass(paid: Paid | None, spend: object, per_pass: object) -> None:
    found = card(paid=paid)
    told = {**found.values, **found.nulls}
    assert (told["spend_usd"], told["cost_per_pass_usd"]) == (spend, per_pass)


DAMAGED = Transcript(WHOLE.events, unreadable=1)
SAME = Transcript(tuple(turns_of(1_000)))
MORE = Transcript(tuple(turns_of(1_001)))


@pytest.mark.parametrize(
    ("found", "flags"),
    [
        (card(), []),
        (card(transcript=DAMAGED), [Flag.TRANSCRIPT_DAMAGED]),
        (card(transcript=None), [Flag.TRANSCRIPT_MISSING]),
        (card(transcript=None, writes=False), []),
        (card(arm_row("one", kind=ErrorKind.AGENT_TIMEOUT)), [Flag.CUT_OFF]),
        (card(arm_row("one", kind=ErrorKind.AGENT_LIMIT)), [Flag.CUT_OFF]),
        (card(arm_row("one", kind=ErrorKind.ORACLE_FAILED)), []),
        (card(arm_row("one", kind=ErrorKind.INFRA_ERROR)), [Flag.VOID]),
        (with_usage(output_tokens=None), [Flag.USAGE_INCOMPLETE]),
        (with_usage(input_tokens=None, cached_input_tokens=None), [Flag.USAGE_INCOMPLETE]),
        (with_usage(cached_input_tokens=None), []),
        (with_usage(api_calls=MOST_COUNTED + 1), [Flag.ABSURD]),
        (with_usage(api_calls=MOST_COUNTED), []),
        (card(transcript=MORE), [Flag.CONTRADICTORY]),
        (card(transcript=SAME), []),
        (
            card(arm_row("one", kind=ErrorKind.AGENT_TIMEOUT, usage=Usage()), transcript=None),
            [Flag.CUT_OFF, Flag.USAGE_INCOMPLETE, Flag.TRANSCRIPT_MISSING],
        ),
    ],
)
def test_a_card_is_incomplete_for_each_reason_and_not_for_a_near_miss(found: Card, flags: list[Flag]) -> None:
    assert list(found.incomplete) == flags
    assert found.complete == (not flags)


def test_a_cell_without_a_row_and_a_void_one_have_no_outcome() -> None:
    cell = cell_of(arm_row("one"))
    for told, flag, why in (
        (Told(), Flag.NOT_MEASURED, Why.NOT_MEASURED),
        (Told(void=True), Flag.VOID, Why.VOID),
    ):
        found = card_of("s-1", cell, None, told)
        assert found.incomplete == (flag,) and not found.values
        assert found.nulls["completed"] == found.nulls["prompt"] == why
    assert card(arm_row("one", kind=ErrorKind.INFRA_ERROR)).nulls["completed"] == Why.VOID
    assert card(arm_row("one", kind=ErrorKind.AGENT_TIMEOUT)).values["completed"] == 0, "it counts against its arm"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
COUNTS = st.none() | st.integers(0, 2**53 - 1)
USAGES = st.builds(TurnUsage, *[st.none() | st.integers(0, 3 * MOST_COUNTED)] * 4)
EVENTS = st.lists(
    st.builds(Event, st.sampled_from(EventKind), st.integers(1, 9), st.integers(1, 3), usage=st.none() | USAGES)
)


@given(EVENTS, st.integers(0, 2), st.tuples(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS), st.text(max_size=300))
def test_each_metric_has_a_value_or_a_reason_whatever_is_told(
    events: list[Event], unreadable: int, counts: tuple[int | None, ...], reply: str
) -> None:
    names = ("input_tokens", "output_tokens", "turns", "tool_calls", "session_ms", "api_ms")
    row = arm_row("one", usage=Usage.model_validate(dict(zip(names, counts, strict=True))))
    found = card(row, transcript=Transcript(tuple(events), unreadable), reply=reply)
    assert found.values.keys() | found.nulls.keys() == METRICS.keys()
    assert not found.values.keys() & found.nulls.keys()
    assert all(0 <= value < 1e15 for value in found.values.values())
    assert found.complete or found.incomplete


@given(st.lists(st.none() | st.dictionaries(st.sampled_from(["type", "message", "item", "id"]), ANYTHING), max_size=4))
def test_no_transcript_is_too_strange_for_a_card(values: list[dict[str, Any] | None]) -> None:
    for read in (read_claude_code, read_codex):
        found = card(transcript=read(values))
        assert (Flag.TRANSCRIPT_DAMAGED in found.incomplete) == (None in values)
