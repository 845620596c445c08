"""Reading usage out of answers as they pass."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.sandbox.gateway.meter import Meter, Tokens, anthropic_tokens, gemini_tokens, openai_tokens
from tests.real_agents.scripted import USAGE, _chat_chunks, _generated, _message, _messages, _responses

ASKED = {"model": "m"}
STEP = {
    "text": "hello",
    "tools": [{"name": "Write", "input": {"a": "b\ndata: {}"}}],
    "usage": {"input_tokens": 7, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 11},
}


def frames(events: object) -> bytes:
    return b"".join(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() for name, data in events)  # type: ignore[attr-defined]


def metered(data: bytes, cuts: list[int], *, streamed: bool = True) -> Meter:
    meter = Meter(streamed)
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in pairwise(edges):
        meter.feed(data[start:end])
    meter.close()
    return meter


@given(st.lists(st.integers(0, 5000), max_size=20))
def test_a_streamed_message_is_metered_wherever_it_is_cut(cuts: list[int]) -> None:
    meter = metered(frames(_messages(STEP, ASKED)), cuts)
    assert meter.tokens == Tokens(input=15, cached=5, cache_write_5m=3, output=11)
    assert meter.model == "m"


@given(st.lists(st.integers(0, 5000), max_size=20))
def test_a_streamed_response_is_metered_wherever_it_is_cut(cuts: list[int]) -> None:
    meter = metered(frames(_responses(STEP, ASKED)), cuts)
    assert (meter.tokens, meter.model) == (Tokens(input=12, cached=5, output=11), "m")


def test_answers_that_are_not_streamed_are_metered_whole() -> None:
    message = json.dumps(_message(STEP, ASKED)).encode()
    assert metered(message, [3], streamed=False).tokens == Tokens(input=15, cached=5, cache_write_5m=3, output=11)
    chat = {"model": "m", "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    assert metered(json.dumps(chat).encode(), [], streamed=False).tokens == Tokens(input=9, output=2)


def test_the_last_chunk_of_a_streamed_chat_is_metered() -> None:
    usage = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens": 2}
    lines = [{"choices": [{"delta": {"content": "x"}}]}, {"choices": [], "usage": usage, "model": "m"}]
    data = b"".join(b"data: " + json.dumps(line).encode() + b"\n\n" for line in lines) + b"data: [DONE]\n\n"
    assert metered(data, [5, 9]).tokens == Tokens(input=9, cached=4, output=2)


@given(st.lists(st.integers(0, 5000), max_size=20))
def test_a_streamed_chat_is_metered_wherever_it_is_cut(cuts: list[int]) -> None:
    asked = {**ASKED, "stream_options": {"include_usage": True}}
    meter = metered(frames(_chat_chunks(STEP, asked)), cuts)
    assert (meter.tokens, meter.model) == (Tokens(input=12, cached=5, output=11), "m")


@given(st.lists(st.integers(0, 5000), max_size=20))
def test_a_streamed_generated_content_is_metered_wherever_it_is_cut(cuts: list[int]) -> None:
    step = {**STEP, "usage": {**STEP["usage"], "thoughts": 4}}  # type: ignore[dict-item]
    assert metered(frames(_generated(step)), cuts).tokens == Tokens(input=12, cached=5, output=11, reasoning=4)


def test_a_generated_content_is_metered_by_its_last_part_alone() -> None:
    first, last = (data for _, data in _generated(STEP))
    assert metered(frames([("", first)]), []).tokens is None
    assert metered(json.dumps(last).encode(), [], streamed=False).tokens == Tokens(input=12, cached=5, output=11)
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}
    assert metered(frames([("", blocked)]), []).tokens == Tokens(input=3)
    trailing = {"candidates": [], "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 13}}
    assert metered(frames([("", last), ("", trailing)]), []).tokens == Tokens(input=12, output=13)
    odd = {"candidates": {"a": 1}, "promptFeedback": [], "usageMetadata": {"promptTokenCount": 3}}
    assert metered(frames([("", odd)]), []).tokens is None


def test_what_a_tool_fed_to_the_prompt_is_input_too() -> None:
    usage = {"promptTokenCount": 3, "toolUsePromptTokenCount": 4, "thoughtsTokenCount": 2}
    assert gemini_tokens(usage) == Tokens(input=7, output=2, reasoning=2)


@pytest.mark.parametrize("data", [b"", b"data: {not json\n\n", b"data: []\n", b"event: x\n\n", b"\x00\xff\n" * 5])
def test_what_says_nothing_is_unknown_never_zero(data: bytes) -> None:
    assert metered(data, []).tokens is None
    assert metered(data, [], streamed=False).tokens is None


def test_a_stream_that_was_cut_before_its_end_is_unknown() -> None:
    assert metered(frames(list(_messages(STEP, ASKED))[:3]), []).tokens is None


@given(
    st.dictionaries(
        st.sampled_from([*USAGE, "cache_creation", "prompt_tokens", "promptTokenCount"]),
        st.none() | st.text() | st.booleans(),
    )
)
def test_figures_that_are_no_numbers_count_nothing(usage: dict[str, object]) -> None:
    assert anthropic_tokens(usage) == openai_tokens(usage) == gemini_tokens(usage) == Tokens()


def test_cache_writes_are_told_apart_by_their_lifetime() -> None:
    usage = {"cache_creation_input_tokens": 10, "cache_creation": {"ephemeral_1h_input_tokens": 4}}
    tokens = anthropic_tokens(usage)
    assert (tokens.cache_write_5m, tokens.cache_write_1h, tokens.input) == (6, 4, 10)


@pytest.mark.parametrize(
    ("tokens", "sound"),
    [
        (Tokens(), True),
        (Tokens(input=10, cached=5, cache_write_5m=5), True),
        (Tokens(input=10, cached=5, cache_write_1h=6), False),
        (Tokens(output=1, reasoning=2), False),
    ],
)
def test_parts_are_no_more_than_the_whole(tokens: Tokens, sound: bool) -> None:
    assert tokens.sound is sound
