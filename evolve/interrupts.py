"""Interrupts that wait while something is written that must not be left half believed."""

from __future__ import annotations

import contextlib
import signal
import types
from collections.abc import Iterator

_held = 0
_waiting = False


def handle(signum: int, frame: types.FrameType | None) -> None:
    """Raise KeyboardInterrupt, now or as soon as what is being written is written."""
    global _waiting
    if _held:
        _waiting = True
    else:
        raise KeyboardInterrupt


def install() -> None:
    """Have SIGINT and SIGTERM be interrupts that can be held back; SIGINT stays ignored where it was ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Hold interrupts back for the length of a few writes."""
    global _held, _waiting
    _held += 1
    try:
        yield
    except BaseException:
        _held -= 1
        _waiting = False  # the fault is the thing to tell; it ends the run as well
        raise
    _held -= 1
    if _waiting and not _held:
        _waiting = False
        raise KeyboardInterrupt
