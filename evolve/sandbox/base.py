"""What a sandbox is: a command in, how it ended out."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from evolve.errors import EnvironmentFault

OUTPUT_CAP = 1024 * 1024
FILE_SIZE_CAP = 64 * 1024 * 1024
MEMORY_CAP = 2 * 1024 * 1024 * 1024


@dataclass(frozen=True)
class Job:
    """A command over a folder that it may read only.

    ``mounts`` are further read-only folders by name, ``inside`` such folders by their path in the folder.
    """

    argv: tuple[str, ...]
    folder: Path
    wall_s: float
    stdin: bytes = b""
    mounts: Mapping[str, Path] = field(default_factory=dict)
    inside: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class Completed:
    """How a job ended; ``exit_code`` is ``None`` when its time was up."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes


class Sandbox(Protocol):
    """Runs a job and leaves nothing of it behind."""

    name: str

    def run(self, job: Job) -> Completed:
        """Run a job to its end or its time limit.

        Raises:
            EnvironmentFault: The sandbox itself does not work.

        """
        ...

    def mounted(self, name: str, job_mounts: Mapping[str, Path]) -> str:
        """Return the path at which a mount is seen by the job."""
        ...


def base_python() -> str:
    """Return the interpreter without its virtual environment."""
    return getattr(sys, "_base_executable", None) or sys.executable


# Limits are set by a shell that then becomes the command: code between fork and exec is not safe beside threads.
_KIB, _BLOCK = 1024, 512
LIMITER = (
    "/bin/sh",
    "-c",
    f'ulimit -v {MEMORY_CAP // _KIB} && ulimit -f {FILE_SIZE_CAP // _BLOCK} && ulimit -c 0 && exec "$@"',
    "sh",
)


# What a test runner finds of its own accord is not to be found: caches are not written, plugins not looked for.
GRADER_ENV = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p no:cacheprovider",
    "npm_config_ignore_scripts": "true",
}


def _exists(program: str, cwd: Path | None) -> bool:
    """Whether a program is there, as seen from a working folder."""
    return ((cwd or Path()) / program).exists() if "/" in program else shutil.which(program) is not None


def run_contained(
    argv: list[str],
    job: Job,
    *,
    env: Mapping[str, str],
    cwd: Path | None,
    end: Callable[[subprocess.Popen[bytes]], None],
) -> Completed:
    """Start a process in a session of its own with limits; stream its output to files; end it in time.

    Args:
        argv: The command.
        job: Gives the standard input and the time limit in seconds.
        env: The whole environment.
        cwd: The working folder.
        end: Ends what is left of the process tree; called always.

    Raises:
        EnvironmentFault: The command cannot be started.

    """
    if not _exists(argv[0], cwd):
        raise EnvironmentFault(f"{argv[0]}: cannot be started: no such program")
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        stdin.write(job.stdin)
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                [*LIMITER, *argv],
                stdin=stdin,
                stdout=out,
                stderr=err,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EnvironmentFault(f"{argv[0]}: cannot be started: {error}") from error
        try:
            exit_code: int | None = process.wait(timeout=job.wall_s)
        except subprocess.TimeoutExpired:
            exit_code = None
        finally:
            end(process)
            process.wait()
        out.seek(0)
        err.seek(0)
        return Completed(exit_code=exit_code, stdout=out.read(OUTPUT_CAP), stderr=err.read(OUTPUT_CAP))


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group that a process leads."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
