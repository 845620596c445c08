"""Which requests call a model, which model that is, and where they say how long the answer may be."""

from __future__ import annotations

import math
import re
from typing import Any

CHAT = "/v1/chat/completions"
OUTPUT_LIMIT_OF = {"/v1/messages": "max_tokens", "/v1/responses": "max_output_tokens", CHAT: "max_completion_tokens"}
OUTPUT_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
FREE = ("/v1/messages/count_tokens", "/v1/models", "/", "/api/hello", "/v1beta/models")
# Gemini names its model in the path, and takes every field in two spellings.
GEMINI = re.compile(r"/v1(?:beta|alpha)?/models/([A-Za-z0-9][A-Za-z0-9._-]*):(generateContent|streamGenerateContent)")
GEMINI_FREE = re.compile(r"/v1(?:beta|alpha)?/models/[A-Za-z0-9][A-Za-z0-9._-]*(:countTokens)?")
GEMINI_CONFIGS = ("generationConfig", "generation_config")
GEMINI_LIMITS = ("maxOutputTokens", "max_output_tokens")
GEMINI_ANSWERS = ("candidateCount", "candidate_count")


def is_call(path: str) -> bool:
    """Whether a request to a path calls a model, and is paid for."""
    return path in OUTPUT_LIMIT_OF or GEMINI.fullmatch(path) is not None


def is_free(path: str) -> bool:
    """Whether a path is a harmless question."""
    return path in FREE or GEMINI_FREE.fullmatch(path) is not None


def is_gemini(path: str) -> bool:
    """Whether a path is one of Gemini's, which takes its key in a header of its own."""
    return path.startswith(("/v1beta/", "/v1alpha/")) or GEMINI.fullmatch(path) is not None


def model_of(path: str, asked: dict[str, Any]) -> str | None:
    """Return the model that a call asks for."""
    if (match := GEMINI.fullmatch(path)) is not None:
        return match[1]
    model = asked.get("model")
    return model if isinstance(model, str) else None


def output_limits(path: str, asked: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return every place of a call, as object and field, that limits its answer; one is made where there is none."""
    if GEMINI.fullmatch(path) is None:
        return [(asked, name) for name in OUTPUT_LIMITS if name in asked] or [(asked, OUTPUT_LIMIT_OF[path])]
    configs = _configs(asked)
    if not configs:
        configs = [asked.setdefault("generationConfig", {})]
    return [
        (config, name)
        for config in configs
        for name in [given for given in GEMINI_LIMITS if given in config] or GEMINI_LIMITS[:1]
    ]


def answers(path: str, asked: dict[str, Any]) -> int:
    """Return how many answers a call asks for at once."""
    if GEMINI.fullmatch(path) is None:
        return max(1, whole(asked.get("n")) or 1)
    return max([1, *(whole(config.get(name)) or 1 for config in _configs(asked) for name in GEMINI_ANSWERS)])


def _configs(asked: dict[str, Any]) -> list[dict[str, Any]]:
    for name in GEMINI_CONFIGS:
        if name in asked and not isinstance(asked[name], dict):
            del asked[name]
    return [asked[name] for name in GEMINI_CONFIGS if name in asked]


def whole(value: Any) -> int | None:
    """Return a number of a request as an integer, rounded up; ``None`` when it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return math.ceil(value)
