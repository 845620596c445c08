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
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from evolve.models.provider_errors import Refusal
from evolve.sandbox.box import SOCKET
from evolve.sandbox.gateway.account import Account, Exchange, SessionLimits, Upstream
from evolve.sandbox.gateway.handler import Handler
from evolve.sandbox.gateway.meter import Tokens
from evolve.sandbox.gateway.tape import Player, Recorder

BYTES_PER_TOKEN = 4
OUTPUT_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
LEAST_OUTPUT, MOST_OUTPUT = 256, 1_000_000


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


class GatewayServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """The server on the socket, a thread for each request."""

    daemon_threads = True
    request_queue_size = 64
    gateway: Gateway

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: the agent hung up."""


def _server(folder: Path, gateway: Gateway) -> GatewayServer:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:  # a socket's path has 107 bytes, and a folder may lie deep
        server = GatewayServer(f"/proc/self/fd/{descriptor}/{SOCKET}", Handler)
    finally:
        os.close(descriptor)
    (folder / SOCKET).chmod(0o666)
    server.gateway = gateway
    return server
