"""The gateway of one session: it swaps a token for the real key, meters, retries, and refuses past a limit."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from evolve.models.provider_errors import Refusal, read_refusal, retry_delay_s
from evolve.sandbox.box import SOCKET
from evolve.sandbox.gateway.meter import Meter, Tokens
from evolve.sandbox.gateway.tape import Player, Recorder, Taped

CALLS = ("/v1/messages", "/v1/responses", "/v1/chat/completions")
FREE = ("/v1/messages/count_tokens", "/v1/models", "/", "/api/hello")
HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length"})
OURS = frozenset({"x-api-key", "authorization", "proxy-authorization", "accept-encoding", "content-encoding"})
MAX_BODY = 64 * 1024 * 1024
RETRIES = 2
LONGEST_PAUSE_S = 20.0
BYTES_PER_TOKEN = 4
OUTPUT_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
LEAST_OUTPUT, MOST_OUTPUT = 256, 1_000_000


@dataclass(frozen=True)
class Upstream:
    """Where requests go; the key is known to the gateway alone."""

    base_url: str
    key: str = field(repr=False, default="")
    idle_s: float = 300.0


@dataclass(frozen=True)
class SessionLimits:
    """What one session may use of a model: calls, and money in micro-USD."""

    calls: int | None = None
    usd_micros: int | None = None


@dataclass(frozen=True)
class Exchange:
    """One call that was answered: the model asked for, the status, the tokens (``None``: the answer never said)."""

    model: str
    status: int
    tokens: Tokens | None
    tries: int = 1


@dataclass
class Account:
    """What a session did to the model, as the gateway saw it."""

    exchanges: list[Exchange] = field(default_factory=list)
    refused: str | None = None
    limit: str | None = None
    seen: set[str] = field(default_factory=set)
    last_ns: int = 0

    @property
    def answered(self) -> list[Exchange]:
        """The calls that were answered with a message."""
        return [exchange for exchange in self.exchanges if exchange.status == 200]

    @property
    def tokens(self) -> Tokens:
        """All tokens that answers have told of."""
        return reduce(lambda a, b: a + b, (e.tokens for e in self.exchanges if e.tokens is not None), Tokens())

    @property
    def complete(self) -> bool:
        """Whether every answered call has told what it used."""
        return all(exchange.tokens is not None for exchange in self.answered)


class Gateway:
    """A gateway on a unix socket in a folder of its own.

    Args:
        folder: Where the socket is made.
        upstream: Where requests go.
        limits: What the session may use.
        cost_micros: What tokens of a model cost in micro-USD; ``None`` when nobody can say.
        watch: Lines by name; a name is noted as seen once a request holds its line.
        recorder: Keeps what the agent is answered.
        player: Answers in place of the provider.

    """

    def __init__(
        self,
        folder: Path,
        upstream: Upstream,
        limits: SessionLimits,
        cost_micros: Callable[[str, Tokens], int | None] = lambda _model, _tokens: None,
        watch: Mapping[str, str] | None = None,
        recorder: Recorder | None = None,
        player: Player | None = None,
    ) -> None:
        self.folder = folder
        self.token = f"cell-{secrets.token_hex(16)}"
        self.account = Account()
        self._upstream = upstream
        self._limits = limits
        self._cost = cost_micros
        self.recorder = recorder
        self.player = player
        self._watch = {name: json.dumps(line, ensure_ascii=False)[1:-1] for name, line in (watch or {}).items()}
        self._lock = threading.Lock()
        self._client = httpx.Client(timeout=httpx.Timeout(upstream.idle_s, connect=30.0), follow_redirects=False)
        self._server = _server(folder, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; calls under way are cut."""
        self._server.shutdown()
        self._server.server_close()
        self._client.close()
        self._thread.join()

    def alive(self) -> float:
        """Return when something last came through, in monotonic seconds."""
        return self.account.last_ns / 1e9

    def touch(self) -> None:
        """Remember that something came through just now."""
        self.account.last_ns = time.monotonic_ns()

    def admit(self, asked: dict[str, Any], size: int) -> str | None:
        """Decide on a call before it is made; returns why it is refused, if it is.

        Where the money that is left does not cover the longest answer that was asked for, the answer is asked for
        shorter, so that no call can pass the limit by more than the estimate of its input.

        Args:
            asked: The request, whose limit of output may be lowered.
            size: The bytes of the request.

        """
        with self._lock:
            account = self.account
            if account.refused is not None:
                return account.refused
            if self._limits.calls is not None and len(account.answered) >= self._limits.calls:
                account.limit = f"{self._limits.calls} model calls, as many as are allowed"
            if self._limits.usd_micros is not None and account.limit is None:
                account.limit = self._lack_of_money(asked, size, self._limits.usd_micros)
            return account.limit

    def look(self, asked: dict[str, Any]) -> None:
        """Note which watched lines a request holds."""
        if self._watch:
            text = json.dumps(asked, ensure_ascii=False)
            self.account.seen |= {name for name, line in self._watch.items() if line and line in text}

    def _lack_of_money(self, asked: dict[str, Any], size: int, limit: int) -> str | None:
        model = asked["model"]
        read = self._cost(model, Tokens(input=size // BYTES_PER_TOKEN))
        write = self._cost(model, Tokens(output=1_000_000))
        if read is None or write is None:
            return f"the price of {model} is unknown, so that the money limit cannot be kept"
        spent = self._spent()
        left = limit - spent - read
        affordable = left * 1_000_000 // write if write else MOST_OUTPUT
        field = next((name for name in OUTPUT_LIMITS if isinstance(asked.get(name), int)), None)
        least = _thinking_budget(asked) + LEAST_OUTPUT
        if affordable < least:
            return f"{spent / 1e6:.4f} of {limit / 1e6:.4f} USD are spent, and the next call might pass the limit"
        if field is not None and asked[field] > affordable:
            asked[field] = affordable
        return None

    def _spent(self) -> int:
        costs = (self._cost(e.model, e.tokens) for e in self.account.exchanges if e.tokens is not None)
        return sum(cost or 0 for cost in costs)

    def record(self, exchange: Exchange) -> None:
        """Write a call into the account."""
        with self._lock:
            self.account.exchanges.append(exchange)

    def refuse(self, refusal: Refusal) -> None:
        """Remember that the provider refused the account; no further call is made."""
        with self._lock:
            self.account.refused = refusal.text

    @contextlib.contextmanager
    def call(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Iterator[httpx.Response]:
        """Send a request on, with the real key."""
        request = self._client.build_request(
            method,
            self._upstream.base_url.rstrip("/").removesuffix("/v1") + path,
            headers={**headers, **self._credentials(headers)},
            content=body,
        )
        response = self._client.send(request, stream=True)
        try:
            yield response
        finally:
            response.close()

    def _credentials(self, headers: dict[str, str]) -> dict[str, str]:
        key = self._upstream.key
        if not key:
            return {}
        return {"x-api-key": key} if "anthropic-version" in headers else {"authorization": f"Bearer {key}"}


def _thinking_budget(asked: dict[str, Any]) -> int:
    thinking = asked.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    return budget if isinstance(budget, int) else 0


class _UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64
    gateway: Gateway

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: the agent hung up."""


def _server(folder: Path, gateway: Gateway) -> _UnixServer:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:  # a socket's path has 107 bytes, and a folder may lie deep
        server = _UnixServer(f"/proc/self/fd/{descriptor}/{SOCKET}", _Handler)
    finally:
        os.close(descriptor)
    (folder / SOCKET).chmod(0o666)
    server.gateway = gateway
    return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _UnixServer

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
