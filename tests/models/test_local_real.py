"""The local model on the real weights."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from evolve.models.base import ModelFault, ModelTimeout
from evolve.models.local import LocalModel
from evolve.models.weights import ResolvedWeights
from tests.models.conftest import Ask
from tests.models.test_local import ended, kill_parent_of_worker, pid_of

pytestmark = pytest.mark.model

PROMPT = "Write a haiku about rain."
LONG = "Write a long story about a fox and a crow."


def test_two_processes_give_the_same_reply_to_the_same_request(
    real_model: LocalModel, real_weights: ResolvedWeights, ask: Ask
) -> None:
    other = LocalModel(real_weights.path, name=real_weights.name, digest=real_weights.sha256)
    requests = [ask(PROMPT, temperature=0.7, seed=3), ask(PROMPT)]
    try:
        assert [other.complete(request) for request in requests] == [real_model.complete(r) for r in requests]
        assert other.worker_pid != real_model.worker_pid
    finally:
        other.close()


def test_the_seed_matters(real_model: LocalModel, ask: Ask) -> None:
    texts = {real_model.complete(ask(PROMPT, temperature=0.9, seed=seed, tokens=24)).text for seed in range(1, 5)}
    assert len(texts) > 1


def test_a_reply_is_counted_and_cut_at_its_limit(real_model: LocalModel, ask: Ask) -> None:
    reply = real_model.complete(ask(LONG, tokens=8))
    assert (reply.finish, reply.output_tokens, reply.cached_input_tokens) == ("length", 8, 0)
    assert reply.input_tokens is not None
    assert reply.input_tokens > 8


def test_an_over_long_prompt_is_refused_with_its_size(real_model: LocalModel, ask: Ask) -> None:
    with pytest.raises(ModelFault, match=r"the prompt has \d{4} tokens, the context holds 2048"):
        real_model.complete(ask("word " * 4000))


def test_a_reply_stops_at_the_end_of_the_context(real_weights: ResolvedWeights, ask: Ask) -> None:
    model = LocalModel(real_weights.path, name=real_weights.name, digest=real_weights.sha256, context=256)
    try:
        reply = model.complete(ask(LONG + " word" * 170, tokens=400))
    finally:
        model.close()
    assert reply.finish == "length"
    assert reply.input_tokens is not None
    assert reply.output_tokens is not None
    assert reply.input_tokens + reply.output_tokens <= 256


def test_a_timeout_is_kept_and_the_next_call_works(real_model: LocalModel, ask: Ask) -> None:
    real_model.complete(ask("Say yes.", tokens=2))
    worker, started = pid_of(real_model), time.monotonic()
    with pytest.raises(ModelTimeout):
        real_model.complete(ask(LONG, tokens=1500, wall_s=1))
    assert time.monotonic() - started < 2
    assert ended(worker)
    assert real_model.complete(ask("Say yes.", tokens=4)).text


def test_a_worker_killed_in_the_middle_is_a_fault_and_is_replaced(real_model: LocalModel, ask: Ask) -> None:
    real_model.complete(ask("Say yes.", tokens=2))
    timer = threading.Timer(0.5, os.kill, [pid_of(real_model), signal.SIGKILL])
    timer.start()
    with pytest.raises(ModelFault, match="signal 9"):
        real_model.complete(ask(LONG, tokens=1500))
    timer.join()
    assert real_model.complete(ask("Say yes.", tokens=4)).text


def test_a_parent_killed_in_the_middle_leaves_no_worker(real_weights: ResolvedWeights) -> None:
    assert ended(kill_parent_of_worker(real_weights.path, LONG))


def test_closing_in_the_middle_is_quick(real_weights: ResolvedWeights, ask: Ask) -> None:
    model = LocalModel(real_weights.path, name=real_weights.name, digest=real_weights.sha256, shared_machine=True)
    model.complete(ask("Say yes.", tokens=2))
    worker, started = pid_of(model), time.monotonic()
    model.close()
    assert time.monotonic() - started < 2
    assert ended(worker)
