"""Each kind of finding: what is one, and what only looks like one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.agents.transcript_events import Event, EventKind, ResultKind, TurnUsage
from evolve.propose.diagnostics.diagnose import diagnose
from evolve.propose.diagnostics.finding import Finding, FindingKind
from evolve.propose.diagnostics.rules.clusters import MAX_WINDOW
from evolve.propose.diagnostics.thresholds import THRESHOLDS

OK, ERROR = ResultKind.OK, ResultKind.ERROR


def call(kind: EventKind, turn: int, args: str, **fields: Any) -> Event:
    tool = {EventKind.READ: "Read", EventKind.SEARCH: "Grep", EventKind.EDIT: "Edit"}.get(kind, "Bash")
    return Event(kind, turn, **{"tool": tool, "args_sha256": args, "result": OK, **fields})


def read(turn: int, path: str = "a.py", first: int | None = 1, last: int | None = 10, **fields: Any) -> Event:
    args = f"{path}:{first}-{last}"
    return call(EventKind.READ, turn, args, path=path, first_line=first, last_line=last, **fields)


def search(turn: int, pattern: str, path: str = ".", **fields: Any) -> Event:
    return call(EventKind.SEARCH, turn, f"{pattern} {path}", path=path, asked=pattern, **fields)


def edit(turn: int, path: str = "a.py", **fields: Any) -> Event:
    return call(EventKind.EDIT, turn, f"edit {turn} {path}", path=path, **fields)


def run(turn: int, text: str = "pytest", **fields: Any) -> Event:
    return call(EventKind.COMMAND, turn, text, asked=text, **fields)


def used(turn: int, sent: int | None, cached: int | None, session: int = 1) -> Event:
    return Event(EventKind.TURN, turn, session, usage=TurnUsage(sent, cached))


def reads(count: int, **fields: Any) -> list[Event]:
    return [read(number, f"f{number}.py", **fields) for number in range(1, count + 1)]


def pieces(*firsts: int, length: int = 50, **fields: Any) -> list[Event]:
    return [read(n, first=first, last=first + length - 1, **fields) for n, first in enumerate(firsts, start=1)]


def timed(events: Sequence[Event], *times: float) -> list[Event]:
    return [replace(event, time=time) for event, time in zip(events, times, strict=True)]


def at_turns(events: Sequence[Event], *turns: int) -> list[Event]:
    return [replace(event, turn=turn) for event, turn in zip(events, turns, strict=True)]


def searches(count: int, **fields: Any) -> list[Event]:
    return [search(number, f"p{number}", **fields) for number in range(1, count + 1)]


K = FindingKind
FOUND: list[tuple[FindingKind, str, list[Event], int]] = [
    (K.CACHE_BREAK, "less cached", [used(1, 9_000, 8_000), used(2, 9_500, 6_000)], 2_000),
    (K.CACHE_BREAK, "nothing cached", [used(1, 9_000, 8_000), used(2, 9_000, 0)], 8_000),
    (K.CACHE_MISS, "nothing of much", [used(1, 9_000, 0), used(2, 9_000, 0)], 9_000),
    (K.CACHE_MISS, "after a turn that tells nothing", [used(1, None, None), used(2, 8_192, 0)], 8_192),
    (K.PROMPT_GROWTH, "twice as much", [used(1, 20_000, 0), used(2, 40_000, 20_000)], 40_000),
    (K.PROMPT_GROWTH, "much from little", [used(1, 1, 0), used(2, 40_000, 0)], 40_000),
    (K.READ_ONLY_STALL, "eight turns", reads(8), 8),
    (K.READ_ONLY_STALL, "with talk in between", [*reads(5), used(6, 1, 0), *[search(n, str(n)) for n in (7, 8, 9)]], 8),
    (K.BROAD_RESULT, "many bytes", [run(1, bytes=65_536, lines=1)], 65_536),
    (K.BROAD_RESULT, "many lines", [read(1, bytes=9_000, lines=1_000)], 9_000),
    (K.READ_FRAGMENTATION, "three pieces", pieces(1, 400, 751), 3),
    (K.READ_FRAGMENTATION, "in ten minutes", timed(pieces(1, 51, 101), 0, 300, 600), 3),
    (K.READ_FRAGMENTATION, "in twelve turns", at_turns(pieces(1, 51, 101), 1, 7, 13), 3),
    (K.READ_FRAGMENTATION, "after one far away", pieces(5_000, 1, 51, 101), 3),
    (K.READ_FRAGMENTATION, "four of them are one", pieces(1, 51, 101, 151), 4),
    (K.GREP_SWEEP, "five patterns", searches(5), 5),
    (K.GREP_SWEEP, "in ten turns", at_turns(searches(5), 1, 3, 5, 7, 11), 5),
    (K.GREP_SWEEP, "with reads in between", [*searches(3), read(4), search(5, "x"), search(6, "y")], 5),
    (K.DUPLICATE_CALL, "the same read", [read(1), search(2, "x"), read(3)], 2),
    (K.DUPLICATE_CALL, "within six turns", [read(1), read(7)], 6),
    (K.DUPLICATE_CALL, "within 120 seconds", timed([read(1), read(99)], 0, 120), 98),
    (K.DUPLICATE_CALL, "the same command", [run(1), run(2)], 1),
    (K.DUPLICATE_CALL, "in one turn", [read(1), read(1)], 0),
    (K.TOOL_ERROR, "a command", [run(1, result=ERROR, said="1 failed")], 1),
    (K.MISSED_PARALLELISM, "three reads", reads(3), 3),
    (K.MISSED_PARALLELISM, "three searches", searches(3), 3),
    (K.MISSED_PARALLELISM, "after a command", [run(1), *[read(n, f"{n}.py") for n in (2, 3, 4)]], 3),
    (K.TOOL_CHURN, "four edits", [edit(n) for n in (1, 2, 3, 13)], 4),
    (K.TOOL_CHURN, "fix and fail", [edit(1), run(2, result=ERROR), edit(3), run(4, "x", result=ERROR), edit(5)], 3),
]
MISSED: list[tuple[FindingKind, str, list[Event]]] = [
    (K.CACHE_BREAK, "by less", [used(1, 9_000, 8_000), used(2, 9_500, 6_001)]),
    (K.CACHE_BREAK, "a shorter prompt", [used(1, 9_000, 8_000), used(2, 8_999, 0)]),
    (K.CACHE_BREAK, "another session", [used(1, 9_000, 8_000), used(2, 9_500, 0, session=2)]),
    (
        K.CACHE_BREAK,
        "a turn in between is mute",
        [used(1, 9_000, 8_000), used(2, 9_500, None), used(3, 9_900, 0)],
    ),
    (K.CACHE_MISS, "the first turn", [used(1, 9_000, 0)]),
    (K.CACHE_MISS, "the first of its session", [used(1, 9_000, 0), used(2, 9_000, 0, session=2)]),
    (K.CACHE_MISS, "too little", [used(1, 9_000, 0), used(2, 8_191, 0)]),
    (K.CACHE_MISS, "something cached", [used(1, 9_000, 0), used(2, 9_000, 1)]),
    (K.CACHE_MISS, "not told", [used(1, 9_000, 0), used(2, 9_000, None)]),
    (K.PROMPT_GROWTH, "not quite twice", [used(1, 20_001, 0), used(2, 40_001, 0)]),
    (K.PROMPT_GROWTH, "still small", [used(1, 100, 0), used(2, 39_999, 0)]),
    (K.PROMPT_GROWTH, "another session", [used(1, 100, 0), used(2, 90_000, 0, session=2)]),
    (K.READ_ONLY_STALL, "seven turns", reads(7)),
    (K.READ_ONLY_STALL, "eight reads in one turn", [replace(event, turn=1) for event in reads(8)]),
    (K.READ_ONLY_STALL, "an edit in between", [*reads(4), edit(5), *[read(n, f"{n}.py") for n in range(6, 10)]]),
    (K.READ_ONLY_STALL, "an edit beside the fifth", [*reads(9), edit(5)]),
    (K.BROAD_RESULT, "just below", [run(1, bytes=65_535, lines=999)]),
    (K.BROAD_RESULT, "not told", [run(1)]),
    (K.READ_FRAGMENTATION, "two pieces", pieces(1, 51)),
    (K.READ_FRAGMENTATION, "too far apart", pieces(1, 400, 752)),
    (K.READ_FRAGMENTATION, "the same piece thrice", pieces(1, 1, 1)),
    (K.READ_FRAGMENTATION, "too slow", timed(pieces(1, 51, 101), 0, 300, 601)),
    (K.READ_FRAGMENTATION, "too many turns", at_turns(pieces(1, 51, 101), 1, 7, 14)),
    (K.READ_FRAGMENTATION, "changed in between", [*pieces(1, 51), edit(2), read(3, first=101, last=150)]),
    (K.READ_FRAGMENTATION, "three files", reads(3)),
    (K.READ_FRAGMENTATION, "unknown lines", [read(n, first=n, last=None) for n in (1, 2, 3)]),
    (K.READ_FRAGMENTATION, "by three sessions", [replace(e, session=e.turn) for e in pieces(1, 51, 101)]),
    (K.GREP_SWEEP, "four patterns", searches(4)),
    (K.GREP_SWEEP, "one pattern", [search(n, "x") for n in range(1, 6)]),
    (K.GREP_SWEEP, "five places", [search(n, "x", f"d{n}") for n in range(1, 6)]),
    (K.GREP_SWEEP, "an edit in between", [*searches(4), edit(5), search(6, "x")]),
    (K.GREP_SWEEP, "spread out", at_turns(searches(5), 1, 3, 5, 7, 12)),
    (K.DUPLICATE_CALL, "other arguments", [read(1), read(2, first=2)]),
    (K.DUPLICATE_CALL, "after an edit", [read(1), edit(2, "b.py"), read(3)]),
    (K.DUPLICATE_CALL, "after a command", [read(1), run(2), read(3)]),
    (K.DUPLICATE_CALL, "after 121 seconds", timed([read(1), read(2)], 0, 121)),
    (K.DUPLICATE_CALL, "after seven turns", [read(1), read(8)]),
    (K.DUPLICATE_CALL, "by another session", [read(1), read(2, session=2)]),
    (K.DUPLICATE_CALL, "unknown arguments", [Event(EventKind.READ, n, tool="Read") for n in (1, 2)]),
    (K.TOOL_ERROR, "no result", [run(1, result=ResultKind.NONE)]),
    (K.MISSED_PARALLELISM, "two reads", reads(2)),
    (K.MISSED_PARALLELISM, "two at once in the middle", [*reads(2), read(2, "x.py"), read(3, "y.py")]),
    (K.MISSED_PARALLELISM, "a search, then what it found", [search(1, "x"), read(2), search(3, "y"), read(4)]),
    (K.MISSED_PARALLELISM, "pages of one file", pieces(1, 51, 101)),
    (K.MISSED_PARALLELISM, "one of them failed", [read(1), read(2, "b.py", result=ERROR), read(3, "c.py")]),
    (K.MISSED_PARALLELISM, "commands", [run(n, str(n)) for n in (1, 2, 3)]),
    (K.TOOL_CHURN, "three edits", [edit(n) for n in (1, 2, 3)]),
    (K.TOOL_CHURN, "four edits at once", [edit(1) for _ in range(4)]),
    (K.TOOL_CHURN, "four files", [edit(n, f"{n}.py") for n in range(1, 5)]),
    (K.TOOL_CHURN, "spread out", [edit(n) for n in (1, 2, 3, 14)]),
    (K.TOOL_CHURN, "one failing command", [edit(1), run(2, result=ERROR), edit(3)]),
    (K.TOOL_CHURN, "passing commands", [edit(1), run(2), edit(3), run(4), edit(5)]),
]


def found(kind: FindingKind, events: Sequence[Event]) -> list[Finding]:
    a_turn = Event(EventKind.TURN, 0, session=99)
    return [finding for finding in diagnose([a_turn, *events]).findings if finding.kind is kind]


@pytest.mark.parametrize(("kind", "why", "events", "size"), FOUND, ids=[f"{row[0]}: {row[1]}" for row in FOUND])
def test_what_is_a_finding_is_found_once(kind: FindingKind, why: str, events: list[Event], size: int) -> None:
    assert [finding.size for finding in found(kind, events)] == [size]


@pytest.mark.parametrize(("kind", "why", "events"), MISSED, ids=[f"{row[0]}: {row[1]}" for row in MISSED])
def test_what_only_looks_like_one_is_none(kind: FindingKind, why: str, events: list[Event]) -> None:
    assert found(kind, events) == []


def test_every_kind_is_tried_from_both_sides() -> None:
    assert {row[0] for row in FOUND} == {row[0] for row in MISSED} == set(FindingKind)
    assert {one.of for one in THRESHOLDS} == set(FindingKind) - {FindingKind.TOOL_ERROR}
    assert len({one.name for one in THRESHOLDS}) == len(THRESHOLDS)


def test_growth_is_told_once_for_each_doubling() -> None:
    events = [used(turn, sent, 0) for turn, sent in enumerate([30_000, 59_000, 60_000, 90_000, 120_000, 121_000], 1)]
    assert [finding.turn for finding in found(K.PROMPT_GROWTH, events)] == [3, 5]


def test_without_turns_nobody_knows_what_was_asked_at_once() -> None:
    diagnosis = diagnose(reads(20))
    assert diagnosis.counts[K.READ_ONLY_STALL] is diagnosis.counts[K.MISSED_PARALLELISM] is None
    assert {finding.kind for finding in diagnosis.findings} == set()


def test_counts_have_no_cap() -> None:
    many = [run(number, str(number), result=ERROR) for number in range(5_000)]
    assert diagnose(many).counts[K.TOOL_ERROR] == 5_000
    piece = [read(1, first=number % 9, last=number % 9 + 1) for number in range(MAX_WINDOW * 3)]
    assert [finding.size for finding in found(K.READ_FRAGMENTATION, piece)] == [MAX_WINDOW * 3]


COUNTS = st.none() | st.integers(0, 100_000)
SMALL = st.integers(0, 20)
EVENTS = st.builds(
    Event,
    kind=st.sampled_from(EventKind),
    turn=st.integers(-3, 40),
    session=st.integers(1, 2),
    tool=st.sampled_from([None, "Read", "Bash"]),
    args_sha256=st.none() | st.sampled_from("abcdef"),
    path=st.sampled_from([None, "a", "b"]),
    first_line=st.none() | SMALL,
    last_line=st.none() | SMALL | st.just(5_000),
    result=st.sampled_from(ResultKind),
    bytes=COUNTS,
    lines=COUNTS,
    time=st.none() | st.floats(-10, 2_000),
    usage=st.none() | st.builds(TurnUsage, input=COUNTS, cached=COUNTS, written=COUNTS, output=COUNTS),
    asked=st.none() | st.text(max_size=20),
    said=st.none() | st.text(max_size=20),
)


@given(st.lists(EVENTS, max_size=60))
def test_any_events_are_diagnosed_and_every_count_is_that_of_its_findings(events: list[Event]) -> None:
    diagnosis = diagnose(events)
    for kind, count in diagnosis.counts.items():
        assert sum(finding.kind is kind for finding in diagnosis.findings) == (count or 0)
    assert set(diagnosis.counts) == set(FindingKind)
    assert all(line.isprintable() for line in diagnosis.lines(99))


@given(st.lists(EVENTS, max_size=60), st.sampled_from(EventKind), st.booleans())
def test_something_unrelated_far_away_takes_no_finding_away(events: list[Event], kind: EventKind, first: bool) -> None:
    far = -10_000 if first else 10_000
    other = Event(kind, far, 9, "Other", "other", "elsewhere", 1, 2, OK, 1, 1, float(far), TurnUsage(1, 1, 0, 1))
    more = [other, *events] if first else [*events, other]
    assert set(diagnose(events).findings) <= set(diagnose(more).findings)
