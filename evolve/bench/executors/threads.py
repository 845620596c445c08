"""Running cells in threads of this process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from evolve.bench.cell import Attempt
from evolve.bench.executors.base import Delivered
from evolve.records.cell_spec import CellSpec

Run = Callable[[CellSpec], Attempt]


class ThreadExecutor:
    """A fixed number of daemon threads; an interrupted run does not wait for a model that hangs."""

    def __init__(self, run: Run, workers: int) -> None:
        self.workers = workers
        self._run = run
        self._queue: queue.SimpleQueue[tuple[CellSpec, Callable[[Delivered], None]] | None] = queue.SimpleQueue()
        for number in range(workers):
            threading.Thread(target=self._work, name=f"evolve-cell-{number}", daemon=True).start()

    def submit(self, spec: CellSpec, deliver: Callable[[Delivered], None]) -> None:
        """Put a cell at the end of the queue."""
        self._queue.put((spec, deliver))

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            spec, deliver = item
            try:
                deliver(Delivered(spec, self._run(spec)))
            except BaseException as fault:
                deliver(Delivered(spec, None, fault))

    def close(self) -> None:
        """End each thread after the cell that it runs."""
        for _ in range(self.workers):
            self._queue.put(None)
