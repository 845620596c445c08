"""The HTTP model against a scripted endpoint."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from email.utils import formatdate
from typing import Any

import httpx
import pytest

from evolve.errors import EnvironmentFault, InputError
from evolve.models import provider_errors
from evolve.models.base import ModelFault, ModelTimeout
from evolve.models.openai_compatible import OpenAICompatibleModel
from evolve.models.provider_errors import read_refusal, retry_delay_s
from tests.models.conftest import Ask
from tests.models.loopback import Loopback, Request, Response, serving

KEY = "sk-a-very-secret-key"
Endpoint = Callable[..., Loopback]


def completion(**changes: Any) -> bytes:
    value = {
        "model": "tiny-2026-01-01",
        "choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 5},
        },
    }
    return json.dumps({**value, **changes}).encode()


GOOD = Response(body=completion())


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """Return a function that serves responses in order, the last one for ever."""
    monkeypatch.setattr(provider_errors, "FIRST_PAUSE_S", 0.01)
    with ExitStack() as stack:

        def start(*responses: Response) -> Loopback:
            left = list(responses)

            def answer(_: Request) -> Response:
                return left.pop(0) if len(left) > 1 else left[0]

            return stack.enter_context(serving(answer))

        yield start


def model_at(server: Loopback, **settings: Any) -> OpenAICompatibleModel:
    return OpenAICompatibleModel(f"{server.url}/v1/", "tiny", **settings)


def test_a_reply_carries_text_finish_and_counts(endpoint: Endpoint, ask: Ask) -> None:
    server = endpoint(GOOD)
    model = model_at(server)
    assert model.last_reported_model is None
    reply = model.complete(ask("hi", temperature=0.5, seed=9, tokens=11))
    assert (reply.text, reply.finish) == ("hello", "stop")
    assert (reply.input_tokens, reply.cached_input_tokens, reply.output_tokens) == (12, 5, 2)
    assert model.last_reported_model == "tiny-2026-01-01"
    assert json.loads(server.requests[0].body) == {
        "model": "tiny",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "seed": 9,
        "stream": False,
        "max_tokens": 11,
    }
    assert server.requests[0].path == "/v1/chat/completions"
    assert "authorization" not in server.requests[0].headers
    model.close()
    model.close()


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": "7", "completion_tokens": True}, {"prompt_tokens": -1}])
def test_counts_that_are_not_reported_are_none(endpoint: Endpoint, ask: Ask, usage: Any) -> None:
    reply = model_at(endpoint(Response(body=completion(usage=usage, model=3)))).complete(ask("hi"))
    assert reply.input_tokens is reply.cached_input_tokens is reply.output_tokens is None


def test_more_fields_and_another_name_of_the_limit_are_sent(endpoint: Endpoint, ask: Ask) -> None:
    server = endpoint(GOOD)
    model = model_at(server, extra={"top_p": 0.9}, output_limit_field="max_completion_tokens")
    model.complete(ask("hi", tokens=5))
    sent = json.loads(server.requests[0].body)
    assert (sent["top_p"], sent["max_completion_tokens"]) == (0.9, 5)
    assert "max_tokens" not in sent
    assert model.identity["extra"] == '{"top_p":0.9}'


def test_the_key_is_read_at_each_call_and_told_nowhere(
    endpoint: Endpoint, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = Response(401, json.dumps({"error": {"message": f"bad key\x1b[31m {KEY}"}}).encode())
    server = endpoint(GOOD, echo)
    model = model_at(server, key_env="TEST_KEY")
    monkeypatch.setenv("TEST_KEY", f"{KEY}\n")
    model.complete(ask("hi"))
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    with pytest.raises(ModelFault, match=r"HTTP 401: bad key \[31m \[key\]") as fault:
        model.complete(ask("hi"))
    told = repr((model, model.identity, vars(model), fault.value.message, fault.value.hint))
    assert KEY not in told


@pytest.mark.parametrize(("value", "code"), [("", "missing-key"), ("clé", "bad-key"), ("a\nb", "bad-key")])
def test_a_missing_or_broken_key_is_told_before_anything_is_sent(
    endpoint: Endpoint, ask: Ask, monkeypatch: pytest.MonkeyPatch, value: str, code: str
) -> None:
    server = endpoint(GOOD)
    monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(EnvironmentFault, match="TEST_KEY") as fault:
        model_at(server, key_env="TEST_KEY").complete(ask("hi"))
    assert fault.value.code == code
    assert not server.requests


@pytest.mark.parametrize("first", [Response(500), Response(503), Response(429, headers={"Retry-After": "0.05"})])
def test_a_busy_endpoint_is_tried_again(endpoint: Endpoint, ask: Ask, first: Response) -> None:
    server = endpoint(first, GOOD)
    assert model_at(server).complete(ask("hi")).text == "hello"
    assert len(server.requests) == 2


def test_retry_after_is_waited_for(endpoint: Endpoint, ask: Ask) -> None:
    server = endpoint(Response(429, headers={"Retry-After": "1"}), GOOD)
    started = time.monotonic()
    model_at(server).complete(ask("hi"))
    assert time.monotonic() - started >= 1


def test_a_wait_beyond_the_wall_limit_is_not_begun(endpoint: Endpoint, ask: Ask) -> None:
    server = endpoint(Response(429, b'{"error": "slow down"}', headers={"Retry-After": "3600"}), GOOD)
    started = time.monotonic()
    with pytest.raises(ModelFault, match="HTTP 429: slow down") as fault:
        model_at(server).complete(ask("hi", wall_s=5))
    assert fault.value.code == "provider-busy"
    assert time.monotonic() - started < 2


def test_retries_are_bounded(endpoint: Endpoint, ask: Ask) -> None:
    server = endpoint(Response(502, b"<html>bad\ngateway</html>"))
    with pytest.raises(ModelFault, match="HTTP 502: <html>bad gateway</html>") as fault:
        model_at(server).complete(ask("hi"))
    assert fault.value.code == "provider-down"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "refusal",
    [
        Response(401),
        Response(402),
        Response(403, b"[" * 100_000),
        Response(429, b'{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}'),
        Response(400, b'{"error": {"message": "Your credit balance is too low"}}'),
        Response(200, b'{"error": {"message": "insufficient credits"}}'),
    ],
)
def test_a_refusal_fails_at_once(endpoint: Endpoint, ask: Ask, refusal: Response) -> None:
    server = endpoint(refusal, GOOD)
    with pytest.raises(ModelFault) as fault:
        model_at(server).complete(ask("hi"))
    assert fault.value.code == "provider-refused"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("response", "match"),
    [
        (Response(body=b"\xff\xfe not json"), "not JSON"),
        (Response(body=b""), "not JSON"),
        (Response(body=b"[" * 100_000), "not JSON"),
        (Response(body=b"[]"), "holds no reply"),
        (Response(body=b"{}"), "holds no reply"),
        (Response(body=completion(choices=[])), "holds no reply"),
        (Response(body=completion(choices=[{"message": "x", "finish_reason": "stop"}])), "holds no reply"),
        (Response(body=completion(choices=[{"message": {}, "finish_reason": None}])), "ended with 'None'"),
        (Response(body=completion(choices=[{"message": {"content": ["x"]}, "finish_reason": "stop"}])), "not text"),
        (Response(body=b'{"error": {"message": "no such model"}}'), "an error: no such model"),
        (Response(400, b'{"error": 5}'), 'HTTP 400: {"error": 5}'),
        (Response(404), "HTTP 404"),
        (Response(body=completion(), cut_at=20), "broke off"),
        (Response(body=completion(), headers={"Content-Encoding": "gzip"}), "broke off"),
    ],
)
def test_what_is_not_a_reply_is_a_fault(endpoint: Endpoint, ask: Ask, response: Response, match: str) -> None:
    server = endpoint(response)
    with pytest.raises(ModelFault, match=match):
        model_at(server).complete(ask("hi"))
    assert len(server.requests) == 1


def test_a_reply_without_text_is_empty(endpoint: Endpoint, ask: Ask) -> None:
    choices = [{"message": {"content": None}, "finish_reason": "length"}]
    reply = model_at(endpoint(Response(body=completion(choices=choices)))).complete(ask("hi"))
    assert (reply.text, reply.finish) == ("", "length")


def test_a_huge_answer_is_cut_off(endpoint: Endpoint, ask: Ask) -> None:
    server = endpoint(Response(body=b" " * (9 * 1024 * 1024)))
    with pytest.raises(ModelFault, match="more than 8388608 bytes") as fault:
        model_at(server).complete(ask("hi"))
    assert fault.value.code == "answer-too-large"


@pytest.mark.parametrize("pieces", [1, 100])
def test_the_wall_limit_bounds_a_silent_and_a_dripping_answer(endpoint: Endpoint, ask: Ask, pieces: int) -> None:
    server = endpoint(Response(body=completion(), pieces=pieces, pause_s=20 / pieces))
    model = model_at(server)
    started = time.monotonic()
    with pytest.raises(ModelTimeout, match=r"no reply within 0\.5 s"):
        model.complete(ask("hi", wall_s=0.5))
    assert time.monotonic() - started < 2


def test_an_endpoint_out_of_reach_is_a_fault(endpoint: Endpoint, ask: Ask) -> None:
    with serving(lambda _: GOOD) as server:
        pass
    with pytest.raises(ModelFault, match="cannot be reached") as fault:
        model_at(server).complete(ask("hi"))
    assert fault.value.code == "provider-unreachable"


def test_a_redirect_is_not_followed(endpoint: Endpoint, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = endpoint(GOOD)
    monkeypatch.setenv("TEST_KEY", KEY)
    server = endpoint(Response(307, headers={"Location": f"{elsewhere.url}/chat/completions"}))
    with pytest.raises(ModelFault, match="HTTP 307: it redirects"):
        model_at(server, key_env="TEST_KEY").complete(ask("hi"))
    assert not elsewhere.requests


@pytest.mark.parametrize(
    ("address", "settings"),
    [
        ("http://models.example.org/v1", {"key_env": "TEST_KEY"}),
        ("https://user:secret@example.org/v1", {}),
        ("https://example.org/v1?key=secret", {}),
        ("ftp://example.org", {}),
        ("example.org/v1", {}),
        ("http://[::1", {}),
        ("http://localhost/v1", {"extra": {"seed": 1}}),
        ("http://localhost/v1", {"output_limit_field": "limit"}),
    ],
)
def test_a_bad_address_or_setting_is_refused_without_its_secrets(address: str, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError) as fault:
        OpenAICompatibleModel(address, "tiny", **settings)
    assert "secret" not in fault.value.message


def test_a_key_may_go_to_another_machine_encrypted_and_to_this_one_plainly() -> None:
    assert OpenAICompatibleModel("https://example.org/v1", "tiny", key_env="TEST_KEY").identity["name"] == "tiny"
    assert OpenAICompatibleModel("http://[::1]:1/v1", "tiny", key_env="TEST_KEY").identity["name"] == "tiny"


def test_retry_after_may_be_a_date_and_nonsense_is_ignored() -> None:
    in_a_minute = httpx.Headers({"Retry-After": formatdate(time.time() + 60)})
    refusal = read_refusal(503, in_a_minute, "")
    assert refusal is not None
    assert 55 < retry_delay_s(refusal, 0) <= 60
    nonsense = read_refusal(503, httpx.Headers({"Retry-After": "soon"}), "")
    assert nonsense is not None
    assert retry_delay_s(nonsense, 1) == provider_errors.FIRST_PAUSE_S * 2
