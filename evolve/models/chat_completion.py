"""The chat-completion object that llama.cpp, Ollama, vLLM, LM Studio and OpenAI all answer with."""

from __future__ import annotations

from typing import Any

from evolve.hostile import as_count
from evolve.models.base import ChatReply, ChatRequest, ModelFault


def chat_messages(request: ChatRequest) -> list[dict[str, str]]:
    """Return a request's messages in the wire's form."""
    return [{"role": message.role, "content": message.content} for message in request.messages]


def parse_reply(answer: Any, who: str) -> ChatReply:
    """Read the reply out of a parsed chat completion.

    Args:
        answer: The parsed JSON, of any shape.
        who: The model, for messages.

    Raises:
        ModelFault: There is no reply in it, or it ended for another reason than its end or its length.

    """
    try:
        choice = answer["choices"][0]
        text, finish = choice["message"].get("content"), choice["finish_reason"]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ModelFault(f"{who}: the answer holds no reply") from error
    if finish not in ("stop", "length"):
        raise ModelFault(f"{who}: the reply ended with {str(finish)[:40]!r}")
    if text is not None and not isinstance(text, str):
        raise ModelFault(f"{who}: the reply is not text")
    usage = _mapping(answer.get("usage"))
    return ChatReply(
        text=text or "",
        finish=finish,
        input_tokens=as_count(usage.get("prompt_tokens")),
        cached_input_tokens=as_count(_mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        output_tokens=as_count(usage.get("completion_tokens")),
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
