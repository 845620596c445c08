from __future__ import annotations

import io
import sys
from datetime import UTC, datetime

import pytest

from evolve.cli.models import _Download
from evolve.cli.progress import BarProgress, LineProgress, SilentProgress, progress_for
from evolve.models.weights import InstallProgress
from evolve.records.kinds import ErrorKind, Role
from evolve.records.plan import Plan
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
    agent={},
    arms=(),
    cells=(),
)
GOOD = make_row("t-1", 0, role=Role.CANDIDATE, resolved=True)
VOID = make_row("t-2", 0, role=Role.CANDIDATE, resolved=False).model_copy(
    update={"kind": ErrorKind.SESSION_ERROR, "detail": "[red]\x1b[31mdown"}
)


def test_a_terminal_gets_a_bar_and_void_cells_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_a_terminal(monkeypatch)
    progress = progress_for(as_json=False)
    assert isinstance(progress, BarProgress)
    progress.note("before")
    progress.cell_ended(GOOD)
    progress.sweep_started(PLAN, 2)
    progress.cell_ended(GOOD)
    progress.cell_ended(VOID)
    progress.note("a note [bold]")
    progress.sweep_ended()
    progress.sweep_ended()
    text = terminal.getvalue()
    assert "before" in text
    assert "1/2" in text
    assert "1 resolved" in text
    assert "void: t-2 (candidate): session-error: [red][31mdown" in text
    assert "a note [bold]" in text


def test_elsewhere_there_are_plain_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    progress = progress_for(as_json=False)
    assert isinstance(progress, LineProgress)
    progress.sweep_started(PLAN, 3)
    progress.cell_ended(VOID)
    monkeypatch.setattr(progress, "_spoke", -1000.0)
    progress.cell_ended(GOOD)
    progress.sweep_ended()
    progress.note("done")
    assert capsys.readouterr().err.splitlines() == [
        "candidate against incumbent on sealed: 3 cells to measure (sealed-s-1)",
        "  void: t-2 (candidate): session-error: [red][31mdown",
        "  2 of 3 measured, 1 resolved",
        "  2 measured, 1 resolved",
        "done",
    ]


def test_a_program_gets_notes_on_standard_error_alone(capsys: pytest.CaptureFixture[str]) -> None:
    progress = progress_for(as_json=True)
    assert isinstance(progress, SilentProgress)
    progress.sweep_started(PLAN, 3)
    progress.cell_ended(GOOD)
    progress.sweep_ended()
    progress.note("a note")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "a note\n")


def test_a_download_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_a_terminal(monkeypatch)
    download = _Download(quiet=False)
    download.told(InstallProgress("note", "failed: the hub", 0, 10))
    for done in (1, 10):
        download.told(InstallProgress("bytes", "weights", done * 10**6, 10**7))
    download.close()
    assert "failed: the hub" in terminal.getvalue()
    assert "downloading" in terminal.getvalue()
