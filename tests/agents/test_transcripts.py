"""Transcripts of both programs become the same events, and nothing in them can stop that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.agents import transcript_events
from evolve.agents.claude_code_transcript import read_claude_code
from evolve.agents.codex_transcript import read_codex
from evolve.agents.transcript_events import Event, EventKind, ResultKind, Transcript, TurnUsage
from evolve.agents.transcripts import read_transcript, tells
from tests.propose.diagnostics.transcripts import CLAUDE, CODEX, answer, command, lines, result, use

OK, ERROR, NONE = ResultKind.OK, ResultKind.ERROR, ResultKind.NONE


def read(path: Path, adapter: str, data: str | bytes) -> Transcript:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    found = read_transcript(path, adapter)
    assert found is not None
    return found


def calls(transcript: Transcript) -> list[Event]:
    return [event for event in transcript.events if event.is_call]


def test_a_session_of_claude_code_becomes_turns_and_calls(tmp_path: Path) -> None:
    found = read(tmp_path / "t", "claude-code", lines(CLAUDE))
    assert found.unreadable == 0
    assert [(e.turn, e.kind, e.tool, e.path, e.result) for e in calls(found)] == [
        (1, EventKind.READ, "Read", "src/a.py", OK),
        (1, EventKind.SEARCH, "Grep", ".", OK),
        (2, EventKind.EDIT, "Edit", "src/a.py", OK),
        (3, EventKind.COMMAND, "Bash", None, ERROR),
        (4, EventKind.READ, "Bash", "src/a.py", NONE),
    ]
    first, grep, _, failed, unanswered = calls(found)
    assert (first.first_line, first.last_line, first.bytes, first.lines, first.time) == (1, 2, 16, 2, 0.0)
    assert (grep.bytes, grep.lines, grep.time, grep.asked) == (10, 1, 1.5, "def f")
    assert (failed.asked, failed.said, failed.time) == ("python -m pytest -q", "Exit code 1\n1 failed", None)
    assert (unanswered.bytes, unanswered.lines, unanswered.last_line) == (None, None, None)


def test_the_frames_of_one_answer_are_one_turn_whose_output_is_not_known_yet(tmp_path: Path) -> None:
    found = read(tmp_path / "t", "claude-code", lines(CLAUDE))
    turns = [event for event in found.events if event.kind is EventKind.TURN]
    assert [turn.turn for turn in turns] == [1, 2, 3, 4]
    assert [turn.usage for turn in turns[:2]] == [TurnUsage(510, 0, 500, None), TurnUsage(1020, 510, 500, None)]


def test_usage_without_its_parts_is_unknown_and_not_nothing(tmp_path: Path) -> None:
    frames = answer(1, use("t1", "Read", file_path="a"))
    del frames[0]["message"]["usage"]["cache_read_input_tokens"]
    found = read(tmp_path / "t", "claude-code", lines(frames))
    assert found.events[0].usage == TurnUsage(None, None, 500, None)


def test_a_subagent_and_a_phase_are_sessions_of_their_own(tmp_path: Path) -> None:
    values = [
        {"evolve_phase": "plan"},
        *answer(1, use("t1", "Agent", prompt="look")),
        *answer(2, use("t2", "Read", file_path="a"), parent_tool_use_id="t1"),
        {"evolve_phase": "work"},
        *answer(1, use("t1", "Read", file_path="a")),
        result("t1", "x"),
    ]
    found = read(tmp_path / "t", "claude-code", lines(values))
    assert [(event.session, event.turn, event.result) for event in calls(found)] == [
        (1, 1, NONE),
        (2, 2, NONE),
        (3, 3, OK),
    ]


def test_a_session_of_codex_becomes_turns_and_calls(tmp_path: Path) -> None:
    found = read(tmp_path / "t", "codex", lines(CODEX))
    assert [(e.turn, e.kind, e.tool, e.path, e.result) for e in calls(found)] == [
        (1, EventKind.READ, "shell", "src/a.py", OK),
        (1, EventKind.SEARCH, "shell", "src", OK),
        (2, EventKind.EDIT, "file_change", "src/a.py", OK),
        (2, EventKind.EDIT, "file_change", "b.py", OK),
        (3, EventKind.COMMAND, "shell", None, ERROR),
        (4, EventKind.OTHER, "notes.add", None, ERROR),
    ]
    first = calls(found)[0]
    assert (first.first_line, first.last_line, first.bytes, first.lines) == (1, 20, 6, 1)
    assert first.asked == "sed -n '1,20p' src/a.py"
    assert calls(found) == list(found.events), "the stream tells no turns"
    assert all(event.time is None for event in found.events)


def test_a_command_that_was_killed_has_no_result(tmp_path: Path) -> None:
    found = read(tmp_path / "t", "codex", lines(command("i1", "sleep 99", ended=False)))
    assert [(event.result, event.bytes) for event in calls(found)] == [(NONE, None)]


def test_a_command_that_a_phase_left_unanswered_keeps_nothing_waiting(tmp_path: Path) -> None:
    values = [
        *command("i1", "sleep 99", ended=False),
        {"evolve_phase": "work"},
        *command("i1", "a"),
        *command("i2", "b"),
    ]
    found = read(tmp_path / "t", "codex", lines(values))
    assert [(event.session, event.turn, event.result) for event in calls(found)] == [
        (1, 1, NONE),
        (2, 2, OK),
        (2, 3, OK),
    ]


@pytest.mark.parametrize("adapter", ["claude-code", "codex"])
def test_garbage_is_counted_and_passed_over(tmp_path: Path, adapter: str) -> None:
    whole = lines(CLAUDE if adapter == "claude-code" else CODEX).encode()
    rubbish = b'not json\n\xff\xfe\n[1]\n\n{"type": "assistant", "mess'
    found = read(tmp_path / "t", adapter, b"\x00\n" + whole + rubbish)
    assert found.unreadable == 5
    assert found.events == read(tmp_path / "t", adapter, whole).events


def test_a_line_too_long_to_be_held_is_one_unreadable_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_events, "MAX_LINE_BYTES", 64)
    data = b"[" + b"1," * 100 + b"1]\n" + b'{"type": "x"}\n' + b"y" * 300
    path = tmp_path / "t"
    path.write_bytes(data)
    assert list(transcript_events.objects_of(path)) == [None, {"type": "x"}, None]


def test_what_nobody_can_read_is_none_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(lines(CLAUDE))
    assert tells("codex") and tells("claude-code") and not tells("chat")
    assert read_transcript(tmp_path / "t", "chat") is None
    assert read_transcript(tmp_path / "gone", "codex") is None


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["t1", "src/a.py"])
KINDS = st.sampled_from(
    [
        "assistant",
        "user",
        "tool_use",
        "tool_result",
        "item.started",
        "item.completed",
        "command_execution",
        "file_change",
        "mcp_tool_call",
        "web_search",
        "reasoning",
        "text",
        "Read",
        "Bash",
        "Edit",
        "Grep",
    ]
)
NAMES = KINDS | st.sampled_from(
    ["type", "message", "item", "content", "id", "input", "file", "startLine", "command", "changes", "path"]
)
JSON = st.recursive(
    LEAVES | KINDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6), max_leaves=12
)


def spliced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a value with one place in it taken by another."""
    if not path:
        return new
    copied = json.loads(json.dumps(value))
    place = copied
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = new
    return copied


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for step, inner in steps for found in places(inner, (*path, step)))]


@given(st.data())
@pytest.mark.parametrize(("reader", "sample"), [(read_claude_code, CLAUDE), (read_codex, CODEX)])
def test_no_json_stops_a_reader(reader: Any, sample: list[dict[str, Any]], data: st.DataObject) -> None:
    values: list[Any] = list(sample)
    for _ in range(data.draw(st.integers(1, 4))):
        number = data.draw(st.integers(0, len(values) - 1))
        values[number] = spliced(values[number], data.draw(st.sampled_from(places(values[number]))), data.draw(JSON))
    found = reader(value if isinstance(value, dict) else None for value in values)
    assert found.unreadable == sum(not isinstance(value, dict) for value in values)
