"""A child process that answers one JSON line with one JSON line, under a wall limit."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

CLOSE_WAIT_S = 1.0
STDERR_TAIL_BYTES = 2000
READ_BLOCK = 65536


class WorkerDied(Exception):
    """The child ended, or broke the protocol; ``str()`` says how, with the tail of its stderr."""


class WorkerSilent(Exception):
    """The child did not answer within the wall limit; it has been killed."""


class WorkerProcess:
    """One running child; after a failed exchange it is dead and cannot be used again.

    Args:
        command: The program and its arguments. The child answers on its stdout.
        environment: The child's whole environment.

    """

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the child)
        self._last_words = ""
        # A parent-death signal is sent when the *thread* that forked ends, so that thread must live on.
        self._spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="evolve-worker")
        try:
            self._process = self._spawner.submit(self._spawn, list(command), environment).result()
        except BaseException:
            self._spawner.shutdown(wait=False)
            self._stderr.close()
            raise
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests = self._process.stdin.fileno()
        self._replies = self._process.stdout.fileno()
        os.set_blocking(self._requests, False)

    def _spawn(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
            bufsize=0,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def exchange(self, frame: dict[str, Any], wall_s: float) -> dict[str, Any]:
        """Send one frame and wait for its answer.

        Raises:
            WorkerDied: The child ended or sent something that is not a frame.
            WorkerSilent: No answer within ``wall_s`` seconds.

        """
        deadline = time.monotonic() + wall_s
        try:
            self._send(json.dumps(frame).encode("ascii") + b"\n", deadline)
            answer = json.loads(self._receive(deadline))
            if not isinstance(answer, dict):
                raise ValueError("an answer is not an object")
        except (ValueError, OSError) as error:
            self.close(wait_s=CLOSE_WAIT_S)
            raise WorkerDied(f"the worker broke off: {error}{self.stderr_tail()}") from error
        except BaseException:
            # An unread answer would be taken for the answer to the next frame.
            self.close(wait_s=0)
            raise
        return answer

    def _send(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._requests, select.POLLOUT, deadline)
            view = view[os.write(self._requests, view) :]

    def _receive(self, deadline: float) -> bytes:
        received = b""
        while not received.endswith(b"\n"):
            self._wait(self._replies, select.POLLIN, deadline)
            block = os.read(self._replies, READ_BLOCK)
            if not block:
                self.close(wait_s=CLOSE_WAIT_S)
                raise WorkerDied(f"the worker ended ({self._ending()}){self.stderr_tail()}")
            received += block
        return received

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0 or not poll.poll(remaining_s * 1000):
            raise WorkerSilent

    def _ending(self) -> str:
        code = self._process.returncode
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def stderr_tail(self) -> str:
        """Return the last lines that the child printed, ready to follow a message; empty if none."""
        with contextlib.suppress(ValueError, OSError):
            size = self._stderr.seek(0, os.SEEK_END)
            self._stderr.seek(max(0, size - STDERR_TAIL_BYTES))
            self._last_words = self._stderr.read().decode("utf-8", errors="replace").strip()
        return f"; its last words:\n{self._last_words}" if self._last_words else ""

    def kill(self) -> None:
        """Kill the child and leave the clean-up to whoever is waiting for its answer."""
        self._process.kill()

    def close(self, *, wait_s: float = CLOSE_WAIT_S) -> None:
        """End the child: its stdin is closed, and after ``wait_s`` seconds it is killed. Idempotent."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout=wait_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.stderr_tail()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._stderr.close()
        self._spawner.shutdown(wait=False)
