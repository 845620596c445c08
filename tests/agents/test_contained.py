"""What a program says cannot stop evolve."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.agents.claude_code import ClaudeCode
from evolve.agents.codex import Codex
from evolve.agents.heard import Heard
from evolve.agents.output import hear
from evolve.records.agent import ProgramSpec
from evolve.records.workspace import WorkspaceSpec

COMMON: dict[str, Any] = {"binary": "x", "version": "1", "upstream": {"base_url": "http://127.0.0.1:9"}}
CLAUDE = ClaudeCode(ProgramSpec.model_validate({"adapter": "claude-code", "model": "m1", **COMMON}))
CODEX = Codex(ProgramSpec.model_validate({"adapter": "codex", "model": "m1", **COMMON}))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = """
type subtype skills tools plugins model result message content usage item error is_error errors modelUsage
tool_use_result mcp_servers id plugin_errors num_turns
"""
KINDS = "system init result assistant user item.completed turn.completed turn.failed"
names, kinds = st.sampled_from(NAMES.split()), st.sampled_from(KINDS.split())
events = st.dictionaries(names, anything | kinds, max_size=8)


@settings(max_examples=150, deadline=None)
@given(st.lists(events | anything, max_size=4), st.sampled_from([CLAUDE, CODEX]))
def test_no_output_stops_evolve(said: list[Any], adapter: Any) -> None:
    init = {"type": "system", "subtype": "init"}
    output = b"\n".join(json.dumps(line).encode() for line in [init, *said])
    heard = hear(adapter, output, Path("/nonexistent"), frozenset({"greeter"}))
    assert isinstance(heard, Heard)
    heard.reply.encode("utf-8")


@pytest.mark.parametrize("output", [b"", b"\0" * 100, b"\xff\xfe", b"[" * 100_000, b'{"type": "system"' * 1000])
def test_bytes_that_are_no_events_are_passed_over(output: bytes) -> None:
    assert not hear(CLAUDE, output, Path("/nonexistent"), frozenset()).finished


def test_what_cannot_be_read_is_evidence_that_cannot_be_believed() -> None:
    class Broken(ClaudeCode):
        def read(self, output: bytes, home: Path, skills: frozenset[str]) -> Heard:
            raise TypeError("unhashable")

    heard = hear(Broken(CLAUDE.spec), b"", Path("/x"), frozenset())
    assert heard.unreadable == "TypeError: unhashable"
    assert replace(heard, unreadable=None).finished


@pytest.mark.parametrize("value", ["claude-code", ["chat"], None, 7, {"adapter": ["x"]}, {"adapter": "caht"}])
def test_an_agent_that_is_none_is_an_error_of_the_file(value: Any) -> None:
    models = {"m": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:9", "model": "m"}}
    whole = {"schema": "evolve/workspace@1", "models": models, "agent": value, "proposer": {"model": "m"}}
    with pytest.raises(ValueError, match="agent"):
        WorkspaceSpec.model_validate(whole)
