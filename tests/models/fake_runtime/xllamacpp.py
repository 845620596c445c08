"""Stands in for the runtime: the last message of a request says what it does."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())


class Server:
    def __init__(self, params: CommonParams) -> None:
        self.params = params
        weights = Path(params.model.path).read_text(encoding="utf-8")
        if weights == "broken":
            print("cannot make sense of these weights", flush=True)
            raise RuntimeError("failed to load")
        if weights == "slow":
            time.sleep(60)

    def handle_chat_completions(self, request: dict[str, Any]) -> Any:
        word, _, rest = request["messages"][-1]["content"].partition(" ")
        if word == "sleep":
            time.sleep(float(rest))
        elif word == "die":
            os.write(2, b"these are my last words\n")
            os._exit(3)
        elif word == "noise":
            os.write(1, b"chatter on stdout\n")
        elif word == "raise":
            raise RuntimeError(rest)
        elif word == "unserialisable":
            return {"choices": {1, 2}}
        elif word == "refuse":
            return {"error": "no"}
        elif word == "too-long":
            return {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 4030, "n_ctx": 2048}}
        elif word == "request":
            return completion(json.dumps({key: value for key, value in request.items() if key != "messages"}))
        elif word == "params":
            return completion(json.dumps(vars(self.params), default=vars))
        elif word == "environment":
            return completion(json.dumps(dict(os.environ)))
        elif word == "finish":
            return completion("x", finish=rest)
        return completion(f"said {rest}")


def completion(text: str, finish: str = "stop") -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 0}},
    }
