"""Choosing where model-written code is run: contained, or, when that is asked for, on the bare host."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from evolve.errors import EnvironmentFault, InputError
from evolve.sandbox.base import Completed, Job, Sandbox
from evolve.sandbox.bubblewrap import find_bubblewrap
from evolve.sandbox.host import Host

UNSAFE_HOST_NOTE = "--unsafe-host: model-written code runs WITHOUT containment, as you; these rows are never promoted"
HINT = "Debian, Ubuntu: apt install bubblewrap; or --unsafe-host, for rows that are never promoted"


class Uncontainable:
    """Stands where nothing contains: it runs nothing."""

    name = "none"

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def fault(self) -> EnvironmentFault:
        """Return what is missing, and how to mend it."""
        message = f"model-written code cannot be contained here: {self.reason}"
        return EnvironmentFault(message, hint=HINT, code="no-containment")

    def run(self, job: Job) -> Completed:
        """Refuse.

        Raises:
            EnvironmentFault: Always.

        """
        raise self.fault()

    def mounted(self, name: str, job_mounts: Mapping[str, Path]) -> str:
        """Return a path; nothing will look at it."""
        return f"/mnt/{name}"


def choose_sandbox(*, unsafe_host: bool = False) -> Sandbox:
    """Return bubblewrap when it is seen to contain; the host only when that is asked for.

    Raises:
        InputError: The host is asked for in continuous integration.

    """
    if not unsafe_host:
        return _contained()
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise InputError(
            "--unsafe-host: refused where CI is set: nobody sees there what model-written code does",
            hint="leave it out; bubblewrap contains where it is installed",
            code="unsafe-host",
        )
    return Host()


@cache
def _contained() -> Sandbox:
    bubblewrap, reason = find_bubblewrap()
    return bubblewrap or Uncontainable(reason)


def require_containment(sandbox: Sandbox, *, needed: bool) -> None:
    """Refuse to begin what could not be graded.

    Raises:
        EnvironmentFault: Nothing contains, and model-written code would be run.

    """
    if needed and isinstance(sandbox, Uncontainable):
        raise sandbox.fault()
