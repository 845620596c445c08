"""Choosing the strongest containment that works on this machine."""

from __future__ import annotations

from functools import cache

from evolve.sandbox.base import Sandbox
from evolve.sandbox.bubblewrap import find_bubblewrap
from evolve.sandbox.host import Host

UNCONTAINED_NOTE = "model-written code is graded WITHOUT containment, in a bare process with limits: {reason}"


@cache
def choose_sandbox() -> tuple[Sandbox, str | None]:
    """Return bubblewrap when it is seen to contain, else the host with a note to be said loudly."""
    bubblewrap, reason = find_bubblewrap()
    if bubblewrap is not None:
        return bubblewrap, None
    return Host(), UNCONTAINED_NOTE.format(reason=reason)
