"""A chat model behind an OpenAI-compatible endpoint: Ollama, vLLM, LM Studio, OpenAI."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from evolve.digest import canonical_json
from evolve.errors import EnvironmentFault, InputError
from evolve.models.base import ChatReply, ChatRequest, ModelFault, ModelTimeout
from evolve.models.chat_completion import chat_messages, parse_reply
from evolve.models.http_client import CONNECT_TIMEOUT_S, BodyTooLarge, add_capped, ssl_context
from evolve.models.provider_errors import Refusal, read_error_object, read_refusal, retry_delay_s

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_RETRIES = 2
OUTPUT_LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
OWN_FIELDS = frozenset({"model", "messages", "temperature", "seed", "stream", "n", *OUTPUT_LIMIT_FIELDS})
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: httpx.Headers
    body: bytes


class OpenAICompatibleModel:
    """A model that answers ``POST {base_url}/chat/completions``.

    The key is read from the environment at each call; it is in no identity, message or representation.

    Args:
        base_url: The endpoint's address, as in ``http://localhost:11434/v1``.
        model: The model's name there.
        key_env: The environment variable that holds the key; none for endpoints without one.
        extra: More fields of the request's body, as ``top_p``; they are part of the identity.
        output_limit_field: What the endpoint calls the limit of a reply's tokens.
        max_body_bytes: The largest acceptable answer.

    Raises:
        InputError: The address is not HTTP, holds credentials or a query, or would send a key unencrypted to
            another machine; or ``extra`` holds a field that is set here.

    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key_env: str | None = None,
        extra: Mapping[str, Any] | None = None,
        output_limit_field: str = "max_tokens",
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._base_url = _checked_address(base_url, sends_key=key_env is not None)
        self._loopback = httpx.URL(self._base_url).host in LOOPBACK_HOSTS
        self._model = model
        self._key_env = key_env
        self._extra = dict(extra or {})
        clashing = sorted(OWN_FIELDS.intersection(self._extra))
        if clashing:
            raise InputError(f"model {model}: extra: {', '.join(clashing)} cannot be set there")
        if output_limit_field not in OUTPUT_LIMIT_FIELDS:
            raise InputError(f"model {model}: output_limit_field must be one of {', '.join(OUTPUT_LIMIT_FIELDS)}")
        self._output_limit_field = output_limit_field
        self._max_body_bytes = max_body_bytes
        self._last_reported_model: str | None = None

    def __repr__(self) -> str:
        return f"OpenAICompatibleModel({self._base_url!r}, {self._model!r})"

    @property
    def identity(self) -> dict[str, str | int | bool | None]:
        """The address, the model's name and the fixed fields of the request; what runs behind is not known."""
        return {
            "transport": "openai-compatible",
            "name": self._model,
            "base_url": self._base_url,
            "extra": canonical_json(self._extra).decode("utf-8"),
            "output_limit_field": self._output_limit_field,
            "runtime_version": None,
            "repeatable": False,
        }

    @property
    def last_reported_model(self) -> str | None:
        """The model's name in the last answer: what really answered, where the endpoint tells."""
        return self._last_reported_model

    def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request, trying again when the endpoint is busy or out of reach.

        Raises:
            EnvironmentFault: The key's environment variable is not set.
            ModelFault: The endpoint refused (``provider-refused``), stayed busy or out of reach, or answered with
                something that is not a reply.
            ModelTimeout: The wall limit was reached.

        """
        headers = self._headers()
        body = json.dumps(self._payload(request)).encode("ascii")
        try:
            answer = asyncio.run(self._answer(body, headers, request.wall_s))
        except TimeoutError as error:
            raise ModelTimeout(f"{self._who}: no reply within {request.wall_s:g} s") from error
        return self._reply(answer)

    def close(self) -> None:
        """Do nothing: no connection outlives its request."""

    @functools.cached_property
    def _tls(self) -> ssl.SSLContext:
        """The certificates to trust: loading them takes a tenth of a second, so plain HTTP goes without."""
        encrypted = self._base_url.startswith("https:")
        return ssl_context() if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    @property
    def _who(self) -> str:
        return f"model {self._model} at {self._base_url}"

    def _payload(self, request: ChatRequest) -> dict[str, Any]:
        return {
            **self._extra,
            "model": self._model,
            "messages": chat_messages(request),
            "temperature": request.temperature,
            "seed": request.seed,
            "stream": False,
            self._output_limit_field: request.max_output_tokens,
        }

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key_env:
            headers["Authorization"] = f"Bearer {self._key()}"
        return headers

    def _key(self) -> str:
        key = os.environ.get(self._key_env or "", "").strip()
        if not key:
            raise EnvironmentFault(
                f"{self._who}: the environment variable {self._key_env} is not set",
                hint=f"export {self._key_env}=…",
                code="missing-key",
            )
        if not (key.isascii() and key.isprintable()):
            raise EnvironmentFault(f"{self._who}: {self._key_env} holds characters that no key has", code="bad-key")
        return key

    async def _answer(self, body: bytes, headers: dict[str, str], wall_s: float) -> _Answer:
        """Return the first answer that is not worth another try."""
        deadline = time.monotonic() + wall_s
        # An asynchronous client, because httpx' own timeouts bound a read and not a request.
        async with asyncio.timeout(wall_s):
            # A loopback endpoint is never meant to be reached through a proxy.
            timeout = httpx.Timeout(None, connect=CONNECT_TIMEOUT_S)
            async with httpx.AsyncClient(
                verify=self._tls, timeout=timeout, trust_env=not self._loopback, follow_redirects=False
            ) as client:
                for attempt in itertools.count():
                    outcome = await self._try(client, body, headers)
                    if isinstance(outcome, _Answer):
                        return outcome
                    delay_s = retry_delay_s(outcome, attempt)
                    if attempt == MAX_RETRIES or time.monotonic() + delay_s >= deadline:
                        raise self._fault(outcome)
                    await asyncio.sleep(delay_s)
        raise AssertionError("unreachable")

    async def _try(self, client: httpx.AsyncClient, body: bytes, headers: dict[str, str]) -> _Answer | Refusal:
        """Send the request once; a :class:`Refusal` that is returned is worth another try.

        Raises:
            ModelFault: Another try would not help.

        """
        received = bytearray()
        status: int | None = None
        try:
            async with client.stream(
                "POST", f"{self._base_url}/chat/completions", content=body, headers=headers
            ) as response:
                status = response.status_code
                async for chunk in response.aiter_bytes():
                    add_capped(received, chunk, self._max_body_bytes)
        except BodyTooLarge as error:
            raise ModelFault(f"{self._who}: the answer has {error}", code="answer-too-large") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = self._without_key(str(error)) or type(error).__name__
            if status is None and isinstance(error, httpx.TransportError):
                return Refusal(f"cannot be reached: {reason}", retried=True, code="provider-unreachable")
            raise ModelFault(f"{self._who}: the answer broke off: {reason}", code="broken-answer") from error
        answer = _Answer(status, response.headers, bytes(received))
        refusal = read_refusal(status, response.headers, self._quotable(answer))
        if refusal and not refusal.retried:
            raise self._fault(refusal)
        return refusal or answer

    def _fault(self, refusal: Refusal) -> ModelFault:
        return ModelFault(f"{self._who}: {refusal.text}", hint=refusal.hint, code=refusal.code)

    def _quotable(self, answer: _Answer) -> str:
        return self._without_key(answer.body.decode("utf-8", "replace"))

    def _without_key(self, text: str) -> str:
        key = os.environ.get(self._key_env, "").strip() if self._key_env else ""
        return text.replace(key, "[key]") if key else text

    def _reply(self, answer: _Answer) -> ChatReply:
        try:
            value = json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise ModelFault(f"{self._who}: the answer is not JSON", code="broken-answer") from error
        if isinstance(value, dict) and value.get("error"):
            raise self._fault(read_error_object(self._quotable(answer)))
        reply = parse_reply(value, self._who)
        reported = value.get("model")
        self._last_reported_model = reported if isinstance(reported, str) else None
        return reply


def _checked_address(base_url: str, *, sends_key: bool) -> str:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise InputError(f"{base_url!r} is not an address: {error}") from error
    if url.userinfo or url.query or url.fragment:
        raise InputError(f"the address of {url.host} must hold no credentials, query or fragment")
    if url.scheme not in ("http", "https") or not url.host:
        raise InputError(f"{base_url!r} is not an HTTP address", hint="as in http://localhost:11434/v1")
    if sends_key and url.scheme == "http" and url.host not in LOOPBACK_HOSTS:
        raise InputError(
            f"{base_url}: the key would be sent unencrypted to another machine",
            hint="use https, or an endpoint on this machine",
            code="unencrypted-key",
        )
    return str(url).rstrip("/")
