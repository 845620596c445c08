"""What was used is kept twice in the transcript: by the program's account and by the gateway's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.agents.accounts import MAX_PHASES, PhaseAccount, read_accounts, with_accounts, with_line
from evolve.agents.transcripts import read_transcript
from evolve.sandbox.gateway.meter import Tokens

counts = st.integers(0, 10**12)
tokens = st.none() | st.builds(Tokens, counts, counts, counts, counts, counts, counts)
accounts = st.builds(PhaseAccount, st.text(max_size=20), tokens, tokens, counts, counts)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
SAID = '{"type": "assistant", "message": {"id": "1", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}}'


@given(st.lists(accounts, min_size=1, max_size=4), st.sampled_from(["", "a line\n", "a torn line"]))
def test_accounts_come_back_as_they_were_kept(kept: list[PhaseAccount], transcript: str) -> None:
    lines = with_accounts(transcript, kept).splitlines()
    assert read_accounts(json.loads(lines[-1])) == tuple(kept)
    assert lines[:-1] == transcript.splitlines()


def test_nothing_is_added_where_nothing_is_known() -> None:
    assert with_accounts("said\n", []) == "said\n"


def test_a_torn_line_is_ended_before_another_begins() -> None:
    assert with_line("torn", "key", 1) == 'torn\n{"key": 1}\n'


@given(anything)
def test_whatever_stands_there_is_read_or_passed_over(value: Any) -> None:
    assert read_accounts({"evolve_accounts": value}) is not None


@pytest.mark.parametrize("line", [None, {}, {"evolve_accounts": "x"}, {"evolve_accounts": [3, "y"]}])
def test_what_is_no_account_is_none(line: Any) -> None:
    assert read_accounts(line) == ()


def test_figures_that_cannot_be_counts_and_phases_without_end_are_not_taken() -> None:
    one = {"phase": "p", "told": {"input": -1, "output": 10**40}, "metered": 7, "calls": "x", "answered": True}
    found = read_accounts({"evolve_accounts": [one] * 1000})
    assert len(found) == MAX_PHASES
    assert found[0] == PhaseAccount("p", Tokens(), None, 0, 0)


@pytest.mark.parametrize("adapter", ["claude-code", "codex"])
def test_the_line_is_no_event_of_the_agent(adapter: str, tmp_path: Path) -> None:
    plain, kept = tmp_path / "plain.jsonl", tmp_path / "kept.jsonl"
    plain.write_text(SAID + "\n")
    kept.write_text(with_accounts(SAID, [PhaseAccount("work", Tokens(3, output=1), None, 1, 1)]))
    assert read_transcript(kept, adapter) == read_transcript(plain, adapter)
