"""Reading what a model call used out of its answer, streamed or not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from evolve.hostile import as_count

MAX_LINE = 16 * 1024 * 1024


@dataclass(frozen=True)
class Tokens:
    """Tokens of one or more calls; ``input`` counts all input, what was cached or written to a cache included."""

    input: int = 0
    cached: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def sound(self) -> bool:
        """Whether the parts are no more than the whole: what was cached of the input, reasoning of the output."""
        parts = self.cached + self.cache_write_5m + self.cache_write_1h
        return parts <= self.input and self.reasoning <= self.output

    def __add__(self, other: Tokens) -> Tokens:
        """Add tokens up."""
        return Tokens(
            self.input + other.input,
            self.cached + other.cached,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )


def _count(value: Any, *path: str) -> int:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return as_count(value) or 0


def anthropic_tokens(usage: Any) -> Tokens:
    """Read the ``usage`` of the Messages API, where ``input_tokens`` leaves out what was cached."""
    written = _count(usage, "cache_creation_input_tokens")
    hour = _count(usage, "cache_creation", "ephemeral_1h_input_tokens")
    cached = _count(usage, "cache_read_input_tokens")
    return Tokens(
        input=_count(usage, "input_tokens") + cached + written,
        cached=cached,
        cache_write_5m=max(0, written - hour),
        cache_write_1h=hour,
        output=_count(usage, "output_tokens"),
        reasoning=_count(usage, "output_tokens_details", "thinking_tokens"),
    )


def openai_tokens(usage: Any) -> Tokens:
    """Read the ``usage`` of the Responses or the Chat Completions API, where input includes what was cached."""
    return Tokens(
        input=_count(usage, "input_tokens") or _count(usage, "prompt_tokens"),
        cached=_count(usage, "input_tokens_details", "cached_tokens")
        or _count(usage, "prompt_tokens_details", "cached_tokens"),
        output=_count(usage, "output_tokens") or _count(usage, "completion_tokens"),
        reasoning=_count(usage, "output_tokens_details", "reasoning_tokens")
        or _count(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def gemini_tokens(usage: Any) -> Tokens:
    """Read the ``usageMetadata`` of generateContent, where thoughts stand beside the answer's tokens."""
    thoughts = _count(usage, "thoughtsTokenCount")
    return Tokens(
        input=_count(usage, "promptTokenCount") + _count(usage, "toolUsePromptTokenCount"),
        cached=_count(usage, "cachedContentTokenCount"),
        output=_count(usage, "candidatesTokenCount") + thoughts,
        reasoning=thoughts,
    )


def _ended(answer: dict[str, Any]) -> bool:
    """Whether a part of a generated content is its last: it says why it ended, or that the prompt was blocked."""
    candidates = answer.get("candidates")
    listed = candidates if isinstance(candidates, list) else []
    ends = [one.get("finishReason") for one in listed if isinstance(one, dict)]
    feedback = answer.get("promptFeedback")
    return any(ends) or (isinstance(feedback, dict) and bool(feedback.get("blockReason")))


@dataclass
class Meter:
    """Takes the bytes of one answer as they pass; ``tokens`` is ``None`` until the answer has said what it used."""

    streamed: bool
    tokens: Tokens | None = None
    model: str | None = None
    begun: bool = False
    _rest: bytes = b""
    _ended: bool = False
    _start: dict[str, Any] = field(default_factory=dict)

    def feed(self, data: bytes) -> None:
        """Take more of the answer."""
        self._rest += data
        if not self.streamed:
            return
        *lines, self._rest = self._rest.split(b"\n")
        if len(self._rest) > MAX_LINE:
            self._rest = b""
        for line in lines:
            if line.startswith(b"data:"):
                self._take(_object(line.removeprefix(b"data:")))

    def close(self) -> None:
        """Learn that the answer is complete."""
        if not self.streamed:
            self._take_whole(_object(self._rest))
        self._rest = b""

    def _take_whole(self, answer: dict[str, Any]) -> None:
        self.model = answer.get("model") if isinstance(answer.get("model"), str) else None
        usage = answer.get("usage")
        if isinstance(answer.get("usageMetadata"), dict):
            self.tokens = gemini_tokens(answer["usageMetadata"])
        elif isinstance(usage, dict):
            self.tokens = anthropic_tokens(usage) if answer.get("type") == "message" else openai_tokens(usage)

    def _take(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_start" and isinstance(event.get("message"), dict):
            usage = event["message"].get("usage")
            self._start = dict(usage) if isinstance(usage, dict) else {}
            self.begun = True
            self.model = event["message"].get("model")
        elif kind == "message_delta" and isinstance(event.get("usage"), dict):
            told = {name: value for name, value in event["usage"].items() if value is not None}
            self.tokens = anthropic_tokens({**self._start, **told})
        elif isinstance(kind, str) and kind.startswith("response.") and isinstance(event.get("response"), dict):
            response = event["response"]
            self.model = response.get("model") or self.model
            if isinstance(response.get("usage"), dict):
                self.tokens = openai_tokens(response["usage"])
        elif kind is None and isinstance(event.get("usage"), dict):
            self.tokens = openai_tokens(event["usage"])
            self.model = event.get("model") or self.model
        elif kind is None:
            self._take_generated(event)

    def _take_generated(self, part: dict[str, Any]) -> None:
        """Take a part of a generated content: each tells what was used until then, the last one what was used."""
        self._ended = self._ended or _ended(part)
        if self._ended and isinstance(part.get("usageMetadata"), dict):
            self.tokens = gemini_tokens(part["usageMetadata"])


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
