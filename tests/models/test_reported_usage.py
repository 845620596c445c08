"""What a server reports of tokens is hostile: figures that cannot be are unknown, and never end a run."""

from __future__ import annotations

import time

import pytest

from evolve.models.base import ChatReply
from evolve.models.calls import usage_of
from evolve.models.chat_completion import parse_reply
from evolve.records.workspace import Price

PRICE = Price(input_usd=1, cached_input_usd=0.1, output_usd=2)


@pytest.mark.parametrize("figure", [-5, 10**13, 10**400, 1.5, "7", True, None, {}])
def test_a_figure_that_cannot_be_is_unknown(figure: object) -> None:
    usage = {"prompt_tokens": figure, "completion_tokens": figure, "prompt_tokens_details": {"cached_tokens": figure}}
    choice = {"message": {"content": "ok"}, "finish_reason": "stop"}
    reply = parse_reply({"choices": [choice], "usage": usage}, "m")
    found = usage_of(reply, PRICE, time.monotonic())
    assert (found.input_tokens, found.cached_input_tokens, found.output_tokens, found.cost_usd_micros) == (None,) * 4


def test_more_that_was_cached_than_there_was_is_unknown_and_paid_as_fresh() -> None:
    reply = ChatReply("ok", "stop", 1000, 1001, 10)
    found = usage_of(reply, PRICE, time.monotonic())
    assert (found.input_tokens, found.cached_input_tokens, found.cost_usd_micros) == (1000, None, 1020)
