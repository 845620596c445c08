"""The local model on a scripted runtime: frames, limits, deaths and settings."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import psutil
import pytest

from evolve.errors import EnvironmentFault, InputError
from evolve.models import local
from evolve.models.base import ModelFault, ModelTimeout
from evolve.models.local import LocalModel, runtime_version, worker_environment
from evolve.models.processor import Processor, read_processor
from tests.models.conftest import Ask

ORPHAN = """
import sys
import time
from pathlib import Path
from evolve.models import local
from evolve.models.base import ChatRequest, Message
local.runtime_version = lambda: "fake-1"
model = local.LocalModel(Path(sys.argv[1]), name="m", digest="0" * 64)
ask = lambda text: model.complete(ChatRequest((Message("user", text),), 1500, 0.0, 1, 60))
ask("say x")
print(model.worker_pid, flush=True)
ask(sys.argv[2])
time.sleep(60)
"""


def ended(pid: int, *, within_s: float = 5) -> bool:
    """Tell whether a process ends in time; one that only waits to be reaped has ended."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def pid_of(model: LocalModel) -> int:
    assert model.worker_pid is not None
    return model.worker_pid


def kill_parent_of_worker(weights: Path, text: str) -> int:
    """Start a process with a worker, kill it with SIGKILL, and return the worker's process id."""
    root = str(Path(local.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), root])}
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(weights), text], stdout=subprocess.PIPE, env=environment
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        time.sleep(0.2)
        assert psutil.pid_exists(worker)
        parent.kill()
    return worker


def test_a_reply_carries_text_finish_and_counts(fake_model: LocalModel, ask: Ask) -> None:
    reply = fake_model.complete(ask("say hello"))
    assert (reply.text, reply.finish) == ("said hello", "stop")
    assert (reply.input_tokens, reply.cached_input_tokens, reply.output_tokens) == (7, 0, 3)


def test_no_worker_runs_before_the_first_request(fake_model: LocalModel, ask: Ask) -> None:
    assert fake_model.worker_pid is None
    fake_model.complete(ask("say x"))
    assert fake_model.worker_pid is not None


def test_chatter_of_the_runtime_does_not_reach_the_frames(fake_model: LocalModel, ask: Ask) -> None:
    assert fake_model.complete(ask("noise now")).text == "said now"


def test_a_large_prompt_passes_the_pipe(fake_model: LocalModel, ask: Ask) -> None:
    text = "ä" * 300_000
    assert fake_model.complete(ask(f"say {text}")).text == f"said {text}"


def test_sampling_is_greedy_at_temperature_zero_and_set_above(fake_model: LocalModel, ask: Ask) -> None:
    greedy = json.loads(fake_model.complete(ask("request")).text)
    drawn = json.loads(fake_model.complete(ask("request", temperature=0.7, seed=5)).text)
    assert (greedy["top_p"], greedy["top_k"]) == (1.0, 1)
    assert (drawn["top_p"], drawn["top_k"], drawn["temperature"], drawn["seed"]) == (0.95, 40, 0.7, 5)
    assert greedy["cache_prompt"] is drawn["cache_prompt"] is False


@pytest.mark.parametrize("seed", [2**32 - 1, 2**40, -1])
def test_no_seed_means_a_random_one_to_the_runtime(fake_model: LocalModel, ask: Ask, seed: int) -> None:
    sent = json.loads(fake_model.complete(ask("request", seed=seed)).text)["seed"]
    assert 0 <= sent < 2**32 - 1


def test_the_runtime_gets_one_slot_no_cache_and_a_key_on_loopback(fake_model: LocalModel, ask: Ask) -> None:
    params = json.loads(fake_model.complete(ask("params")).text)
    assert (params["n_parallel"], params["cache_prompt"], params["warmup"], params["n_ctx"]) == (1, False, False, 2048)
    assert params["cpuparams"]["n_threads"] == params["cpuparams_batch"]["n_threads"] == 2
    assert params["hostnames"] == ["127.0.0.1"]
    assert params["port"] == 0
    assert len(params["api_keys"][0]) > 30


def test_the_worker_sees_no_variable_but_those_it_needs(
    fake_model: LocalModel, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    seen = json.loads(fake_model.complete(ask("environment")).text)
    allowed = {"PATH", "HOME", "LANG", "LC_CTYPE", "GOMP_SPINCOUNT", "PYTHONPATH", "COVERAGE_PROCESS_START"}
    assert seen.keys() <= allowed
    assert seen["GOMP_SPINCOUNT"] == "2000"


def test_a_shared_machine_gets_waiting_threads_and_one_of_them(fake_runtime: None, tmp_path: Path) -> None:
    model = LocalModel(tmp_path / "w", name="m", digest="0" * 64, threads=4, shared_machine=True)
    environment = worker_environment(shared_machine=True)
    assert model.identity["threads"] == 1
    assert environment["OMP_WAIT_POLICY"] == "passive"
    assert "GOMP_SPINCOUNT" not in environment


def test_an_installed_package_needs_no_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(Path(local.__file__).parents[2])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: root)
    assert "PYTHONPATH" not in worker_environment(shared_machine=False)


def test_identity_names_weights_runtime_settings_and_machine(fake_model: LocalModel) -> None:
    identity = fake_model.identity
    assert identity["weights_sha256"] == "0" * 64
    assert identity["runtime_version"] == "fake-1"
    assert identity["cache_prompt"] is False
    assert identity["machine"]
    assert fake_model.identity == identity


def test_a_timeout_kills_the_worker_and_the_next_call_works(fake_model: LocalModel, ask: Ask) -> None:
    fake_model.complete(ask("say x"))
    worker = pid_of(fake_model)
    started = time.monotonic()
    with pytest.raises(ModelTimeout, match=r"no reply within 0\.2 s"):
        fake_model.complete(ask("sleep 60", wall_s=0.2))
    assert time.monotonic() - started < 2
    assert ended(worker)
    assert fake_model.complete(ask("say again")).text == "said again"


def test_loading_does_not_count_against_a_request(fake_runtime: None, tmp_path: Path, ask: Ask) -> None:
    weights = tmp_path / "w.gguf"
    weights.write_text("slow", encoding="utf-8")
    model = LocalModel(weights, name="m", digest="0" * 64, load_wall_s=0.3)
    with pytest.raises(ModelFault, match=r"not loaded within 0\.3 s"):
        model.complete(ask("say x"))
    assert model.worker_pid is None


def test_a_worker_that_dies_is_told_with_its_last_words_and_replaced(fake_model: LocalModel, ask: Ask) -> None:
    with pytest.raises(ModelFault, match=r"exit code 3(.|\n)*these are my last words") as fault:
        fake_model.complete(ask("die"))
    assert fault.value.code == "model-worker-died"
    assert fake_model.complete(ask("say again")).text == "said again"


def test_a_worker_that_is_killed_is_replaced(fake_model: LocalModel, ask: Ask) -> None:
    fake_model.complete(ask("say x"))
    os.kill(pid_of(fake_model), signal.SIGKILL)
    with pytest.raises(ModelFault):
        fake_model.complete(ask("say y"))
    assert fake_model.complete(ask("say again")).text == "said again"


def test_an_answer_that_is_no_frame_ends_the_worker(
    fake_model: LocalModel, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "import sys; [print(answer, flush=True) for answer in ('{}', '[]') if sys.stdin.readline()]"
    monkeypatch.setattr(local, "worker_command", lambda: [sys.executable, "-c", script])
    with pytest.raises(ModelFault, match="broke off: an answer is not an object"):
        fake_model.complete(ask("say x"))
    assert fake_model.worker_pid is None


def test_a_worker_that_cannot_start_leaves_nothing(
    fake_model: LocalModel, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "worker_command", lambda: ["/no/such/program"])
    with pytest.raises(ModelFault, match="cannot be started"):
        fake_model.complete(ask("say x"))
    assert fake_model.worker_pid is None


def test_an_interrupt_in_the_middle_does_not_leave_a_stale_answer(fake_model: LocalModel, ask: Ask) -> None:
    fake_model.complete(ask("say x"))
    timer = threading.Timer(0.2, signal.pthread_kill, [threading.get_ident(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fake_model.complete(ask("sleep 60"))
    timer.join()
    assert fake_model.complete(ask("say fresh")).text == "said fresh"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("raise something", "RuntimeError: something"),
        ("refuse", "the runtime refused: no"),
        ("too-long", "the prompt has 4030 tokens, the context holds 2048"),
        ("finish tool_calls", "the reply ended with 'tool_calls'"),
        ("unserialisable", "not JSON serializable"),
    ],
)
def test_what_goes_wrong_is_a_fault_and_the_next_call_works(
    fake_model: LocalModel, ask: Ask, text: str, match: str
) -> None:
    with pytest.raises(ModelFault, match=match):
        fake_model.complete(ask(text))
    assert fake_model.complete(ask("say on")).text == "said on"


def test_a_reply_cut_by_its_limit_says_so(fake_model: LocalModel, ask: Ask) -> None:
    assert fake_model.complete(ask("finish length")).finish == "length"


def test_weights_that_cannot_be_loaded_are_a_fault_with_the_runtimes_words(
    fake_model: LocalModel, ask: Ask, tmp_path: Path
) -> None:
    (tmp_path / "weights.gguf").write_text("broken", encoding="utf-8")
    with pytest.raises(ModelFault, match=r"failed to load(.|\n)*cannot make sense"):
        fake_model.complete(ask("say x"))
    (tmp_path / "weights.gguf").write_text("fine", encoding="utf-8")
    assert fake_model.complete(ask("say x")).text == "said x"


def test_missing_weights_name_the_command_that_installs_them(fake_runtime: None, tmp_path: Path, ask: Ask) -> None:
    model = LocalModel(tmp_path / "none.gguf", name="m", digest="0" * 64)
    with pytest.raises(ModelFault, match="no such file") as fault:
        model.complete(ask("say x"))
    assert fault.value.hint == "evolve models install m"


def test_an_old_processor_is_refused_before_anything_is_loaded(
    fake_model: LocalModel, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "read_processor", lambda: Processor("x86_64", "old", frozenset({"sse2", "fma"})))
    with pytest.raises(ModelFault, match="lacks AVX2") as fault:
        fake_model.complete(ask("say x"))
    assert fault.value.hint
    assert fake_model.worker_pid is None


def test_a_missing_runtime_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(EnvironmentFault) as fault:
        runtime_version()
    assert fault.value.hint == "pip install -e '.[local]'"


def test_settings_and_requests_that_make_no_sense_are_refused(fake_model: LocalModel, ask: Ask) -> None:
    with pytest.raises(InputError):
        LocalModel(Path("x"), name="m", digest="0" * 64, threads=0)
    with pytest.raises(InputError, match="multiple of 256"):
        LocalModel(Path("x"), name="m", digest="0" * 64, context=1000)
    with pytest.raises(InputError):
        fake_model.complete(ask("say x", tokens=0))


def test_closing_is_quick_repeatable_and_final(fake_model: LocalModel, ask: Ask) -> None:
    fake_model.complete(ask("say x"))
    worker = pid_of(fake_model)
    started = time.monotonic()
    fake_model.close()
    fake_model.close()
    assert time.monotonic() - started < 2
    assert ended(worker)
    with pytest.raises(ModelFault, match="closed"):
        fake_model.complete(ask("say x"))


def test_closing_in_the_middle_of_a_request_ends_it(fake_model: LocalModel, ask: Ask) -> None:
    fake_model.complete(ask("say x"))
    faults: list[ModelFault] = []

    def sleep() -> None:
        try:
            fake_model.complete(ask("sleep 60"))
        except ModelFault as fault:
            faults.append(fault)

    thread = threading.Thread(target=sleep)
    thread.start()
    time.sleep(0.2)
    started = time.monotonic()
    fake_model.close()
    thread.join()
    assert time.monotonic() - started < 2
    assert len(faults) == 1


def test_the_worker_outlives_the_thread_that_started_it(fake_model: LocalModel, ask: Ask) -> None:
    thread = threading.Thread(target=fake_model.complete, args=(ask("say x"),))
    thread.start()
    thread.join()
    time.sleep(0.2)
    worker = fake_model.worker_pid
    assert fake_model.complete(ask("say y")).text == "said y"
    assert fake_model.worker_pid == worker


def test_an_interrupt_of_the_terminal_does_not_reach_the_worker(fake_model: LocalModel, ask: Ask) -> None:
    fake_model.complete(ask("say x"))
    assert os.getsid(pid_of(fake_model)) == pid_of(fake_model)


@pytest.mark.parametrize("text", ["sleep 60", "say idle"])
def test_a_killed_parent_leaves_no_worker(fake_runtime: None, tmp_path: Path, text: str) -> None:
    weights = tmp_path / "w.gguf"
    weights.write_text("fine", encoding="utf-8")
    assert ended(kill_parent_of_worker(weights, text))


def test_the_processor_is_read_from_the_system(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("model name\t: Some CPU\nflags\t\t: fpu avx2\n\nmodel name\t: Other\n", encoding="utf-8")
    found = read_processor(cpuinfo)
    assert found == Processor(platform.machine(), "Some CPU", frozenset({"fpu", "avx2"}))
    assert read_processor(tmp_path / "none") == Processor(platform.machine(), None, frozenset())


def test_nothing_is_said_of_features_where_the_system_does_not_tell() -> None:
    assert Processor("aarch64", None, frozenset({"asimd"})).lacks("avx2") == ()
    assert Processor("x86_64", None, frozenset()).lacks("avx2") == ()
    assert Processor("x86_64", None, frozenset({"avx2"})).lacks("avx2", "fma") == ("fma",)
