"""``evolve watch``: a sweep is told as whoever runs it has it told, and nobody is disturbed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evolve.bench.follow import Follower
from evolve.bench.retell import Retelling
from evolve.cli.progress import BarProgress, EventProgress, progress_for
from evolve.files import writer_lock
from evolve.generation.state import GENERATION_LOCK
from evolve.workspace import find_workspace
from tests.cli.test_progress import on_a_terminal
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.view.conftest import Growing, growing, measured, measured_once
from tests.worlds import ModelServer, make_workspace

__all__ = ["growing", "measured", "measured_once"]
HOME = Path(__file__).parents[2]


def test_what_happens_is_told_and_what_happened_before_is_counted(
    growing: Growing, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = Retelling.begin

    def begin(retelling: Retelling) -> None:
        began(retelling)
        watched.set()

    def run() -> None:
        with writer_lock(growing.folder / ".lock", "the test"):
            started.set()
            assert watched.wait(60)
            for _ in range(9):
                growing.grow(10)
                time.sleep(0.05)
            growing.grow()

    monkeypatch.setattr(Retelling, "begin", begin)
    started, watched = threading.Event(), threading.Event()
    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    ran = evolve("watch")
    thread.join()
    assert ran.code == 0
    lines = ran.err.splitlines()
    assert lines[0].startswith("candidate against incumbent on sealed: 48 cells to measure")
    assert sum(" run " in line for line in lines) == 47, "one had ended before"
    assert lines[1].startswith("   2/48  ")
    assert lines[-1].startswith("  48 of 48 done, 24 resolved, 24 failed")


def test_events_are_told_for_programs(growing: Growing, evolve: CommandLine) -> None:
    growing.grow(3)
    ran = evolve("watch", growing.folder.name, "--json")
    events = [json.loads(line) for line in ran.err.splitlines()]
    assert [event["event"] for event in events] == ["sweep-started", "cell-started", "sweep-ended", "note"]
    assert events[2]["done"] == 2 and events[2]["to_pay"] == 48
    assert events[3]["text"] == f"interrupted; go on with: evolve resume {growing.folder.name}"


def test_a_sweep_that_is_over_is_told_as_it_ended(measured: Measured, evolve: CommandLine) -> None:
    ran = evolve("watch", measured.evidence().promotion.sweep)
    assert ran.code == 0
    assert ran.err.splitlines()[-1].startswith("  48 of 48 done")


@pytest.mark.parametrize(
    ("arguments", "told"), [([], "nothing is running"), (["s-nothing"], "no such sweep"), (["../x"], "no such sweep")]
)
def test_mistakes_are_told(measured: Measured, evolve: CommandLine, arguments: list[str], told: str) -> None:
    ran = evolve("watch", *arguments)
    assert ran.code == 2 and told in ran.err


def test_what_is_told_is_what_whoever_runs_it_was_told(growing: Growing, capsys: pytest.CaptureFixture[str]) -> None:
    retelling = Retelling(growing.folder, EventProgress())
    growing.grow()
    retelling.go_on()
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    follower = Follower(growing.folder)
    rows = [event.row for event in follower.new_events() if event.row is not None][1:]
    ended = [event for event in told if event["event"] == "cell-ended"]
    assert [(e["task"], e["run"], e["arm"], e["resolved"]) for e in ended] == [
        (row.identity.task, row.identity.run, row.arm, row.resolved) for row in rows
    ]
    assert retelling.finished and retelling.why is None


def test_a_generation_is_watched_from_sweep_to_sweep_and_looking_away_stops_nothing(
    tmp_path: Path, served: ModelServer
) -> None:
    root = make_workspace(tmp_path / "workspace", base_url=served.url)
    served.delay_s = 0.15
    environment = {**os.environ, "PYTHONPATH": str(HOME)}
    command = [sys.executable, "-m", "evolve"]
    with subprocess.Popen(
        [*command, "generation"], cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as runs:
        sweeps = find_workspace(root).sweeps
        wait_for(lambda: any(sweeps.glob("*/journal.jsonl")))
        with (
            subprocess.Popen([*command, "watch"], cwd=root, env=environment, stderr=subprocess.PIPE, text=True) as away,
            subprocess.Popen(
                [*command, "watch"], cwd=root, env=environment, stderr=subprocess.PIPE, text=True
            ) as stays,
        ):
            assert away.stderr is not None and away.stderr.readline(), "it looks before it looks away"
            time.sleep(0.5)
            away.send_signal(signal.SIGINT)
            seen = away.communicate(timeout=20)[1]
            assert "Traceback" not in seen
            _, told = stays.communicate(timeout=120)
        runs.communicate(timeout=120)
    assert (runs.returncode, away.returncode) == (0, 0), seen
    assert stays.returncode == 0
    assert told.count(" cells to measure") >= 2, told


def wait_for(happened: object, seconds: float = 60) -> None:
    assert callable(happened)
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_sweep_that_is_gone_while_it_is_watched_is_told(growing: Growing, evolve: CommandLine) -> None:
    def run() -> None:
        with writer_lock(growing.folder / ".lock", "the test"):
            started.set()
            time.sleep(1)
            shutil.rmtree(growing.folder)

    started = threading.Event()
    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    ran = evolve("watch", growing.folder.name)
    thread.join()
    assert ran.code == 1 and "journal.jsonl: gone while it was followed" in ran.err


def test_a_sweep_that_is_gone_since_it_was_listed_is_passed_over(
    growing: Growing, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = Path.glob
    monkeypatch.setattr(Path, "glob", lambda path, pattern: [*listed(path, pattern), path / "gone/plan.json"])
    ran = evolve("watch")
    assert ran.code == 2 and "nothing is running" in ran.err


def test_a_generation_without_a_sweep_is_waited_for_and_its_end_is_told(growing: Growing, evolve: CommandLine) -> None:
    locks = find_workspace(growing.folder).locks

    def run() -> None:
        with writer_lock(locks / GENERATION_LOCK, "the test"):
            started.set()
            time.sleep(1)

    started = threading.Event()
    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    ran = evolve("watch")
    thread.join()
    assert ran.code == 0
    assert ran.err.splitlines() == [
        "a generation runs, and no sweep of it; the next one is waited for",
        "the generation does not run any more; evolve status shows how it stands",
    ]


def test_on_a_terminal_a_running_cell_is_under_way(growing: Growing, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = on_a_terminal(monkeypatch)
    assert stream.isatty()
    progress = progress_for(as_json=False)
    assert isinstance(progress, BarProgress)
    progress.begins_with = "under way"
    retelling = Retelling(growing.folder, progress)
    progress.sweep_started(retelling.plan, 48, 0, 1)
    growing.grow(1)
    retelling.go_on()
    assert progress.board is not None and list(progress.board.running.values()) == ["under way"]
    progress.sweep_ended()
