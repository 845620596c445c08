"""Local weights as a chat model; they live in a worker process that is started at the first request."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import evolve
from evolve.errors import EnvironmentFault, InputError
from evolve.models.base import ChatReply, ChatRequest, ModelFault, ModelTimeout
from evolve.models.chat_completion import chat_messages, parse_reply
from evolve.models.processor import read_processor
from evolve.models.worker_process import WorkerDied, WorkerProcess, WorkerSilent

RUNTIME = "xllamacpp"
LOAD_WALL_S = 180.0
CLOSE_POLL_S = 0.05
CONTEXT_STEP = 256
MIN_P = 0.05
TOP_P, TOP_K = 0.95, 40
GREEDY_TOP_P, GREEDY_TOP_K = 1.0, 1
# The runtime takes 2**32 - 1 to mean "pick a seed yourself".
SEEDS = 2**32 - 1


class LocalModel:
    """A GGUF file run on this machine's processor; requests are answered one at a time.

    Loading is not part of a request's wall limit: it has its own, ``load_wall_s``.

    Args:
        weights_path: The GGUF file.
        name: What the model is called.
        digest: The file's SHA-256.
        threads: Threads for reading and writing; two suit a quiet machine.
        context: Tokens that prompt and reply may take together, a multiple of 256.
        shared_machine: Other work runs beside this: one thread that does not spin while it waits.
        load_wall_s: How long loading may take, in seconds.

    """

    def __init__(
        self,
        weights_path: Path,
        *,
        name: str,
        digest: str,
        threads: int = 2,
        context: int = 2048,
        shared_machine: bool = False,
        load_wall_s: float = LOAD_WALL_S,
    ) -> None:
        if threads < 1:
            raise InputError(f"model {name}: threads must be at least 1")
        if context < CONTEXT_STEP or context % CONTEXT_STEP:
            raise InputError(f"model {name}: context must be a multiple of {CONTEXT_STEP}: the runtime rounds it up")
        self._weights_path = weights_path
        self._name = name
        self._digest = digest
        self._threads = 1 if shared_machine else threads
        self._context = context
        self._shared_machine = shared_machine
        self._load_wall_s = load_wall_s
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._closed = False

    @property
    def identity(self) -> dict[str, str | int | bool | None]:
        """Weights, runtime, settings and machine.

        Raises:
            EnvironmentFault: The runtime is not installed.

        """
        processor = read_processor()
        return {
            "transport": "local",
            "name": self._name,
            "weights_sha256": self._digest,
            "runtime": RUNTIME,
            "runtime_version": runtime_version(),
            "threads": self._threads,
            "context": self._context,
            "cache_prompt": False,
            "repeatable": True,
            "top_p": str(TOP_P),
            "top_k": TOP_K,
            "min_p": str(MIN_P),
            "machine": processor.machine,
            "processor": processor.name,
        }

    @property
    def worker_pid(self) -> int | None:
        """The worker's process id while one runs."""
        worker = self._worker
        return worker.pid if worker else None

    def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request; starts the worker when none runs.

        Raises:
            EnvironmentFault: The runtime is not installed.
            ModelFault: The processor cannot run it, loading failed, the worker died, or the prompt is longer than
                the context.
            ModelTimeout: The wall limit was reached; the worker was killed and the next call starts another.

        """
        frame = _chat_frame(request)
        with self._lock, self._ending_the_worker_on_failure():
            worker = self._running_worker()
            try:
                answer = worker.exchange(frame, request.wall_s)
            except WorkerSilent as error:
                raise ModelTimeout(f"model {self._name}: no reply within {request.wall_s:g} s") from error
        return _reply(answer, self._name)

    def close(self) -> None:
        """End the worker, also in the middle of a request; calling it twice is harmless."""
        self._closed = True
        # Whoever holds the lock waits for the worker; only that thread may close the pipes it reads.
        while not self._lock.acquire(timeout=CLOSE_POLL_S):
            if self._worker:
                self._worker.kill()
        try:
            if self._worker:
                self._worker.close()
                self._worker = None
        finally:
            self._lock.release()

    def _running_worker(self) -> WorkerProcess:
        if self._closed:
            raise ModelFault(f"model {self._name}: closed already")
        if self._worker is None:
            self._check_machine()
            self._worker = self._started_worker()
            self._load(self._worker)
        return self._worker

    def _started_worker(self) -> WorkerProcess:
        try:
            return WorkerProcess(worker_command(), worker_environment(shared_machine=self._shared_machine))
        except OSError as error:
            raise ModelFault(f"model {self._name}: its worker cannot be started: {error}") from error

    def _check_machine(self) -> None:
        runtime_version()
        lacking = read_processor().lacks("avx2", "fma")
        if lacking:
            raise ModelFault(
                f"model {self._name}: this processor lacks {' and '.join(lacking).upper()}, which the runtime needs",
                hint="use another machine, or a model behind an OpenAI-compatible server",
                code="processor-too-old",
            )
        if not self._weights_path.is_file():
            raise ModelFault(
                f"model {self._name}: {self._weights_path}: no such file",
                hint=f"evolve models install {self._name}",
                code="missing-weights",
            )

    def _load(self, worker: WorkerProcess) -> None:
        settings = {"weights": str(self._weights_path), "context": self._context, "threads": self._threads}
        try:
            answer = worker.exchange(settings, self._load_wall_s)
        except WorkerSilent as error:
            raise ModelFault(f"model {self._name}: not loaded within {self._load_wall_s:g} s") from error
        if "fault" in answer:
            words = worker.stderr_tail()
            raise ModelFault(f"model {self._name}: {self._weights_path}: not loaded: {answer['fault']}{words}")

    @contextmanager
    def _ending_the_worker_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if self._worker:
                self._worker.close(wait_s=0)
                self._worker = None
            if isinstance(error, WorkerDied):
                raise ModelFault(f"model {self._name}: {error}", code="model-worker-died") from error
            raise


def runtime_version() -> str:
    """Return the installed version of the runtime.

    Raises:
        EnvironmentFault: It is not installed.

    """
    try:
        return importlib.metadata.version(RUNTIME)
    except importlib.metadata.PackageNotFoundError as error:
        raise EnvironmentFault(
            f"the runtime for local models ({RUNTIME}) is not installed",
            hint="pip install -e '.[local]'",
            code="missing-runtime",
        ) from error


def worker_command() -> list[str]:
    """Return the worker's command line; ``-P`` keeps the current folder off its import path."""
    return [sys.executable, "-P", "-m", "evolve.models.local_worker", str(os.getpid())]


def worker_environment(*, shared_machine: bool) -> dict[str, str]:
    """Return the worker's whole environment.

    Idle OpenMP threads spin by default: beside one other busy process that costs nine tenths of the speed.
    """
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    if shared_machine:
        environment["OMP_WAIT_POLICY"] = "passive"
    else:
        environment["GOMP_SPINCOUNT"] = "2000"
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    root = str(Path(evolve.__file__).resolve().parent.parent)
    if root not in (*paths, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        paths.append(root)
    if paths:
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment


def _chat_frame(request: ChatRequest) -> dict[str, Any]:
    if request.max_output_tokens < 1:
        raise InputError(f"max_output_tokens is {request.max_output_tokens}, must be at least 1")
    greedy = request.temperature <= 0
    return {
        "messages": chat_messages(request),
        "max_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "seed": request.seed % SEEDS,
        "top_p": GREEDY_TOP_P if greedy else TOP_P,
        "top_k": GREEDY_TOP_K if greedy else TOP_K,
        "min_p": MIN_P,
        "cache_prompt": False,
    }


def _reply(answer: dict[str, Any], name: str) -> ChatReply:
    if "fault" in answer:
        raise ModelFault(f"model {name}: {answer['fault']}")
    if "error" in answer:
        raise _refusal(answer["error"], name)
    return parse_reply(answer, f"model {name}")


def _refusal(error: Any, name: str) -> ModelFault:
    details = error if isinstance(error, dict) else {"message": str(error)}
    if details.get("type") == "exceed_context_size_error":
        return ModelFault(
            f"model {name}: the prompt has {details.get('n_prompt_tokens')} tokens, the context holds"
            f" {details.get('n_ctx')}",
            hint="shorten the prompt or raise the model's context",
            code="prompt-too-long",
        )
    return ModelFault(f"model {name}: the runtime refused: {details.get('message')}")
