from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime

import pytest

from evolve.cli.models import _Download
from evolve.cli.progress import BarProgress, EventProgress, LineProgress, progress_for
from evolve.cli.tally import Tally
from evolve.models.weights import InstallProgress
from evolve.records.cell_spec import CellSpec
from evolve.records.kinds import ErrorKind, Role
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row, Usage
from tests.builders import make_row


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Stand at a terminal; in the test itself, since pytest gives each of its phases another standard error."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


PLAN = Plan(
    sweep="sealed-s-1",
    purpose="sealed",
    context="by-hand",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    runs=3,
    max_attempts=3,
    outage_streak=5,
    cache="cold",
    agent={},
    arms=(),
    cells=(),
)
GOOD = make_row("t-1", 0, role=Role.CANDIDATE, resolved=True, usage=Usage(session_ms=1500, cost_usd_micros=20_000))
BAD = make_row("t-3", 0, role=Role.CANDIDATE, resolved=False)
VOID = make_row("t-2", 0, role=Role.CANDIDATE, resolved=False).model_copy(
    update={"kind": ErrorKind.SESSION_ERROR, "detail": "[red]\x1b[31mdown"}
)


def spec(row: Row, attempt: int = 1) -> CellSpec:
    cell = PlannedCell(
        index=0, arm=row.arm, role=row.role, split=row.split, identity=row.identity, action="fresh", reason="-"
    )
    return CellSpec(cell=cell, attempt=attempt, token=1)


def test_a_terminal_gets_a_bar_a_line_for_each_running_cell_and_void_cells_above(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    terminal = on_a_terminal(monkeypatch)
    progress = progress_for(as_json=False)
    assert isinstance(progress, BarProgress)
    progress.note("before")
    progress.tick()
    progress.sweep_started(PLAN, 3, 0, 2)
    progress.cell_started(spec(GOOD))
    progress.cell_phase(spec(GOOD).cell, "oracle")
    assert progress.board is not None
    assert progress.board.running == {"t-1 run 0 (candidate)": "oracle"}
    progress.cell_ended(spec(GOOD), GOOD)
    progress.cell_started(spec(VOID))
    progress.cell_ended(spec(VOID), VOID)
    progress.note("a note [bold]")
    progress.cell_started(spec(BAD))
    progress.cell_cancelled(spec(BAD))
    progress.cell_started(spec(BAD))
    progress.spent("warm-up", 10_000)
    progress.sweep_ended()
    progress.sweep_ended()
    text = terminal.getvalue()
    assert "before" in text
    assert "1/3" in text
    assert "1 of 3 done, 1 resolved, 0 failed, 1 void" in text
    assert "t-2 run 0 (candidate): void: session-error: [red][31mdown" in text
    assert "a note [bold]" in text
    assert progress.board is None


def test_elsewhere_there_is_a_plain_line_an_event(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = progress_for(as_json=False)
    assert isinstance(progress, LineProgress)
    progress.sweep_started(PLAN, 3, 0, 2)
    progress.cell_started(spec(VOID))
    progress.cell_ended(spec(VOID), VOID)
    progress.cell_ended(spec(VOID), VOID, "results/sweeps/s/transcripts/d.jsonl")
    progress.cell_ended(spec(GOOD, 2), GOOD, "results/sweeps/s/replies/d.md")
    progress.tick()
    progress.tally.clock = lambda: progress.tally._started + 130
    monkeypatch.setattr(progress, "_spoke", -1000.0)
    progress.tick()
    progress.tick()
    progress.cell_ended(spec(BAD), BAD, "results/sweeps/s/replies/d.md")
    progress.cell_cancelled(spec(BAD))
    progress.sweep_ended()
    progress.note("done")
    assert capsys.readouterr().err.splitlines() == [
        "candidate against incumbent on sealed: 3 cells to measure, 2 at once (sealed-s-1)",
        "  0/3  t-2 run 0 (candidate): void: session-error: [red][31mdown",
        "  0/3  t-2 run 0 (candidate): void: session-error: [red][31mdown (see results/sweeps/s/transcripts/d.jsonl)",
        "  1/3  t-1 run 0 (candidate): resolved, 1.5 s, attempt 2",
        "  still at it: 1 of 3 done, 1 resolved, 0 failed, 2 void, cost unknown, about 4.3 min to go",
        "  2/3  t-3 run 0 (candidate): failed: oracle-failed",
        "  given up: t-3 run 0 (candidate)",
        "  2 of 3 done, 1 resolved, 1 failed, 2 void, cost unknown, about 65 s to go, in 2.2 min",
        "done",
    ]


def test_a_program_gets_one_json_object_a_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    progress = progress_for(as_json=True)
    assert isinstance(progress, EventProgress)
    progress.sweep_started(PLAN, 2, 0, 1)
    progress.spent("warm-up", 5)
    progress.cell_started(spec(GOOD))
    progress.cell_ended(spec(GOOD), GOOD)
    progress.cell_cancelled(spec(BAD))
    progress.heartbeat()
    progress.sweep_ended()
    progress.note("a note\x1b[31m")
    captured = capsys.readouterr()
    events = [json.loads(line) for line in captured.err.splitlines()]
    assert captured.out == ""
    assert [event["event"] for event in events] == [
        "sweep-started",
        "spent",
        "cell-started",
        "cell-ended",
        "cell-cancelled",
        "heartbeat",
        "sweep-ended",
        "note",
    ]
    assert (events[3]["task"], events[3]["resolved"], events[3]["cost_usd_micros"]) == ("t-1", True, 20_000)
    assert (events[6]["done"], events[6]["spent_usd_micros"], events[6]["rest_usd_micros"]) == (1, 20_005, 20_005)
    assert "\x1b" not in captured.err


def test_totals_of_money_are_unknown_as_soon_as_one_figure_is() -> None:
    tally = Tally(2)
    assert (tally.rest_s, tally.rest_micros) == (None, None)
    tally.take(GOOD)
    assert tally.text().startswith("1 of 2 done, 1 resolved, 0 failed, 0.0200 USD spent, about 0 s, 0.0200 USD to go")
    tally.take(BAD)
    assert tally.text() == "2 of 2 done, 1 resolved, 1 failed, cost unknown"
    assert tally.value()["spent_usd_micros"] is None


def test_a_download_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_a_terminal(monkeypatch)
    download = _Download(quiet=False)
    download.told(InstallProgress("note", "failed: the hub", 0, 10))
    for done in (1, 10):
        download.told(InstallProgress("bytes", "weights", done * 10**6, 10**7))
    download.close()
    assert "failed: the hub" in terminal.getvalue()
    assert "downloading" in terminal.getvalue()
