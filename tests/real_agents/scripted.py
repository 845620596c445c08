"""A model that follows a script, in the wire formats of Messages, Responses, Chat Completions and generateContent.

A step is a dict, every key optional: ``text``; ``tools`` (a list of ``{"name", "input"}``); ``usage`` (in the terms of
the Messages API); ``delay_s``; ``error`` (``{"status", "message", "headers"}``); ``broken`` (``empty``, ``cut``,
``garbage``, ``silence``, ``pings``); ``expect`` (strings that the request must hold); ``repeat`` (-1: for ever). One
step is played for each request that offers tools; when they run out the model says "(the script has ended)".
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = dict[str, Any]
USAGE = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
ENDED: Step = {"text": "(the script has ended)"}


class ScriptedServer(ThreadingHTTPServer):
    """The server; ``requests`` are all bodies that were posted, ``keys`` the credentials that came with them."""

    daemon_threads = True

    def __init__(self, steps: list[Step], play: Callable[[dict[str, Any]], Step] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._play = play
        self._steps = [dict(step) for step in steps]
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.missing: list[str] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def next(self, body: dict[str, Any], key: str) -> Step:
        with self._lock:
            self.requests.append(body)
            self.keys.append(key)
            if not body.get("tools"):
                return ENDED
            if self._play is not None:
                return self._play(body)
            if not self._steps:
                return ENDED
            step = self._steps[0]
            step["repeat"] = step.get("repeat", 1) - 1
            if step["repeat"] == 0:
                self._steps.pop(0)
            text = json.dumps(body, ensure_ascii=False)
            self.missing += [wanted for wanted in step.get("expect", ()) if wanted not in text]
            return step

    def handle_error(self, request: Any, client_address: Any) -> None:
        return


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedServer

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        given = (self.headers.get(name) for name in ("x-api-key", "x-goog-api-key", "authorization"))
        key = str(next((value for value in given if value), None))
        step = self.server.next(body, key)
        time.sleep(step.get("delay_s", 0))
        if error := step.get("error"):
            message = {"type": "error", "error": {"type": "api_error", "message": error.get("message", "scripted")}}
            self._json(error["status"], message, error.get("headers", {}))
            return
        path, _, query = self.path.partition("?")
        if path.endswith("/chat/completions"):
            frames = list(_chat_chunks(step, body))
            whole = None if body.get("stream") else _chat(step, body)
        elif path.endswith(("enerateContent", "countTokens")):
            frames = list(_generated(step))
            whole = None if "alt=sse" in query else frames[-1][1]
        else:
            frames = list(_responses(step, body) if path.endswith("/responses") else _messages(step, body))
            whole = None if body.get("stream") else frames[-1][1].get("response") or _message(step, body)
        if whole is not None:
            self._json(200, whole, {})
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._stream(frames, step.get("broken"))

    def _json(self, status: int, value: Any, headers: dict[str, str]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"content-type": "application/json", "content-length": str(len(data)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def _frame(self, name: str, data: dict[str, Any]) -> None:
        event = f"event: {name}\n" if name else ""
        self._chunk(f"{event}data: {json.dumps(data)}\n\n")

    def _chunk(self, data: str) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data.encode()), data.encode()))
        self.wfile.flush()

    def _stream(self, frames: list[tuple[str, dict[str, Any]]], broken: str | None) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        if broken == "garbage":
            self._chunk("this is no event stream\n\n")
            frames = []
        elif broken == "empty":
            frames = []
        elif broken == "silence":
            self.server.closing.wait(120)
            return
        elif broken == "pings":
            self._frame(*frames[0])
            while not self.server.closing.wait(0.5):
                self._chunk('event: ping\ndata: {"type": "ping"}\n\n')
            return
        elif broken == "cut":
            frames = frames[:2]
        for name, data in frames:
            self._frame(name, data)
        if broken == "cut":
            self.close_connection = True
            self.connection.close()
            return
        self.wfile.write(b"0\r\n\r\n")


def _message(step: Step, body: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": step["text"]}] if step.get("text") else []
    for tool in step.get("tools", ()):
        call = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": tool["name"]}
        content.append({**call, "input": tool.get("input", {})})
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": "tool_use" if step.get("tools") else "end_turn",
        "stop_sequence": None,
        "usage": {**USAGE, **step.get("usage", {})},
    }


def _chat(step: Step, body: dict[str, Any]) -> dict[str, Any]:
    used = {**USAGE, **step.get("usage", {})}
    message: dict[str, Any] = {"role": "assistant", "content": step.get("text", "")}
    calls = [
        {
            "id": f"call_{uuid.uuid4().hex[:20]}",
            "type": "function",
            "function": {"name": tool["name"], "arguments": json.dumps(tool["input"])},
        }
        for tool in step.get("tools", ())
    ]
    if calls:
        message["tool_calls"] = calls
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex[:20]}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {
            "prompt_tokens": used["input_tokens"] + used["cache_read_input_tokens"],
            "prompt_tokens_details": {"cached_tokens": used["cache_read_input_tokens"]},
            "completion_tokens": used["output_tokens"],
            "total_tokens": used["input_tokens"] + used["cache_read_input_tokens"] + used["output_tokens"],
        },
    }


def _chat_chunks(step: Step, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a streamed chat; its last chunk tells the usage, for those who ask for it."""
    whole = _chat(step, body)
    common = {name: whole[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    delta = dict(whole["choices"][0]["message"])
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(delta["tool_calls"])]
    yield "", {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = whole["choices"][0]["finish_reason"]
    yield "", {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield "", {**common, "choices": [], "usage": whole["usage"]}


def _generated(step: Step) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield two parts of a generated content; both tell what was used until then, as the real ones do."""
    used = {**USAGE, **step.get("usage", {})}
    parts: list[dict[str, Any]] = [{"text": step["text"]}] if step.get("text") else []
    parts += [{"functionCall": {"name": tool["name"], "args": tool["input"]}} for tool in step.get("tools", ())]
    thoughts = used.get("thoughts", 0)
    usage = {
        "promptTokenCount": used["input_tokens"] + used["cache_read_input_tokens"],
        "cachedContentTokenCount": used["cache_read_input_tokens"],
        "candidatesTokenCount": used["output_tokens"] - thoughts,
        "thoughtsTokenCount": thoughts,
    }
    usage["totalTokenCount"] = usage["promptTokenCount"] + used["output_tokens"]
    first = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}}]}
    yield "", {**first, "usageMetadata": {**usage, "candidatesTokenCount": 1, "thoughtsTokenCount": 0}}
    content = {"role": "model", "parts": parts}
    last = {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}
    yield "", {**last, "modelVersion": "scripted", "totalTokens": usage["promptTokenCount"]}


def _messages(step: Step, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    message = _message(step, body)
    begin = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": begin}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty: dict[str, Any] = {"type": "text", "text": ""}
            delta: dict[str, Any] = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}
        yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield "message_stop", {"type": "message_stop"}


def _responses(step: Step, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    items: list[dict[str, Any]] = []
    if step.get("text"):
        part = {"type": "output_text", "text": step["text"], "annotations": []}
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]})
    for number, tool in enumerate(step.get("tools", ())):
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{uuid.uuid4().hex[:20]}"}
        items.append({**call, "name": tool["name"], "arguments": json.dumps(tool["input"]), "status": "completed"})
    used = {**USAGE, **step.get("usage", {})}
    cached = used["cache_read_input_tokens"]
    usage = {
        "input_tokens": used["input_tokens"] + cached,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": used["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used["input_tokens"] + cached + used["output_tokens"],
    }
    response = {"id": f"resp_{uuid.uuid4().hex[:24]}", "object": "response", "model": body["model"], "output": []}
    yield "response.created", {"type": "response.created", "response": {**response, "status": "in_progress"}}
    for index, item in enumerate(items):
        kind = "response.output_item.done"
        yield kind, {"type": kind, "output_index": index, "item": item}
    done = {**response, "status": "completed", "output": items, "usage": usage}
    yield "response.completed", {"type": "response.completed", "response": done}


@contextmanager
def scripted(*steps: Step, play: Callable[[dict[str, Any]], Step] | None = None) -> Iterator[ScriptedServer]:
    """Serve a script on loopback, or whatever a function makes of each request."""
    server = ScriptedServer(list(steps), play)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
