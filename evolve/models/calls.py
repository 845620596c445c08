"""One call of a chat model: what it can cost at the worst, and what it used."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from evolve.models.base import ChatModel, ChatReply, ChatRequest, Message
from evolve.records.row import Usage
from evolve.records.workspace import Price

MESSAGE_TOKENS = 16
"""What a chat template puts around a message, at the most."""


def usage_of(reply: ChatReply | None, price: Price | None, began: float) -> Usage:
    """Return what one call used; what nobody reported, or nobody knows the price of, is unknown.

    Args:
        reply: The reply; ``None`` when there was none.
        price: What the model charges.
        began: When it began, by the monotonic clock.

    """
    session_ms = round((time.monotonic() - began) * 1000)
    if reply is None:
        return Usage(cost_usd_micros=_cost_micros(None, price), session_ms=session_ms)
    return Usage(
        input_tokens=reply.input_tokens,
        cached_input_tokens=_cached(reply),
        output_tokens=reply.output_tokens,
        cost_usd_micros=_cost_micros(reply, price),
        session_ms=session_ms,
    )


def _cost_micros(reply: ChatReply | None, price: Price | None) -> int | None:
    if price is None:
        return None
    if price.free:
        return 0
    if reply is None or reply.input_tokens is None or reply.output_tokens is None:
        return None
    return price.micros(reply.input_tokens, _cached(reply) or 0, reply.output_tokens)


def _cached(reply: ChatReply) -> int | None:
    """Return what was read from a cache; more than all input cannot have been."""
    cached, whole = reply.cached_input_tokens, reply.input_tokens
    return cached if cached is None or whole is None or cached <= whole else None


def worst_cost_micros(messages: Sequence[Message], price: Price | None, output_tokens: int) -> int | None:
    """Return the most that a call can cost, in micro-USD: no token is shorter than a byte; ``None`` without a price."""
    if price is None:
        return None
    size = sum(len(message.content.encode("utf-8")) + MESSAGE_TOKENS for message in messages)
    return price.micros(size, 0, output_tokens)


def paid_call(
    model: ChatModel, request: ChatRequest, price: Price | None, admit: Callable[[int | None], None]
) -> tuple[ChatReply, Usage]:
    """Make one call, once its worst cost is admitted, and return the reply with what it used.

    Args:
        model: Who is asked.
        request: What is asked.
        price: What it charges; without one the cost is unknown.
        admit: Asked whether the worst cost, in micro-USD, is allowed; it raises when it is not.

    Raises:
        ModelFault: The model failed.

    """
    admit(worst_cost_micros(request.messages, price, request.max_output_tokens))
    began = time.monotonic()
    reply = model.complete(request)
    return reply, usage_of(reply, price, began)
