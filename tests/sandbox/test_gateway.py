"""The only way out: who is let through, what is counted, and when it is refused."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from evolve.agents.prices import cost_micros
from evolve.records.prices import TokenPrice
from evolve.sandbox.box import SOCKET
from evolve.sandbox.gateway.account import SessionLimits, Upstream
from evolve.sandbox.gateway.meter import Tokens
from evolve.sandbox.gateway.server import Gateway
from evolve.sandbox.gateway.tape import Player
from tests.real_agents.scripted import ScriptedServer, Step, scripted

KEY = "sk-the-real-key-0123456789abcdef"
PRICE = TokenPrice(input_usd=1, output_usd=10)
DEEP = "deep-" * 30
BODY = {"model": "m", "max_tokens": 1000, "messages": [], "tools": [{"name": "t"}], "stream": True}


def cost(model: str, tokens: Tokens) -> int | None:
    return cost_micros(PRICE if model == "m" else None, tokens)


@contextmanager
def opened(
    tmp_path: Path, *steps: Step, model: str | None = None, player: Player | None = None, **limits: Any
) -> Iterator[tuple[Gateway, httpx.Client, ScriptedServer]]:
    folder = tmp_path / DEEP
    folder.mkdir(exist_ok=True)
    with (
        scripted(*steps) as server,
        Gateway(
            folder, Upstream(server.url, KEY), SessionLimits(**limits), cost, player=player, model=model
        ) as gateway,
    ):
        assert folder.joinpath(SOCKET).is_socket()
        headers = {"x-api-key": gateway.token, "anthropic-version": "2023-06-01"}
        with (
            reachable(folder) as address,
            httpx.Client(
                transport=httpx.HTTPTransport(uds=address), base_url="http://gateway", headers=headers, timeout=30
            ) as client,
        ):
            yield gateway, client, server


@contextmanager
def reachable(folder: Path) -> Iterator[str]:
    """Give the socket of a folder an address that is short enough however deep the folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


def test_the_key_is_swapped_in_and_the_answer_metered(tmp_path: Path) -> None:
    with opened(tmp_path, {"text": "hi", "usage": {"input_tokens": 10, "output_tokens": 5}}) as (
        gateway,
        client,
        server,
    ):
        answer = client.post("/v1/messages?beta=true", json=BODY)
    assert answer.status_code == 200
    assert "message_stop" in answer.text
    assert server.keys == [KEY]
    assert KEY not in answer.text
    assert KEY not in repr(Upstream("http://x", KEY))
    assert gateway.account.tokens == Tokens(input=10, output=5)
    assert gateway.account.complete


@pytest.mark.parametrize("token", ["", "wrong", KEY])
def test_who_has_not_the_cells_token_is_not_let_through(tmp_path: Path, token: str) -> None:
    with opened(tmp_path) as (_, client, server):
        assert client.post("/v1/messages", json=BODY, headers={"x-api-key": token}).status_code == 401
    assert server.requests == []


def test_only_the_paths_of_a_model_are_open(tmp_path: Path) -> None:
    with opened(tmp_path) as (_, client, server):
        for path in ("/v1/files", "/admin", "/v1/messages/batches", "/v1/organizations"):
            assert client.post(path, json=BODY).status_code == 404
        assert client.get("/etc/passwd").status_code == 404
        assert client.head("/").status_code == 200
    assert server.requests == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"model": 3}', b"\xff"])
def test_a_request_that_is_none_is_refused_here(tmp_path: Path, body: bytes) -> None:
    with opened(tmp_path) as (_, client, server):
        assert client.post("/v1/messages", content=body).status_code == 400
    assert server.requests == []


def test_errors_that_pass_are_retried_and_the_rest_handed_on(tmp_path: Path) -> None:
    with opened(tmp_path, {"error": {"status": 500}}, {"text": "hi"}, {"error": {"status": 404}}) as (
        gateway,
        client,
        _,
    ):
        assert client.post("/v1/messages", json=BODY).status_code == 200
        assert client.post("/v1/messages", json=BODY).status_code == 404
    assert [(e.status, e.tries) for e in gateway.account.exchanges] == [(200, 2), (404, 1)]
    assert gateway.account.refused is None


@pytest.mark.parametrize(("status", "message"), [(401, "no"), (403, "no"), (429, "insufficient_quota")])
def test_a_refused_account_is_not_asked_again(tmp_path: Path, status: int, message: str) -> None:
    step = {"error": {"status": status, "message": message}, "repeat": -1}
    with opened(tmp_path, step) as (gateway, client, server):
        assert client.post("/v1/messages", json=BODY).status_code == status
        again = client.post("/v1/messages", json=BODY)
    assert again.status_code == 403
    assert gateway.account.refused == f"HTTP {status}: {message}"
    assert len(server.requests) == 1


def test_the_number_of_calls_is_limited(tmp_path: Path) -> None:
    with opened(tmp_path, {"text": "x", "repeat": -1}, calls=2) as (gateway, client, server):
        codes = [client.post("/v1/messages", json=BODY).status_code for _ in range(4)]
    assert codes == [200, 200, 403, 403]
    assert len(server.requests) == 2
    assert gateway.account.limit == "2 model calls, as many as are allowed (max_calls)"


def test_an_answer_is_asked_for_shorter_before_the_money_runs_out(tmp_path: Path) -> None:
    step = {"text": "x", "usage": {"input_tokens": 20, "output_tokens": 400}, "repeat": -1}
    with opened(tmp_path, step, usd_micros=10_500) as (gateway, client, server):
        codes = [client.post("/v1/messages", json=BODY).status_code for _ in range(4)]
    assert codes == [200, 200, 403, 403]
    lengths = [request["max_tokens"] for request in server.requests]
    assert lengths[0] == 1000
    assert 600 < lengths[1] < 700
    assert gateway.account.limit is not None
    assert "0.0080 of 0.0105 USD are spent" in gateway.account.limit


def test_calls_at_once_keep_both_limits(tmp_path: Path) -> None:
    step = {"text": "x", "usage": {"input_tokens": 20, "output_tokens": 100}, "delay_s": 0.1, "repeat": -1}
    with opened(tmp_path, step, calls=3) as (gateway, client, server), ThreadPoolExecutor(12) as pool:
        codes = list(pool.map(lambda _: client.post("/v1/messages", json=BODY).status_code, range(12)))
        assert sorted(codes) == [200] * 3 + [403] * 9
        assert len(server.requests) == 3
    second = tmp_path / "second"
    second.mkdir()
    with opened(second, step, usd_micros=6_000) as (gateway, client, server), ThreadPoolExecutor(12) as pool:
        codes = list(pool.map(lambda _: client.post("/v1/messages", json=BODY).status_code, range(12)))
        assert codes.count(200) == len(server.requests) >= 3
    spent = cost("m", gateway.account.tokens)
    assert spent is not None
    assert 3_000 <= spent <= 6_000


def test_failures_of_the_provider_are_no_calls_of_the_agents_and_end_all_the_same(tmp_path: Path) -> None:
    failing: dict[str, Any] = {"error": {"status": 503, "headers": {"retry-after": "0"}}, "repeat": -1}
    with opened(tmp_path, failing, calls=2) as (gateway, client, _):
        codes = [client.post("/v1/messages", json=BODY).status_code for _ in range(22)]
    assert codes == [503] * 20 + [403] * 2
    assert (gateway.account.limit, gateway.account.outage) == (None, "the provider failed 20 calls in a row")


def test_another_model_is_not_asked_at_all(tmp_path: Path) -> None:
    with opened(tmp_path, {"text": "x", "repeat": -1}, model="another") as (gateway, client, server):
        assert client.post("/v1/messages", json=BODY).status_code == 403
    assert (gateway.account.foreign, server.requests) == (BODY["model"], [])


def test_a_replay_asks_nobody_anything(tmp_path: Path) -> None:
    with opened(tmp_path, {"text": "x", "repeat": -1}, player=Player("")) as (_, client, server):
        assert client.post("/v1/messages/count_tokens", json=BODY).status_code == 404
        assert client.get("/v1/models").status_code == 404
    assert server.requests == []


def test_failed_calls_count_as_well(tmp_path: Path) -> None:
    with opened(tmp_path, {"error": {"status": 400}, "repeat": -1}, calls=2) as (_, client, server):
        codes = [client.post("/v1/messages", json=BODY).status_code for _ in range(5)]
    assert codes == [400, 400, 403, 403, 403]
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"max_tokens": 1e6},
        {"max_tokens": 5, "max_completion_tokens": 1_000_000},
        {"max_tokens": 1000, "n": 128},
    ],
)
def test_no_field_gets_round_the_limit_of_money(tmp_path: Path, fields: dict[str, Any]) -> None:
    body = {**{name: value for name, value in BODY.items() if name != "max_tokens"}, **fields}
    with opened(tmp_path, {"text": "x"}, usd_micros=10_000) as (_, client, server):
        client.post("/v1/messages", json=body)
    for sent in server.requests:
        asked = max(sent.get(name, 0) for name in ("max_tokens", "max_completion_tokens"))
        assert asked * sent.get("n", 1) * 10 <= 10_000


def test_who_hangs_up_pays_for_the_whole_answer(tmp_path: Path) -> None:
    step = {"text": "x" * 10, "usage": {"input_tokens": 500, "output_tokens": 50}, "delay_s": 0.2}
    with opened(tmp_path, step) as (gateway, client, _):
        with client.stream("POST", "/v1/messages", json=BODY) as answer:
            answer.close()
        deadline = time.monotonic() + 5
        while not gateway.account.exchanges and time.monotonic() < deadline:
            time.sleep(0.05)
    assert gateway.account.tokens == Tokens(input=500, output=50)


@pytest.mark.parametrize("length", ["-1", "abc", str(10**12)])
def test_a_body_without_a_sound_length_is_refused_unread(tmp_path: Path, length: str) -> None:
    with opened(tmp_path) as (gateway, _, server):
        assert _raw(tmp_path, gateway.token, f"content-length: {length}").startswith(b"HTTP/1.1 413")
        assert _raw(tmp_path, "wrong", f"content-length: {length}").startswith(b"HTTP/1.1 401")
    assert server.requests == []


def _raw(tmp_path: Path, token: str, header: str) -> bytes:
    with reachable(tmp_path / DEEP) as address, socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(address)
        client.sendall(f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {token}\r\n{header}\r\n\r\n".encode())
        return client.recv(65536)


def test_a_provider_that_echoes_the_key_does_not_give_it_away(tmp_path: Path) -> None:
    with opened(tmp_path, {"error": {"status": 401, "message": f"bad key {KEY}"}}) as (gateway, client, _):
        answer = client.post("/v1/messages", json=BODY)
    assert KEY not in answer.text
    assert KEY not in str(gateway.account.refused)


def test_a_thinking_budget_is_never_cut(tmp_path: Path) -> None:
    body = {**BODY, "thinking": {"type": "enabled", "budget_tokens": 900}}
    with opened(tmp_path, {"text": "x"}, usd_micros=11_000) as (_, client, server):
        assert client.post("/v1/messages", json=body).status_code == 403
    assert server.requests == []


def test_a_model_without_a_price_is_refused_where_money_is_limited(tmp_path: Path) -> None:
    with opened(tmp_path, {"text": "x"}, usd_micros=10) as (gateway, client, server):
        assert client.post("/v1/messages", json={**BODY, "model": "other"}).status_code == 403
    assert "the price of other is unknown" in str(gateway.account.limit)
    assert server.requests == []


def test_a_stream_that_breaks_is_counted_as_unknown(tmp_path: Path) -> None:
    with opened(tmp_path, {"text": "x", "broken": "cut"}) as (gateway, client, _), pytest.raises(httpx.HTTPError):
        client.post("/v1/messages", json=BODY)
    assert not gateway.account.complete


def test_a_provider_that_cannot_be_reached_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    folder = tmp_path / "g"
    folder.mkdir()
    with (
        Gateway(folder, Upstream(f"http://127.0.0.1:{port}"), SessionLimits()) as gateway,
        reachable(folder) as address,
        httpx.Client(transport=httpx.HTTPTransport(uds=address), base_url="http://gateway") as client,
    ):
        answer = client.post("/v1/messages", json=BODY, headers={"x-api-key": gateway.token})
    assert answer.status_code == 502
    assert "cannot be reached: ConnectError" in json.loads(answer.text)["error"]["message"]


GEMINI = "/v1beta/models/m:streamGenerateContent?alt=sse"
CONTENT: dict[str, Any] = {"contents": [], "tools": [{"functionDeclarations": []}]}


def test_a_model_named_in_the_path_is_metered_and_gets_the_key_in_its_own_header(tmp_path: Path) -> None:
    with opened(tmp_path, {"text": "hi", "usage": {"input_tokens": 10, "output_tokens": 5}}, calls=2) as (
        gateway,
        client,
        server,
    ):
        own = {"x-goog-api-key": gateway.token, "x-api-key": ""}
        answer = client.post(GEMINI, json=CONTENT, headers=own)
        assert client.post("/v1beta/models/m:countTokens", json={"contents": []}, headers=own).status_code == 200
        client.post("/v1beta/models/m:generateContent", json=CONTENT, headers=own)
        refused = client.post(GEMINI, json=CONTENT, headers=own)
        wrong = client.post(GEMINI, json=CONTENT, headers={**own, "x-goog-api-key": "wrong"})
    assert (answer.status_code, refused.status_code, wrong.status_code) == (200, 403, 401)
    assert "usageMetadata" in answer.text
    assert server.keys == [KEY] * 3
    assert [(e.model, e.tokens) for e in gateway.account.exchanges] == [
        ("m", Tokens(input=10, output=5)),
        ("m", Tokens(input=100, output=20)),
    ]


@pytest.mark.parametrize("path", ["m:embedContent", "../m:generateContent", "a/b:generateContent", ":generateContent"])
def test_no_other_question_to_such_a_model_is_let_through(tmp_path: Path, path: str) -> None:
    with opened(tmp_path) as (gateway, client, server):
        url = httpx.URL("http://gateway", raw_path=f"/v1beta/models/{path}".encode())
        assert client.post(url, json=CONTENT, headers={"x-goog-api-key": gateway.token}).status_code == 404
    assert server.requests == []


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"generationConfig": None},
        {"generationConfig": {"maxOutputTokens": 10**9}},
        {"generation_config": {"max_output_tokens": 10**9}},
        {"generationConfig": {"max_output_tokens": 10**9}, "generation_config": {"maxOutputTokens": 10**9}},
        {"generationConfig": {"maxOutputTokens": 10**9, "candidateCount": 2}},
    ],
)
def test_neither_spelling_gets_such_a_call_round_the_limit_of_money(tmp_path: Path, config: dict[str, Any]) -> None:
    with opened(tmp_path, {"text": "x"}, usd_micros=100_000) as (_, client, server):
        assert client.post(GEMINI, json={**CONTENT, **config}).status_code == 200
    asked = server.requests[0]
    limits = [
        asked[holder][name]
        for holder in ("generationConfig", "generation_config")
        for name in ("maxOutputTokens", "max_output_tokens")
        if name in asked.get(holder, {})
    ]
    count = asked.get("generationConfig", {}).get("candidateCount", 1)
    assert limits and all(9_000 < limit * count <= 10_000 for limit in limits)


def test_a_key_that_is_called_invalid_is_not_tried_again(tmp_path: Path) -> None:
    message = "API key not valid. Please pass a valid API key."
    with opened(tmp_path, {"error": {"status": 400, "message": message}, "repeat": -1}) as (gateway, client, server):
        assert client.post(GEMINI, json=CONTENT).status_code == 400
        assert client.post(GEMINI, json=CONTENT).status_code == 403
    assert gateway.account.refused == f"HTTP 400: {message}"
    assert len(server.requests) == 1
