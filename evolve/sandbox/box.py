"""A box for an agent: it may write its work and its home, see its skills, reach the gateway, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import psutil

from evolve.errors import EnvironmentFault
from evolve.sandbox.base import base_python
from evolve.sandbox.bubblewrap import READ_ONLY_PROC, SYSTEM_FOLDERS
from evolve.sandbox.disk import DiskMeter
from evolve.sandbox.hidden import hiding

WORK, HOME, GATEWAY, PORT = "/box/work", "/box/home", "/box/gateway", 8787
INSIDE, PROMPT, SOCKET = "/box/inside.py", "/box/prompt", "model.sock"
GRACE_S = 5.0
GONE_S = 30
POLL_S = 0.05
TMP_BYTES = 512 * 1024 * 1024
ETC = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs", "/etc/ca-certificates")


@dataclass(frozen=True)
class Places:
    """Where things are, as the agent sees them: a folder put before every path, and the gateway's port."""

    root: str = ""
    port: int = PORT

    def at(self, inside: str) -> str:
        """Return a path of the box as the agent has to write it."""
        return self.root + inside

    @property
    def gateway(self) -> str:
        """The gateway's base URL."""
        return f"http://127.0.0.1:{self.port}"


class Stop(StrEnum):
    """Why a box was ended from outside."""

    WALL = "wall clock"
    IDLE = "idle limit"
    OUTPUT = "output limit"
    MEMORY = "memory limit"
    PROCESSES = "process limit"
    DISK = "disk limit"


@dataclass(frozen=True)
class BoxLimits:
    """What a box may use: seconds, bytes, processes."""

    wall_s: float
    idle_s: float = 300
    output_bytes: int = 64 * 1024 * 1024
    memory_bytes: int = 4 * 1024**3
    processes: int = 256
    disk_bytes: int = 8 * 1024**3


@dataclass(frozen=True)
class BoxJob:
    """An agent to be run.

    Args:
        argv: The command, with paths as they are inside.
        env: The whole environment, beside PATH, HOME, TMPDIR and LANG.
        work: The folder that it works in.
        home: Its private home, empty but for what its adapter puts there.
        prompt: What it gets on standard input.
        gateway: The folder with the gateway's socket.
        stdout: The file that its output is streamed to.
        stderr: The file for its errors.
        limits: What it may use.
        read_only: Further files and folders, by their path inside.
        writable: Further folders that it may write, by their path inside.
        work_read_only: Whether it may only read its work.
        places: Where all of this is inside; argv and env are written for it.
        alive: When something last came through the gateway (monotonic seconds), so that a long answer is not idleness.

    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    work: Path
    home: Path
    prompt: Path
    gateway: Path
    stdout: Path
    stderr: Path
    limits: BoxLimits
    read_only: Mapping[str, Path] = field(default_factory=dict)
    writable: Mapping[str, Path] = field(default_factory=dict)
    work_read_only: bool = False
    places: Places = field(default_factory=Places)
    alive: Callable[[], float] = lambda: 0.0


@dataclass(frozen=True)
class BoxEnd:
    """How an agent ended; ``stop`` says why it was ended from outside, if it was."""

    exit_code: int | None
    stop: Stop | None
    wall_s: float


class Box(Protocol):
    """Where agents are run."""

    name: str

    def places(self, room: Path) -> Places:
        """Return where things will be for an agent whose folders lie in a room."""
        ...

    def run(self, job: BoxJob) -> BoxEnd:
        """Run an agent to its end or to one of its limits; nothing of it is left.

        Raises:
            EnvironmentFault: It cannot be started, or not be ended.

        """
        ...


def supervised(job: BoxJob, socket: str, prompt: str, inside: str) -> list[str]:
    """Return the command of the supervisor that runs a job's command.

    Args:
        job: The job.
        socket: The gateway's socket, as it is seen from there.
        prompt: The file with the prompt.
        inside: The supervisor's own source.

    """
    command = [base_python(), "-I", "-S", inside, str(job.places.port), socket, prompt, str(GRACE_S)]
    return [*command, "--", *job.argv]


class BubblewrapBox:
    """Runs agents under bubblewrap, each in namespaces of its own."""

    name = "bubblewrap"

    def __init__(self, executable: str) -> None:
        self._executable = executable

    def places(self, room: Path) -> Places:
        """Return the same places for every agent."""
        return Places()

    def argv(self, job: BoxJob) -> list[str]:
        """Return the command that runs a job contained."""
        argv = [self._executable, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
        argv += ["--uid", "1000", "--gid", "1000", "--hostname", "cell", "--cap-drop", "ALL"]
        for shared in (*SYSTEM_FOLDERS, *ETC):
            argv += ["--ro-bind-try", shared, shared]
        if not sys.base_prefix.startswith("/usr"):
            argv += ["--ro-bind", sys.base_prefix, sys.base_prefix]
        argv += ["--proc", "/proc", *READ_ONLY_PROC, "--dev", "/dev", "--size", str(TMP_BYTES), "--tmpfs", "/dev/shm"]
        argv += ["--size", str(TMP_BYTES), "--tmpfs", "/tmp"]
        argv += hiding((*SYSTEM_FOLDERS, sys.base_prefix))
        argv += ["--ro-bind" if job.work_read_only else "--bind", str(job.work), WORK]
        argv += ["--bind", str(job.home), HOME, "--ro-bind", str(job.gateway), GATEWAY]
        argv += ["--ro-bind", str(Path(__file__).with_name("inside.py")), INSIDE, "--ro-bind", str(job.prompt), PROMPT]
        # Some programs end at once where their own user has no name.
        argv += ["--ro-bind", str(Path(__file__).with_name("passwd")), "/etc/passwd"]
        for inside, path in job.read_only.items():
            argv += ["--ro-bind", str(path), inside]
        for inside, path in job.writable.items():
            argv += ["--bind", str(path), inside]
        standard = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": HOME, "TMPDIR": "/tmp"}
        for name, value in {**standard, **job.env}.items():
            argv += ["--setenv", name, value]
        supervisor = supervised(job, f"{GATEWAY}/{SOCKET}", PROMPT, INSIDE)
        return [*argv, "--remount-ro", "/", "--chdir", WORK, "--", *supervisor]

    def run(self, job: BoxJob) -> BoxEnd:
        """Run an agent to its end or to one of its limits; nothing of it is left.

        Raises:
            EnvironmentFault: bubblewrap cannot be started.

        """
        started = time.monotonic()
        told, tell = os.pipe()
        with job.stdout.open("wb") as out, job.stderr.open("wb") as err, os.fdopen(told, "rb") as info:
            argv = self.argv(job)
            argv[1:1] = ["--info-fd", str(tell)]
            try:
                process = subprocess.Popen(
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=err,
                    env={},
                    start_new_session=True,
                    pass_fds=(tell,),
                )
            except OSError as error:
                raise EnvironmentFault(f"{self._executable}: cannot be started: {error.strerror}") from error
            finally:
                os.close(tell)
            inner = _inner_process(info.read())
            return attend(process, job, started, lambda: _wait_for_all(inner))


def attend(process: subprocess.Popen[bytes], job: BoxJob, started: float, rest: Callable[[], None]) -> BoxEnd:
    """Wait for the end of a supervisor or bring it about at a limit, and leave nothing of it.

    Args:
        process: The supervisor, which leads a process group.
        job: Gives the limits.
        started: When it began, in monotonic seconds.
        rest: Sees to what is not in the process group.

    """
    try:
        stop = _watch(process, job, started)
        if stop in (Stop.WALL, Stop.IDLE):
            _end(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        process.wait()
        rest()
    return BoxEnd(process.returncode if stop is None else None, stop, time.monotonic() - started)


def _inner_process(info: bytes) -> int | None:
    """Return a descriptor of the first process inside, whose end is the end of all others there."""
    try:
        return os.pidfd_open(json.loads(info)["child-pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _wait_for_all(inner: int | None) -> None:
    """Wait until the namespace is gone: bubblewrap hands the exit code on before the rest has been killed."""
    if inner is None:
        return
    try:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(inner, signal.SIGKILL)
        poller = select.poll()
        poller.register(inner, select.POLLIN)
        if not poller.poll(GONE_S * 1000):
            raise EnvironmentFault("processes of a box could not be ended", code="survivors")
    finally:
        os.close(inner)


def _watch(process: subprocess.Popen[bytes], job: BoxJob, started: float) -> Stop | None:
    """Wait for the end; returns the limit that was reached before it, if one was."""
    size, spoke, weighed = 0, started, started
    meter = DiskMeter([job.work, job.home, *job.writable.values()])
    while True:
        try:
            process.wait(POLL_S)
            return None
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        grown = job.stdout.stat().st_size + job.stderr.stat().st_size
        if grown != size:
            size, spoke = grown, now
        if now - started >= job.limits.wall_s:
            return Stop.WALL
        if now - max(spoke, job.alive()) >= job.limits.idle_s:
            return Stop.IDLE
        if size > job.limits.output_bytes:
            return Stop.OUTPUT
        if now - weighed >= 1:
            weighed = now
            memory, processes = _weigh(process.pid)
            if memory > job.limits.memory_bytes:
                return Stop.MEMORY
            if processes > job.limits.processes:
                return Stop.PROCESSES
            if meter.grown() > job.limits.disk_bytes:
                return Stop.DISK


def _weigh(pid: int) -> tuple[int, int]:
    """Return the resident bytes and the number of all processes below one."""
    memory = count = 0
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                memory += child.memory_info().rss
                count += 1
    return memory, count


def _end(process: subprocess.Popen[bytes]) -> None:
    """Tell the supervisor inside to end the agent, so that it can write down what it used."""
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.write(b"end\n")
            process.stdin.flush()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S + 2)
