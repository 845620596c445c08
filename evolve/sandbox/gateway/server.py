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
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from evolve.models.provider_errors import Refusal
from evolve.redact import MARK
from evolve.sandbox.box import SOCKET
from evolve.sandbox.gateway.account import Account, Exchange, SessionLimits, Upstream
from evolve.sandbox.gateway.calls import answers, is_gemini, output_limits, whole
from evolve.sandbox.gateway.handler import Handler
from evolve.sandbox.gateway.meter import Tokens
from evolve.sandbox.gateway.tape import Player, Recorder

BYTES_PER_TOKEN = 4
POLL_S = 0.2
MOST_FAILURES = 20
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
        model: The only model that may be asked; any, where it is not said.

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
        model: str | None = None,
    ) -> None:
        self.folder = folder
        self.token = f"cell-{secrets.token_hex(16)}"
        self.account = Account()
        self._upstream = upstream
        self._limits = limits
        self._model = model
        self._cost = cost_micros
        self.recorder = recorder
        self.player = player
        self._watch = {name: _told(line) for name, line in (watch or {}).items() if line}
        self._lock = threading.Lock()
        self._settled = threading.Condition(self._lock)
        self._closing = False
        self._open: list[Ticket] = []
        self._spent_micros = 0
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
        self._closing = True
        with self._lock:
            self.account.open = len(self._open)
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

    def admit(self, asked: dict[str, Any], model: str, path: str, size: int) -> Ticket | str:
        """Decide on a call before it is made: the ticket that it is booked under, or why it is refused.

        Where the money that is left does not cover the longest answer that was asked for, the answer is asked for
        shorter, so that no call can pass the limit by more than the estimate of its input. What calls under way may
        cost is reserved; a call that could be paid for once they have ended waits for them.

        Args:
            asked: The request, whose limit of output may be set or lowered.
            model: The model that it asks for.
            path: The path that it came to.
            size: The bytes of the request.

        """
        with self._lock:
            account = self.account
            if account.refused is not None:
                return account.refused
            if self._model is not None and model != self._model:
                account.foreign = model
                return f"the model {model} is not the declared one"
            if account.failing >= MOST_FAILURES:
                account.outage = f"the provider failed {account.failing} calls in a row"
                return account.outage
            if self._limits.calls is not None and account.begun >= self._limits.calls:
                account.limit = f"{self._limits.calls} model calls, as many as are allowed (max_calls)"
            if account.limit is not None:
                return account.limit
            while isinstance(worst := self._worst(asked, model, path, size), str):
                if not self._open or self._closing:
                    account.limit = worst
                    return worst
                self._settled.wait(POLL_S)
            account.begun += 1
            ticket = Ticket(model, worst)
            self._open.append(ticket)
            return ticket

    def look(self, asked: dict[str, Any]) -> None:
        """Note which watched lines a request holds, and the effort that it asks for."""
        if (effort := effort_of(asked)) is not None:
            self.account.efforts.add(effort)
        if self._watch:
            text = json.dumps(asked, ensure_ascii=False)
            self.account.seen |= {name for name, forms in self._watch.items() if any(form in text for form in forms)}

    def _worst(self, asked: dict[str, Any], model: str, path: str, size: int) -> int | str:
        """Return the most that a call can cost, its output bounded by the money that is left, or why it is refused."""
        limit = self._limits.usd_micros
        if limit is None:
            return 0
        read = self._cost(model, Tokens(input=size // BYTES_PER_TOKEN))
        write = self._cost(model, Tokens(output=1_000_000))
        if read is None or write is None:
            return f"the price of {model} is unknown, so that the money limit cannot be kept"
        count = answers(path, asked)
        spent = self._spent_micros + sum(ticket.worst_micros for ticket in self._open)
        affordable = (limit - spent - read) * 1_000_000 // write // count if write else MOST_OUTPUT
        if affordable < _thinking_budget(asked) + LEAST_OUTPUT:
            return f"{spent / 1e6:.4f} of {limit / 1e6:.4f} USD are spent, and the next call might pass the limit"
        places = output_limits(path, asked)
        for holder, field in places:
            wanted = whole(holder.get(field))
            holder[field] = affordable if wanted is None else min(wanted, affordable)
        longest: int = max(holder[field] for holder, field in places)
        return read + write * longest * count // 1_000_000

    def record(self, exchange: Exchange, ticket: Ticket | None = None) -> None:
        """Write a call into the account; one that never said what it used is charged with what was reserved for it."""
        with self._lock:
            self.account.exchanges.append(exchange)
            if ticket is None:
                return
            self._open.remove(ticket)
            self._settled.notify_all()
            if exchange.status >= 500 or exchange.status == 429:
                self.account.failing += 1
                self.account.begun -= 1  # the provider's failures are no calls of the agent's
            else:
                self.account.failing = 0
            cost = None if exchange.tokens is None else self._cost(exchange.model, exchange.tokens)
            if cost is None:
                cost = ticket.worst_micros if exchange.status == 200 else 0
            self._spent_micros += cost

    def lost(self, error: Exception) -> None:
        """Remember why the provider could not be reached, under the address that the user knows."""
        self.account.unreachable = f"{self._upstream.base_url} cannot be reached: {error}"[:300]

    def refuse(self, refusal: Refusal) -> None:
        """Remember that the provider refused the account; no further call is made."""
        with self._lock:
            self.account.refused = self.without_key(refusal.text)

    def without_key(self, text: str) -> str:
        """Return a text without the real key, which a provider may echo."""
        return text.replace(self._upstream.key, MARK) if self._upstream.key else text

    @contextlib.contextmanager
    def call(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Iterator[httpx.Response]:
        """Send a request on, with the real key."""
        request = self._client.build_request(
            method,
            self._upstream.base_url.rstrip("/").removesuffix("/v1") + path,
            headers={**headers, **self._credentials(path, headers)},
            content=body,
        )
        response = self._client.send(request, stream=True)
        try:
            yield response
        finally:
            response.close()

    def _credentials(self, path: str, headers: dict[str, str]) -> dict[str, str]:
        key = self._upstream.key
        if not key:
            return {}
        if is_gemini(path.partition("?")[0]):
            return {"x-goog-api-key": key}
        return {"x-api-key": key} if "anthropic-version" in headers else {"authorization": f"Bearer {key}"}


@dataclass(frozen=True, eq=False)
class Ticket:
    """A call that was admitted, and the most that it can cost in micro-USD."""

    model: str
    worst_micros: int


def _told(line: str) -> tuple[str, str]:
    """Return how a line looks in a request: as text, and as text of a JSON value that is text itself."""
    once = json.dumps(line, ensure_ascii=False)[1:-1]
    return once, json.dumps(once, ensure_ascii=False)[1:-1]


def effort_of(asked: dict[str, Any]) -> str | None:
    """Return the effort that a request asks of the model, in any of the wire formats."""
    nested = [asked.get(name) for name in ("output_config", "reasoning")]
    found = [value.get("effort") for value in nested if isinstance(value, dict)] + [asked.get("reasoning_effort")]
    return next((effort for effort in found if isinstance(effort, str)), None)


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
