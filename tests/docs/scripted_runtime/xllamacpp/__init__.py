"""Stands in for the runtime: no weights are read, and answers come from the tasks of the reader."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.docs.answering import Answers


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())


class Server:
    def __init__(self, params: CommonParams) -> None:
        self._answers = Answers(Path(params.model.path).parents[2])

    def handle_chat_completions(self, request: dict[str, Any]) -> dict[str, Any]:
        system, asked = (request["messages"][at]["content"] for at in (0, -1))
        text = self._answers.to(system, asked)
        return {
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": len(system + asked) // 4,
                "completion_tokens": len(text) // 4 + 1,
                "prompt_tokens_details": {"cached_tokens": 0},
            },
        }
