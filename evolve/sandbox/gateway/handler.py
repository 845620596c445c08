"""One request of an agent: let through, sent on, metered and handed back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import httpx

from evolve.models.provider_errors import read_refusal, retry_delay_s
from evolve.sandbox.gateway.account import Exchange
from evolve.sandbox.gateway.calls import CHAT, is_call, is_free, model_of
from evolve.sandbox.gateway.meter import Meter
from evolve.sandbox.gateway.tape import Player, Taped

if TYPE_CHECKING:
    from evolve.sandbox.gateway.server import GatewayServer, Ticket

LONGEST_LINE = 1024
HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length"})
OURS = frozenset(
    {"x-api-key", "x-goog-api-key", "authorization", "proxy-authorization", "accept-encoding", "content-encoding"}
)
MAX_BODY = 64 * 1024 * 1024
RETRIES = 2
LONGEST_PAUSE_S = 20.0


def _size(text: str, base: int) -> int | None:
    """Return a length that a request gives, or ``None`` when it is none or too large."""
    try:
        size = int(text, base)
    except ValueError:
        return None
    return size if 0 <= size <= MAX_BODY else None


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
        """Send a call on; a stranger's body is not even read."""
        if not self._known():
            self.close_connection = True
            self._error(401, "this token is not the cell's")
            return
        body = self._body()
        if body is None:
            self.close_connection = True
            self._error(413, "the request has no length that can be taken")
        else:
            self._handle(body)

    def _known(self) -> bool:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ").strip()
        given = (self.headers.get("x-api-key"), self.headers.get("x-goog-api-key"), bearer)
        return self.server.gateway.token in given

    def _body(self) -> bytes | None:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            length = _size(self.headers.get("content-length") or "0", 10)
            return None if length is None else self.rfile.read(length)
        data = b""
        while size := _size(self.rfile.readline(LONGEST_LINE).split(b";")[0].strip().decode("latin-1") or "0", 16):
            data += self.rfile.read(size)
            self.rfile.readline(LONGEST_LINE)
            if len(data) > MAX_BODY:
                return None
        self.rfile.readline(LONGEST_LINE)
        return None if size is None else data

    def _handle(self, body: bytes) -> None:
        gateway = self.server.gateway
        gateway.touch()
        path = self.path.partition("?")[0]
        if not self._known():
            self._error(401, "this token is not the cell's")
        elif is_call(path) and self.command == "POST":
            self._call(body)
        elif is_free(path):
            self._pass(body)
        else:
            self._error(404, "the gateway has no such path")

    def _pass(self, body: bytes) -> None:
        if self.server.gateway.player is not None:
            self._error(404, "the recording holds no answer to this")
            return
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
        path = self.path.partition("?")[0]
        if not isinstance(asked, dict) or (model := model_of(path, asked)) is None:
            self._error(400, "the request is no JSON object with a model")
            return
        before = json.dumps(asked)
        ticket = gateway.admit(asked, model, path, len(body))
        if isinstance(ticket, str):
            self._error(403, f"evolve: {ticket}")
            return
        gateway.look(asked)
        if path == CHAT and asked.get("stream"):
            asked["stream_options"] = {**(asked.get("stream_options") or {}), "include_usage": True}
        if (text := json.dumps(asked)) != before:
            body = text.encode()
        try:
            self._try(body, ticket)
        except httpx.HTTPError as error:
            gateway.lost(error)
            gateway.record(Exchange(ticket.model, 502, None), ticket)
            self._error(502, f"the provider cannot be reached: {type(error).__name__}")

    def _replay(self, player: Player, ticket: Ticket) -> None:
        """Answer with what was answered when the session was recorded."""
        path = self.path.partition("?")[0]
        taped = player.next(path)
        if taped is None:
            self.server.gateway.record(Exchange(ticket.model, 502, None), ticket)
            self._error(502, "the recording holds no answer to this call")
            return
        headers = httpx.Headers({"content-type": taped.content_type})
        response = httpx.Response(taped.status, headers=headers, content=taped.body.encode("utf-8"))
        refusal = read_refusal(taped.status, headers, taped.body)
        if refusal is not None and refusal.code == "provider-refused":
            self.server.gateway.refuse(refusal)
        self._deliver(response, ticket, 1)

    def _try(self, body: bytes, ticket: Ticket) -> None:
        gateway = self.server.gateway
        if gateway.player is not None:
            self._replay(gateway.player, ticket)
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
                    self._deliver(response, ticket, attempt + 1)
                    return
            time.sleep(min(LONGEST_PAUSE_S, retry_delay_s(refusal, attempt)))
            gateway.touch()

    def _deliver(self, response: httpx.Response, ticket: Ticket, tries: int) -> None:
        meter = Meter(streamed="text/event-stream" in response.headers.get("content-type", ""))
        try:
            self._relay(response, meter)
        finally:
            tokens = meter.tokens if response.status_code == 200 else None
            self.server.gateway.record(Exchange(ticket.model, response.status_code, tokens, tries), ticket)

    def _relay(self, response: httpx.Response, meter: Meter) -> None:
        """Hand an answer on; when the agent hangs up, the rest is still read, because it is still paid for."""
        self.send_response(response.status_code)
        for name, value in response.headers.items():
            if name.lower() not in HOP | OURS:
                self.send_header(name, self.server.gateway.without_key(value))
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        kept: list[bytes] = []
        listening = True
        for data in self._blocks(response):
            meter.feed(data)
            if self.server.gateway.recorder is not None:
                kept.append(data)
            if listening:
                listening = self._send(b"%x\r\n%s\r\n" % (len(data), data))
        meter.close()
        self._keep(response, b"".join(kept))
        if not listening or not self._send(b"0\r\n\r\n"):
            self.close_connection = True

    def _blocks(self, response: httpx.Response) -> Iterator[bytes]:
        if response.status_code != 200:
            text = response.read().decode("utf-8", errors="replace")
            yield self.server.gateway.without_key(text).encode()
        elif response.is_stream_consumed:
            yield response.content
        else:
            yield from (data for data in response.iter_bytes() if data)

    def _send(self, data: bytes) -> bool:
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            return False
        self.server.gateway.touch()
        return True

    def _keep(self, response: httpx.Response, body: bytes) -> None:
        path = self.path.partition("?")[0]
        if self.server.gateway.recorder is not None and is_call(path):
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
