"""A transcript as steps: each call beside its result, and whatever else stands there is shown in one way or another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.agents.accounts import PhaseAccount
from evolve.agents.steps import ALL_CHARS, MOST_STEPS, STEP_CHARS, Step, Steps, read_steps
from evolve.report.page.visible import shown
from evolve.sandbox.gateway.meter import Tokens

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
NAMES = ("type", "message", "content", "item", "id", "input", "name", "tool_use_id", "text")
OWN = ("evolve_phase", "evolve_errors", "evolve_accounts")
lines = st.none() | st.dictionaries(st.sampled_from((*NAMES, *OWN)), anything, max_size=6)


def steps_of(said: Iterable[Any], adapter: str) -> Steps:
    return read_steps(said, adapter, shown)


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": list(blocks)}}


def results(*blocks: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"content": list(blocks)}}


def call(name: str, identifier: str, **asked: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": name, "input": asked}


def result(identifier: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, **more}


def test_results_of_calls_made_at_once_stand_beside_their_own_call() -> None:
    found = steps_of(
        [
            assistant(
                {"type": "text", "text": "I look."}, call("Read", "a", path="x.py"), call("Bash", "b", command="false")
            ),
            results(result("b", [{"type": "text", "text": "no"}], is_error=True), result("a", "one\ntwo")),
        ],
        "claude-code",
    )
    assert found.steps == (
        Step("said", "said", "I look."),
        Step("call", "Read: x.py", '{\n "path": "x.py"\n}', "one\ntwo"),
        Step("call", "Bash: false", '{\n "command": "false"\n}', "no", failed=True),
    )


def test_a_result_whose_call_is_not_told_stands_alone_and_a_call_may_stay_open() -> None:
    found = steps_of([results(result("z", "late")), assistant(call("Read", "a"))], "claude-code")
    assert [(step.title, step.answered) for step in found.steps] == [
        ("a result without its call", "late"),
        ("Read:", None),
    ]


def test_what_codex_did_is_told_once_when_it_has_ended() -> None:
    command = {"type": "command_execution", "command": "ls", "aggregated_output": "a\n", "exit_code": 0}
    found = steps_of(
        [
            {"type": "item.started", "item": {**command, "exit_code": None}},
            {"type": "item.completed", "item": command},
            {"type": "item.completed", "item": {**command, "exit_code": 2}},
            {"type": "item.completed", "item": {"type": "agent_message", "text": "done"}},
            {"type": "item.completed", "item": {"id": "i", "type": "file_change", "status": "completed", "path": "a"}},
            {"type": "turn.completed", "usage": {"input_tokens": 3}},
        ],
        "codex",
    )
    assert [(step.kind, step.title, step.answered, step.failed) for step in found.steps] == [
        ("call", "command: ls", "a\n", False),
        ("call", "command: ls", "a\n", True),
        ("said", "said", None, False),
        ("call", "file_change: completed", None, False),
        ("other", "turn.completed", None, False),
    ]


def test_the_lines_of_evolve_are_what_they_say() -> None:
    account = {"phase": "work", "told": {"input": 3}, "metered": None, "calls": 2, "answered": 1}
    found = steps_of(
        [
            {"evolve_phase": "plan"},
            {"role": "user", "content": "hello"},
            {"evolve_errors": "bad"},
            {"evolve_accounts": [account]},
            None,
        ],
        "gemini-cli",
    )
    assert [(step.kind, step.title, step.asked) for step in found.steps] == [
        ("phase", "phase plan", ""),
        ("said", "user", "hello"),
    ]
    assert (found.errors, found.unreadable) == ("bad", 1)
    assert found.accounts == (PhaseAccount("work", Tokens(3), None, 2, 1),)


@given(st.lists(lines, max_size=6), st.sampled_from(["claude-code", "codex", "chat", ""]))
def test_whatever_stands_there_is_shown_or_counted(said: list[Any], adapter: str) -> None:
    found = steps_of(said, adapter)
    assert found.unreadable == said.count(None)
    for step in found.steps:
        f"{step.title}{step.asked}{step.answered}".encode()


@pytest.mark.parametrize("adapter", ["claude-code", "codex", "other"])
def test_texts_without_end_are_cut_and_steps_beyond_the_most_are_counted(adapter: str) -> None:
    huge = "x" * 1_000_000
    line = {"type": "item.completed", "item": {"type": "agent_message", "text": huge}, "message": {"content": huge}}
    found = steps_of([line] * 150, adapter)
    assert sum(len(step.asked) for step in found.steps) < ALL_CHARS + 150 * 100
    assert len(found.steps[0].asked) < STEP_CHARS + 100
    assert "more characters" in found.steps[0].asked and "more characters" in found.steps[-1].asked
    many = steps_of(({"type": "note"} for _ in range(MOST_STEPS + 7)), adapter)
    assert (len(many.steps), many.left_out) == (MOST_STEPS, 7)


def test_what_hides_or_steers_is_seen() -> None:
    found = steps_of([assistant({"type": "text", "text": "\x1b[31m\u202e::error::x\r\n<script>"})], "claude-code")
    assert found.steps[0].asked == "\\x1b[31m\\u202e::error::x\\r\n<script>"
