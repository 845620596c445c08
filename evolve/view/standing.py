"""Where every sweep of a workspace stands, again and again; what has not changed is not read again."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

from evolve.bench.books import LOCK_FILE, PLAN_FILE
from evolve.bench.follow import Follower
from evolve.bench.journal import JOURNAL_FILE
from evolve.bench.status import SweepStatus, status_of
from evolve.errors import EvolveError
from evolve.files import holder_of
from evolve.records.plan import Plan

Stamp = tuple[int, int, int | None]
Standing = tuple[list[SweepStatus], dict[str, str]]


@dataclass
class _Known:
    stamp: Stamp
    status: SweepStatus
    followed: tuple[Plan, Follower] | None


class Standings:
    """Where every sweep below a folder stands; only of those that are running more than that is remembered."""

    def __init__(self, sweeps: Path) -> None:
        self._sweeps = sweeps
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()
        self._last: tuple[float, Standing] | None = None

    def now(self, fresh_s: float = 0) -> Standing:
        """Return where each sweep stands, the latest first, and those that cannot be read, with the reason.

        Args:
            fresh_s: So many seconds old it may be, so that many who look are no more work than one.

        """
        with self._lock:
            if self._last is None or time.monotonic() >= self._last[0] + fresh_s:
                self._last = None
                found = self._read()
                self._last = time.monotonic(), found
            return self._last[1]

    def _read(self) -> Standing:
        found, damaged = [], {}
        for path in sorted(self._sweeps.glob(f"*/{PLAN_FILE}")):
            try:
                found.append(self._status(path.parent))
            except (EvolveError, OSError) as error:
                self._known.pop(path.parent.name, None)
                damaged[path.parent.name] = error.message if isinstance(error, EvolveError) else str(error)
        return sorted(found, key=lambda one: (one.last, one.sweep), reverse=True), damaged

    def _status(self, folder: Path) -> SweepStatus:
        known, stamp = self._known.get(folder.name), stamp_of(folder)
        if known is not None and known.stamp == stamp:
            return known.status
        followed = known.followed if known is not None else None
        plan, follower = followed or (None, Follower(folder))
        follower.new_events()
        plan = plan or follower.plan()
        status = status_of(folder, plan, follower)
        kept = (plan, follower) if status.stage == "running" else None
        self._known[folder.name] = _Known(stamp, status, kept)
        return status


def stamp_of(folder: Path) -> Stamp:
    """Return what is another whenever something happened to a sweep: its journal's time and size, and who runs it."""
    try:
        found = (folder / JOURNAL_FILE).stat()
    except FileNotFoundError:
        return 0, 0, holder_of(folder / LOCK_FILE)
    return found.st_mtime_ns, found.st_size, holder_of(folder / LOCK_FILE)
