"""Another executor can be added without touching the scheduler: here, one that runs cells in other processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.bench.arms import candidate_arm, incumbent_arm
from evolve.bench.cell import Attempt
from evolve.bench.executors.base import Delivered, Prepare, Run
from evolve.bench.measure import Bench
from evolve.bench.plan import Group
from evolve.bench.runner import RunOptions, SweepResult
from evolve.cli.progress import LineProgress
from evolve.corpus.loading import load_corpus
from evolve.overlays import FrozenOverlay, read_overlay
from evolve.records.base import parse_json
from evolve.records.cell_spec import CellSpec
from evolve.records.kinds import Split
from evolve.records.plan import PlannedCell
from evolve.records.row import Row
from evolve.sandbox.host import Host
from evolve.workspace import find_workspace
from tests.bench.elsewhere import EchoAgent
from tests.bench.test_runner import write_overlay


class ProcessExecutor:
    """Hands each cell to a process of its own, as one line of JSON; that process knows nothing else of this one."""

    def __init__(self, run: Run, workers: int, prepare: Prepare) -> None:
        self.workers = workers
        self.cells: list[int] = []

    def submit(self, spec: CellSpec, deliver: Callable[[Delivered], None]) -> None:
        self.cells.append(spec.cell.index)
        threading.Thread(target=self._run, args=(spec, deliver)).start()

    def _run(self, spec: CellSpec, deliver: Callable[[Delivered], None]) -> None:
        command = [sys.executable, "-m", "tests.bench.elsewhere", str(Path.cwd())]
        root = Path(__file__).parents[2]
        ran = subprocess.run(command, cwd=root, input=spec.canonical(), capture_output=True, check=True)
        line, _, reply = ran.stdout.partition(b"\n")
        deliver(Delivered(spec, Attempt(parse_json(Row, line, "elsewhere"), reply.decode())))

    def prepare(self, cell: PlannedCell) -> None:
        return

    def close(self) -> None:
        return


def measure(root: Path, options: RunOptions, context: str) -> SweepResult:
    workspace = find_workspace(root)
    corpus = load_corpus(workspace.corpus)
    overlay: FrozenOverlay = read_overlay(root / "overlays/by-hand", workspace.skills())
    skill = workspace.skill("bracket")
    bench = Bench(workspace, corpus, workspace.policy(), EchoAgent(), Host(), LineProgress(), options)
    tasks = corpus.of("bracket", Split.SELECTION)
    group = Group((incumbent_arm(skill), candidate_arm(incumbent_arm(skill), overlay)), tasks)
    return bench.measure("selection", context, (group,), 1, reuse=False, overlays=(overlay,))


def outcomes(result: SweepResult) -> list[tuple[object, ...]]:
    return sorted((row.key, row.arm, row.resolved, row.reply_sha256, row.work_sha256) for row in result.rows)


def test_a_sweep_in_other_processes_gives_the_same_rows(workspace: Path) -> None:
    write_overlay(workspace)
    made: list[ProcessExecutor] = []

    def executor(run: Run, workers: int, prepare: Prepare) -> ProcessExecutor:
        made.append(ProcessExecutor(run, workers, prepare))
        return made[-1]

    here = measure(workspace, RunOptions(workers=2), "here")
    elsewhere = measure(workspace, RunOptions(workers=2, executor=executor), "elsewhere")
    assert outcomes(here) == outcomes(elsewhere)
    assert {row.resolved for row in here.rows} == {True, False}
    assert sorted(made[0].cells) == list(range(6))


@pytest.mark.parametrize("workers", [1, 3])
def test_folders_of_later_cells_are_made_while_earlier_ones_run(
    workspace: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_overlay(workspace)
    from evolve.bench import cell

    makers: list[str] = []
    real = cell.Room.make.__func__  # type: ignore[attr-defined]

    def make(kind: type[cell.Room], /, *given: object, **named: object) -> object:
        makers.append(threading.current_thread().name)
        return real(kind, *given, **named)

    monkeypatch.setattr(cell.Room, "make", classmethod(make))
    EchoAgent.delay_s = 0.05
    try:
        result = measure(workspace, RunOptions(workers=workers), "ahead")
    finally:
        EchoAgent.delay_s = 0.0
    assert len(result.rows) == 6
    assert len(makers) == 6
    assert makers.count("evolve-prepare") == 6 - workers
