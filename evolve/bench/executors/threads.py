"""Running cells in threads of this process."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable

from evolve.bench.executors.base import Delivered, Prepare, Run
from evolve.records.cell_spec import CellSpec
from evolve.records.plan import PlannedCell

Deliver = Callable[[Delivered], None]
JOIN_S = 5.0


class ThreadExecutor:
    """A fixed number of daemon threads; an interrupted run does not wait for a model that hangs.

    One more thread prepares what comes next.
    """

    def __init__(self, run: Run, workers: int, prepare: Prepare) -> None:
        self.workers = workers
        self._run = run
        self._prepare = prepare
        self._closed = False
        self._queue: queue.SimpleQueue[tuple[CellSpec, Deliver] | None] = queue.SimpleQueue()
        self._soon: queue.SimpleQueue[PlannedCell | None] = queue.SimpleQueue()
        for number in range(workers):
            threading.Thread(target=self._work, name=f"evolve-cell-{number}", daemon=True).start()
        self._preparer = threading.Thread(target=self._make_ready, name="evolve-prepare", daemon=True)
        self._preparer.start()

    def submit(self, spec: CellSpec, deliver: Deliver) -> None:
        """Put a cell at the end of the queue."""
        self._queue.put((spec, deliver))

    def prepare(self, cell: PlannedCell) -> None:
        """Have the preparing thread make a cell ready."""
        self._soon.put(cell)

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            spec, deliver = item
            try:
                deliver(Delivered(spec, self._run(spec)))
            except BaseException as fault:
                deliver(Delivered(spec, None, fault))

    def _make_ready(self) -> None:
        while (cell := self._soon.get()) is not None and not self._closed:
            with contextlib.suppress(Exception):  # a hint that fails is told when the cell is run
                self._prepare(cell)

    def close(self) -> None:
        """End each thread after the cell that it runs; nothing more is prepared."""
        for _ in range(self.workers):
            self._queue.put(None)
        self._closed = True
        self._soon.put(None)
        self._preparer.join(JOIN_S)
