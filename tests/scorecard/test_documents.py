"""What the documents say of scorecards, and who may read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.compare.figures import METRICS as COMPARED
from evolve.scorecard.metrics import FLAG_SAYS, METRICS, WHY_SAYS, Flag, Why
from evolve.scorecard.words import WINDOW
from tests.propose.diagnostics.test_columns import DECIDES, reached_from

REPORTS = Path(__file__).parents[2] / "docs/reports.md"


def rows_below(header: str) -> list[str]:
    text = REPORTS.read_text(encoding="utf-8")
    assert text.count(header) == 1
    return text.split(header)[1].split("\n\n")[0].strip().split("\n")[1:]


def test_the_tables_of_scorecards_are_the_true_ones() -> None:
    metrics = [f"| `{one.name}` | {one.unit} | {one.kind} | {one.says} |" for one in METRICS.values()]
    assert rows_below("| metric | unit | kind | what it says |") == metrics
    assert rows_below("| incomplete | because |") == [f"| `{flag}` | {FLAG_SAYS[flag]} |" for flag in Flag]
    assert rows_below("| null | because |") == [f"| `{why}` | {WHY_SAYS[why]} |" for why in Why]
    assert f"over windows of {WINDOW} words" in REPORTS.read_text(encoding="utf-8")


def test_each_metric_of_a_comparison_is_one_of_a_card() -> None:
    assert COMPARED.keys() <= METRICS.keys()


@pytest.mark.parametrize("module", DECIDES)
def test_nothing_that_decides_can_see_a_scorecard(module: str) -> None:
    assert [name for name in reached_from(module) if name.startswith("evolve.scorecard")] == []


def test_the_command_can_see_one() -> None:
    assert "evolve.scorecard.read" in reached_from("evolve.cli.scorecard")
