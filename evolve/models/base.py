"""What a model transport is: messages in, one reply out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from evolve.errors import EnvironmentFault

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """One request; ``wall_s`` bounds the whole call in seconds, ``seed`` is shared by all arms of a cell."""

    messages: tuple[Message, ...]
    max_output_tokens: int
    temperature: float
    seed: int
    wall_s: float


@dataclass(frozen=True)
class ChatReply:
    """One reply; a count that the transport does not report is ``None``, never 0."""

    text: str
    finish: Literal["stop", "length"]
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None


class ModelFault(EnvironmentFault):
    """The model or its provider failed; the cell is a ``session-error``."""

    default_code = "model-fault"


class ModelTimeout(EnvironmentFault):
    """The reply took longer than its wall limit; the cell is an ``agent-timeout``."""

    default_code = "model-timeout"


class ChatModel(Protocol):
    """A model that answers chat requests, one at a time."""

    @property
    def identity(self) -> dict[str, str | int | bool | None]:
        """All that can influence a reply beside the request: weights, runtime, threads, cache setting.

        ``repeatable`` says whether the same request, seed included, always gets the same reply.
        """
        ...

    def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request.

        Raises:
            ModelFault: The model or its provider failed.
            ModelTimeout: The wall limit was reached; the next call works again.

        """
        ...

    def close(self) -> None:
        """Release the model; calling it twice is harmless."""
        ...
