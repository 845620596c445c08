"""The worker process that holds local weights: ``python -m evolve.models.local_worker PARENT_PID``.

It reads JSON lines from stdin and answers each with one JSON line on what was its stdout. The first line
holds the settings of :func:`load`; the others are chat requests. It ends when stdin closes.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO

PR_SET_PDEATHSIG = 1
Frame = dict[str, Any]
Answer = Callable[[Frame], Frame]


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies; end at once if it has died already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def take_replies_away_from_stdout() -> TextIO:
    """Return what was stdout, and point stdout at stderr, so that native code cannot print into frames."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def load(settings: Frame) -> Answer:
    """Load the weights and return the function that answers chat requests.

    Args:
        settings: ``weights`` (path), ``context`` (tokens) and ``threads``.

    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.n_ctx = settings["context"]
    params.n_parallel = 1
    params.verbosity = 0
    params.warmup = False
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    # What would change a reply behind our back: a smaller context, another device, older prompts.
    params.fit_params = False
    params.n_gpu_layers = 0
    params.cache_prompt = False
    params.cache_ram_mib = 0
    # The runtime always listens: on loopback, on a free port, and with a key that nobody knows.
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [secrets.token_urlsafe(32)]
    params.ui = False
    params.endpoint_slots = False
    server = xllamacpp.Server(params)

    def answer(request: Frame) -> Frame:
        reply: Frame = server.handle_chat_completions(request)
        return reply

    return answer


def guarded(step: Callable[[Frame], Frame], frame: Frame) -> Frame:
    """Answer a frame; what goes wrong becomes an answer with a ``fault``."""
    try:
        return step(frame)
    except Exception as error:
        return {"fault": f"{type(error).__name__}: {error}"}


def serve(frames: Iterator[Frame], send: Callable[[Frame], None]) -> None:
    """Load on the first frame, then answer the others until they end."""
    answer: Answer | None = None

    def start(settings: Frame) -> Frame:
        nonlocal answer
        answer = load(settings)
        return {"ready": True}

    for frame in frames:
        send(guarded(answer or start, frame))


def _read_lines(lines: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    # The parent is gone or wants no more. The runtime's own shutdown can hang, so do not wait for it.
    os._exit(0)


def main() -> None:
    """Serve the parent process until it ends."""
    replies = take_replies_away_from_stdout()
    die_with(int(sys.argv[1]))
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(lines,), daemon=True).start()

    def send(frame: Frame) -> None:
        replies.write(json.dumps(frame) + "\n")
        replies.flush()

    try:
        serve((json.loads(lines.get()) for _ in iter(int, 1)), send)
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
