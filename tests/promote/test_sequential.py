"""A sequential policy ends a sweep after the round that decides, from the sweep to the audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.promote.evidence import read_evidence
from tests.bench.test_runner import sweep_of, write_overlay
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, git

TASKS, RUNS = 8, 3


@pytest.fixture
def sequential(workspace: Path) -> Path:
    policy = workspace / "promotion/policy.yaml"
    policy.write_text(policy.read_text() + "sequential: true\n")
    git(workspace, "commit", "--quiet", "--all", "--message", "Decide by rounds")
    return workspace


def test_a_gain_that_the_first_round_proves_needs_no_other(
    sequential: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    overlay = write_overlay(sequential)
    ran = evolve("benchmark", overlay, "--json")
    decision = ran.json()["decision"]
    assert decision["outcome"] == "promote", ran.out
    assert decision["test"]["name"] == "exact group-sequential sign-flip test over tasks, round 1 of 3"
    folder = next((sequential / "promotion/bracket").iterdir())
    evidence = read_evidence(folder)
    assert len(evidence.rows) == 2 * TASKS
    assert evidence.promotion.stopped_early
    assert evidence.promotion.spend.saved_cells + evidence.promotion.spend.surplus_rows == 2 * TASKS * (RUNS - 1)
    assert "this round has 0.00781" in evolve("gate", sweep_of(sequential).name).out
    assert evolve("gate", sweep_of(sequential).name, "--json").json()["outcome"] == "promote"
    assert evolve("gate", folder.relative_to(sequential).as_posix(), "--json").json() == decision
    assert evolve("audit", "--all").code == 0
    assert evolve("promote", overlay).code == 0
    assert evolve("audit", "--all").code == 0


def test_what_gains_nothing_is_given_up_before_its_last_round(
    sequential: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    overlay = write_overlay(sequential)
    text = sequential / overlay / "skills/bracket/SKILL.md"
    text.write_text(text.read_text().replace("## Examples", "You are stubborn."))
    decision = evolve("benchmark", overlay, "--json").json()["decision"]
    assert decision["outcome"] == "keep_incumbent"
    rows = read_evidence(next((sequential / "promotion/bracket").iterdir())).rows
    assert len(rows) < 2 * TASKS * RUNS
    assert evolve("audit", "--all").code == 0
