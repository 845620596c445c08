"""One request of an agent: let through, sent on, metered and handed back."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import httpx

from evolve.models.provider_errors import read_refusal, retry_delay_s
from evolve.sandbox.gateway.account import Exchange
from evolve.sandbox.gateway.meter import Meter
from evolve.sandbox.gateway.tape import Player, Taped

if TYPE_CHECKING:
    from evolve.sandbox.gateway.server import GatewayServer

CALLS = ("/v1/messages", "/v1/responses", "/v1/chat/completions")
FREE = ("/v1/messages/count_tokens", "/v1/models", "/", "/api/hello")
HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length"})
OURS = frozenset({"x-api-key", "authorization", "proxy-authorization", "accept-encoding", "content-encoding"})
MAX_BODY = 64 * 1024 * 1024
RETRIES = 2
LONGEST_PAUSE_S = 20.0


class Handler(BaseHTTPRequestHandler):
    """Handles one connection of the agent."""

    protocol_version = "HTTP/1.1"
    server: GatewayServer

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def address_string(self) -> str:
        """Return a name for the one client there is."""
        return "agent"

    def do_HEAD(self) -> None:
        """Answer a probe without asking anybody."""
        self._answer(200, {})

    def do_GET(self) -> None:
        """Send a harmless question on."""
        self._handle(b"")

    def do_POST(self) -> None:
        """Send a call on."""
        body = self._body()
        if body is None:
            self._error(413, "the request is too large")
        else:
            self._handle(body)

    def _body(self) -> bytes | None:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0].strip() or b"0", 16):
                data += self.rfile.read(size)
                self.rfile.readline()
                if len(data) > MAX_BODY:
                    return None
            self.rfile.readline()
            return data
        length = int(self.headers.get("content-length") or 0)
        return self.rfile.read(length) if length <= MAX_BODY else None

    def _handle(self, body: bytes) -> None:
        gateway = self.server.gateway
        gateway.touch()
        path = self.path.partition("?")[0]
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if gateway.token not in (self.headers.get("x-api-key"), bearer):
            self._error(401, "this token is not the cell's")
        elif path in CALLS and self.command == "POST":
            self._call(body)
        elif path in FREE:
            self._pass(body)
        else:
            self._error(404, "the gateway has no such path")

    def _pass(self, body: bytes) -> None:
        try:
            with self.server.gateway.call(self.command, self.path, self._headers(), body) as response:
                self._relay(response, Meter(streamed=False))
        except httpx.HTTPError as error:
            self._error(502, f"the provider cannot be reached: {type(error).__name__}")

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items() if name.lower() not in HOP | OURS}

    def _call(self, body: bytes) -> None:
        gateway = self.server.gateway
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict) or not isinstance(asked.get("model"), str):
            self._error(400, "the request is no JSON object with a model")
            return
        gateway.look(asked)
        before = dict(asked)
        refused = gateway.admit(asked, len(body))
        if refused is not None:
            self._error(403, f"evolve: {refused}")
            return
        if asked != before:
            body = json.dumps(asked).encode()
        try:
            self._try(body, asked["model"])
        except httpx.HTTPError as error:
            gateway.record(Exchange(asked["model"], 502, None))
            self._error(502, f"the provider cannot be reached: {type(error).__name__}")

    def _replay(self, player: Player, model: str) -> None:
        """Answer with what was answered when the session was recorded."""
        path = self.path.partition("?")[0]
        taped = player.next(path)
        if taped is None:
            self.server.gateway.record(Exchange(model, 502, None))
            self._error(502, "the recording holds no answer to this call")
            return
        headers = httpx.Headers({"content-type": taped.content_type})
        response = httpx.Response(taped.status, headers=headers, content=taped.body.encode("utf-8"))
        refusal = read_refusal(taped.status, headers, taped.body)
        if refusal is not None and refusal.code == "provider-refused":
            self.server.gateway.refuse(refusal)
        self._deliver(response, model, 1)

    def _try(self, body: bytes, model: str) -> None:
        gateway = self.server.gateway
        if gateway.player is not None:
            self._replay(gateway.player, model)
            return
        for attempt in range(RETRIES + 1):
            with gateway.call("POST", self.path, self._headers(), body) as response:
                refusal = None
                if response.status_code != 200:
                    text = response.read().decode("utf-8", errors="replace")
                    refusal = read_refusal(response.status_code, response.headers, text)
                if refusal is None or not refusal.retried or attempt == RETRIES:
                    if refusal is not None and refusal.code == "provider-refused":
                        gateway.refuse(refusal)
                    self._deliver(response, model, attempt + 1)
                    return
            time.sleep(min(LONGEST_PAUSE_S, retry_delay_s(refusal, attempt)))
            gateway.touch()

    def _deliver(self, response: httpx.Response, model: str, tries: int) -> None:
        meter = Meter(streamed="text/event-stream" in response.headers.get("content-type", ""))
        try:
            self._relay(response, meter)
        finally:
            tokens = meter.tokens if response.status_code == 200 else None
            self.server.gateway.record(Exchange(model, response.status_code, tokens, tries))

    def _relay(self, response: httpx.Response, meter: Meter) -> None:
        self.send_response(response.status_code)
        for name, value in response.headers.items():
            if name.lower() not in HOP | OURS:
                self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        kept: list[bytes] = []
        for data in [response.content] if response.is_stream_consumed else response.iter_bytes():
            if data:
                meter.feed(data)
                if self.server.gateway.recorder is not None:
                    kept.append(data)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
                self.server.gateway.touch()
        meter.close()
        self._keep(response, b"".join(kept))
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _keep(self, response: httpx.Response, body: bytes) -> None:
        path = self.path.partition("?")[0]
        if self.server.gateway.recorder is not None and path in CALLS:
            text = body[:MAX_BODY].decode("utf-8", errors="replace")
            kind = response.headers.get("content-type", "")
            self.server.gateway.recorder.add(Taped(path, response.status_code, kind, text))

    def _error(self, status: int, message: str) -> None:
        kind = "permission_error" if status == 403 else "invalid_request_error"
        self._answer(status, {"type": "error", "error": {"type": kind, "message": message}})

    def _answer(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
