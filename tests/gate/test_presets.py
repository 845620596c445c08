"""The two presets, and what text that is resident in every call costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.test_runner import OVERLAY
from tests.conftest import CommandLine
from tests.gate.made import INSUFFICIENT, KEEP, PROMOTE, Task, codes, costs, counts, decided
from tests.worlds import ScriptedModel, git


def test_thresholds_ask_for_runs_size_and_regression_alone() -> None:
    table = [counts(1, 3)] * 2 + [counts(2, 2)] * 2
    assert decided(table, preset="thresholds").outcome is PROMOTE
    assert decided(table).outcome is INSUFFICIENT
    assert codes(decided(table)).keys() == {"too-few-tasks"}
    assert set(codes(decided(table, preset="thresholds"))) == {"improvement"}


def test_a_task_that_is_lost_stands_against_it_whatever_it_may_lose_where_proof_is_asked() -> None:
    table = [counts(0, 3)] * 11 + [counts(3, 0)]
    assert "task-lost" in codes(decided(table, max_task_regression_pct=100))
    assert decided(table, max_task_regression_pct=100, preset="thresholds").outcome is PROMOTE


def test_the_figures_of_both_presets_are_the_same() -> None:
    table: list[Task] = [counts(1, 3)] * 8
    proven, points = decided(table), decided(table, preset="thresholds")
    assert (proven.estimates, proven.test, proven.tasks) == (points.estimates, points.test, points.tasks)


@pytest.mark.parametrize("preset", ["proven", "thresholds"])
def test_a_cost_that_breaks_a_tie_decides_at_its_own_size(preset: str) -> None:
    cheaper = [costs([100] * 3, [80] * 3)] * 8
    tied = decided(cheaper, preset=preset, tie_break="cost_usd")
    assert tied.outcome is PROMOTE
    assert "quality-tied" in codes(tied)
    assert tied.estimates[0].value == pytest.approx(-20)
    assert decided(cheaper, preset=preset).outcome is KEEP
    assert decided(cheaper, preset=preset, tie_break="cost_usd", min_improvement_pct=21).outcome is KEEP
    untied = decided([*cheaper, counts(3, 2)], preset=preset, tie_break="cost_usd", max_task_regression_pct=50)
    assert untied.outcome is KEEP
    unmeasured = decided([*cheaper, costs([100, 100, None], [80] * 3)], preset=preset, tie_break="cost_usd")
    assert unmeasured.outcome is KEEP


def test_text_that_is_resident_in_every_call_is_refused_by_its_input(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    policy = workspace / "promotion/policy.yaml"
    policy.write_text(policy.read_text() + "metric: input_tokens\nmin_improvement_pct: 0\n")
    git(workspace, "commit", "--quiet", "--all", "--message", "Decide by input")
    model.answer = lambda system, user, seed: f"<{user.split()[-1]}>"
    skill = workspace / "skills/bracket/SKILL.md"

    def outcome(name: str, text: str) -> dict[str, object]:
        folder = workspace / f"{OVERLAY}-{name}/skills/bracket"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text)
        ran = evolve("benchmark", f"{OVERLAY}-{name}", "--json")
        found: dict[str, object] = json.loads(ran.out)["decision"]
        return found

    longer = outcome("longer", skill.read_text() + "\nPlease note that brevity is a virtue.\n" * 20)
    assert longer["outcome"] == "keep_incumbent"
    assert longer["estimates"][0]["value"] > 0  # type: ignore[index]
    shorter = outcome("shorter", skill.read_text().replace("You give the number back. Be clear.", "Give it."))
    assert shorter["estimates"][0]["value"] < 0  # type: ignore[index]
    assert shorter["outcome"] == "promote"
