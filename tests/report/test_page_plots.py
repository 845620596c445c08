"""Plots of a page: the same on every machine, in names of their own, and with a folder to keep fonts in."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib
import pytest

from evolve.report.page import plots
from evolve.report.page.plots import Bar, Panel, Threshold, dots_svg, effect_svg
from evolve.report.page.usage import QUANTITIES, Dots

PANEL = Panel(
    name="effect-1",
    unit="points",
    bars=(Bar("E1 <b> $x$ \u202e", 1.0, -1.0, 3.0, decides=True), Bar("E2", 2.0, None, None, decides=False)),
    thresholds=(Threshold("asked for: +5", 5.0), Threshold("may be lost: -10", -10.0)),
    title="Title & more",
    description="Description",
)
DOTS = Dots(QUANTITIES[0], (("task-1", 0.0, 0.0), ("task-2", 1.0, 2.0)), "caption")


def test_a_style_of_this_machine_changes_nothing() -> None:
    plain = effect_svg(PANEL), dots_svg(DOTS, "dots-1")
    with matplotlib.rc_context({"font.size": 30, "axes.grid": True, "svg.fonttype": "path", "text.color": "red"}):
        assert (effect_svg(PANEL), dots_svg(DOTS, "dots-1")) == plain


def test_text_stays_text_and_colours_are_variables() -> None:
    svg = effect_svg(PANEL)
    assert "E1 &lt;b&gt; $x$ \\u202e" in svg and "Title &amp; more" in svg
    assert not any(colour in svg for colour in plots.VARIABLES)
    assert {f"var(--{name})" for name in ("ink", "after", "limit", "muted")} <= {
        f"var(--{part.split(')')[0]})" for part in svg.split("var(--")[1:]
    }
    assert "<style" not in svg and "http" not in svg


def test_a_home_that_cannot_be_written_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLCONFIGDIR", "")
    monkeypatch.setattr(os, "access", lambda *_: False)
    plots._give_a_folder()
    folder = Path(os.environ["MPLCONFIGDIR"])
    assert folder.is_dir() and folder.name.startswith("evolve-matplotlib-")
    plots._give_a_folder()
    assert Path(os.environ["MPLCONFIGDIR"]) == folder
    folder.rmdir()


def test_a_folder_that_is_set_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: False)
    plots._give_a_folder()
    assert os.environ["MPLCONFIGDIR"] == str(tmp_path)
