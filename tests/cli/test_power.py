"""``evolve power``, and the warning before a look that can hardly prove anything."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evolve.gate import planning
from evolve.gate.planning import Spread, approximate_power, least_tasks
from evolve.stats.multiplicity import alpha_at
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, make_workspace

ALPHA = alpha_at(1, 0.05)


def overlay(root: Path, text: str = "\nUse angle brackets.\n", name: str = "mine") -> str:
    folder = root / f"overlays/{name}/skills/bracket"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text((root / "skills/bracket/SKILL.md").read_text() + text)
    return f"overlays/{name}"


def set_policy(root: Path, text: str) -> None:
    (root / "promotion/policy.yaml").write_text(f"schema: evolve/policy@1\ncache: cold\n{text}\n")


def only(evolve: CommandLine, *arguments: str) -> dict[str, Any]:
    ran = evolve("power", *arguments, "--json")
    assert ran.code == 0, ran.out
    (skill,) = ran.json()["skills"]
    assert isinstance(skill, dict)
    return skill


def test_without_rows_everything_is_said_to_be_assumed(workspace: Path, evolve: CommandLine) -> None:
    ran = evolve("power")
    assert ran.code == 0
    assert "bracket: 8 sealed tasks, level 0.0304 one-sided, that the ledger grants look 1" in ran.out
    assert "50.0 % (assumed)" in ran.out
    assert "rows: none of this text of the skill is at hand" in ran.out
    assert "a cell, medians of rows: unknown (n 0)" in ran.out
    assert re.search(r"^8 +3 +\+\d+\.\d +48 +unknown +unknown$", ran.out, re.MULTILINE)
    assert re.search(r"^8 +1 \* ", ran.out, re.MULTILINE)
    assert "min_runs 3" in ran.out
    assert "simulated power" in ran.out and "Wilson" in ran.out
    assert "a win on each of 8 tasks gives p = 0.00391; level 0.0304 needs at least 6 tasks" in ran.out
    assert "after 2 more looks" in ran.out


def test_the_numbers_are_those_of_the_approximation(workspace: Path, evolve: CommandLine) -> None:
    found = only(evolve, "bracket")
    assert (found["look"], found["alpha"], found["sealed_tasks"]) == (1, ALPHA, 8)
    assert [one["runs"] for one in found["detectable"]] == [1, 2, 3, 5, 10]
    assert [one["cells"] for one in found["detectable"]] == [16, 32, 48, 80, 160]
    assert found["detectable"][0]["effect"] is None
    for one in found["detectable"][1:]:
        power = approximate_power(Spread(), one["effect"], 8, one["runs"], ALPHA)
        assert power == pytest.approx(0.8, abs=1e-6)
    assert found["approximate_power"] == approximate_power(Spread(), 0.25, 8, 3, ALPHA)
    simulated = found["simulated_power"]
    assert (simulated["draws"], simulated["tasks"], simulated["runs"]) == (400, 8, 3)
    assert found["designs"] is None
    assert (found["least_tasks"], found["last_look_that_can_prove"]) == (least_tasks(ALPHA), 2)


def test_the_incumbents_rows_are_what_is_gone_by(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    evolve("measure", "--skill", "bracket", "--runs", "2")
    found = only(evolve)
    assert (found["spread"]["rate"], found["spread"]["rate_from"]) == (0, "measured")
    assert (found["spread"]["tasks"], found["spread"]["runs"]) == (3, 6)
    assert found["spread"]["variance_from"] == "assumed"
    assert found["cell"]["session_ms"]["n"] == 6
    assert found["cell"]["cost_usd_micros"] == {"median": None, "n": 0}
    took = found["cell"]["session_ms"]["median"]
    assert found["detectable"][0]["seconds"] == pytest.approx(took / 1000 * 16)
    assert found["detectable"][0]["cost_usd_micros"] is None
    text = evolve("power").out
    assert "0.0 % (measured: 6 runs of 3 tasks, all alike, so that there is no interval)" in text
    assert f"rows: 6 of 3 tasks, in {found['sweeps'][0]}" in text


def test_rates_that_differ_have_an_interval(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    model.answer = lambda system, user, seed: "<101>"
    evolve("measure", "--skill", "bracket", "--runs", "2")
    found = only(evolve)
    assert found["spread"]["rate"] == pytest.approx(1 / 3)
    assert found["spread"]["variance_from"] == "measured"
    assert "33.3 % (measured: 6 runs of 3 tasks, 95 % interval over tasks 0.0 to 100.0 %)" in evolve("power").out


def test_the_next_look_is_granted_less(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    evolve("benchmark", overlay(workspace))
    found = only(evolve)
    assert (found["look"], found["alpha"]) == (2, alpha_at(2, 0.05))
    assert found["alpha_given"] is False


def test_an_effect_gets_sweeps_that_are_seen_to_be_enough(workspace: Path, evolve: CommandLine) -> None:
    found = only(evolve, "--effect", "40", "--runs", "3", "--runs", "5", "--runs", "1")
    assert [one["runs"] for one in found["designs"]] == [3, 5]
    for one in found["designs"]:
        assert one["cells"] == 2 * one["tasks"] * one["runs"] <= 600
        assert one["power"] == approximate_power(Spread(), 0.4, one["tasks"], one["runs"], ALPHA) >= 0.8
        seen = one["simulated"]
        assert (seen["tasks"], seen["runs"], seen["draws"], seen["alpha"]) == (one["tasks"], one["runs"], 200, ALPHA)
        assert one["enough"] is True and seen["power"] >= 0.8
    text = evolve("power", "--effect", "40", "--runs", "3").out
    assert "sweeps that are seen to prove +40 points with power 0.8 at this level, cheapest first:" in text
    one, seen = found["designs"][0], found["designs"][0]["simulated"]
    told = f"{seen['power']:.2f} ({seen['low']:.2f} to {seen['high']:.2f})"
    (row,) = (line for line in text.splitlines() if told in line)
    cells = [str(one["tasks"]), "3", f"{one['power']:.2f}", told, str(one["cells"]), "unknown", "unknown"]
    assert re.split("  +", row) == cells
    assert "not enough" not in text


def test_a_sweep_that_is_not_enough_is_said_not_to_be(workspace: Path, evolve: CommandLine) -> None:
    arguments = ("--effect", "15", "--runs", "3")
    (one,) = only(evolve, *arguments)["designs"]
    assert one["enough"] is False and one["simulated"]["power"] < 0.8 and one["cells"] <= 600
    text = evolve("power", *arguments).out
    assert re.search(rf"^{one['tasks']} +3 .* to .*\) not enough +{one['cells']} ", text, re.MULTILINE)
    assert "not enough: more tasks are also more that may get worse" in text


def test_no_sweep_is_tried_that_is_too_large_or_that_the_policy_does_not_decide_on(
    workspace: Path, evolve: CommandLine
) -> None:
    assert "no sweep of at most 600 cells proves +0.0001 points" in evolve("power", "--effect", "0.0001").out
    assert only(evolve, "--effect", "0.0001")["designs"] == []
    assert only(evolve, "--effect", "7", "--runs", "3")["designs"] == []
    assert [one["runs"] for one in only(evolve, "--effect", "45", "--runs", "1")["designs"]] == [3]


def test_what_is_the_same_for_two_skills_is_searched_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine
) -> None:
    asked: list[float] = []

    def search(spread: Spread, effect: float, *more: Any, **limits: Any) -> tuple[()]:
        asked.append(effect)
        return ()

    monkeypatch.setattr(planning, "sufficient_designs", search)
    monkeypatch.chdir(make_workspace(tmp_path / "two", skills=("bracket", "wall")))
    found = evolve("power", "--effect", "40", "--json").json()["skills"]
    assert ([one["designs"] for one in found], asked) == ([[], []], [0.4])
    asked.clear()
    assert evolve("power", "--rate", "0.5", "--rate-candidate", "0.9").code == 0
    assert asked == [pytest.approx(0.4)]


def test_given_rates_stand_in_for_rows(workspace: Path, evolve: CommandLine) -> None:
    found = only(evolve, "--rate", "0.6")
    assert (found["spread"]["rate"], found["spread"]["rate_from"]) == (0.6, "given")
    assert found["spread"]["within"] == pytest.approx(0.24)
    assert (found["spread"]["between"], found["spread"]["variance_from"]) == (pytest.approx(1 / 36), "assumed")
    other = only(evolve, "--rate", "0.6", "--between", "0.02", "--rate-candidate", "0.8")
    assert (other["spread"]["between"], other["spread"]["variance_from"]) == (0.02, "given")
    assert other["effect"] == pytest.approx(0.2)
    assert other["designs"]
    assert "of a run within a task 0.24 (Bernoulli)" in evolve("power", "--rate", "0.6").out


def test_tasks_level_and_power_can_be_given(workspace: Path, evolve: CommandLine) -> None:
    found = only(evolve, "--tasks", "5", "--tasks", "30", "--runs", "3", "--alpha", "0.01", "--power", "0.9")
    assert [(one["tasks"], one["effect"] is None) for one in found["detectable"]] == [(5, True), (30, False)]
    assert (found["alpha"], found["alpha_given"]) == (0.01, True)
    power = approximate_power(Spread(), found["detectable"][1]["effect"], 30, 3, 0.01)
    assert power == pytest.approx(0.9, abs=1e-6)
    assert "none: too few tasks" in evolve("power", "--tasks", "5").out
    assert "given by --alpha" in evolve("power", "--alpha", "0.01").out


def test_where_there_is_no_room_it_is_said(workspace: Path, evolve: CommandLine) -> None:
    ran = evolve("power", "--rate", "0.9")
    assert ran.code == 0
    assert "at most +10.0 points are left to gain" in ran.out
    assert "more than +10.0" in ran.out
    assert only(evolve, "--rate", "0.9")["simulated_power"] is None
    assert evolve("power", "--rate", "1").code == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--rate", "nan"), "--rate"),
        (("--rate", "1.5"), "--rate"),
        (("--effect", "0"), "--effect"),
        (("--alpha", "1"), "--alpha"),
        (("--power", "0"), "--power"),
        (("--runs", "0"), "--runs"),
        (("--tasks", "0"), "--tasks"),
        (("--effect", "20", "--rate-candidate", "0.9"), "--rate-candidate"),
        (("--between", "0.1"), "--rate"),
        (("--rate", "0.9", "--effect", "20"), "--effect 20"),
        (("--rate", "0.9", "--rate-candidate", "0.9"), "--rate-candidate 0.9"),
        (("unknown",), "unknown"),
    ],
)
def test_what_makes_no_sense_is_named(
    workspace: Path, evolve: CommandLine, arguments: tuple[str, ...], named: str
) -> None:
    ran = evolve("power", *arguments)
    assert ran.code == 2
    assert named in ran.err and "try: " in ran.err


def test_a_policy_on_costs_is_not_planned_for(workspace: Path, evolve: CommandLine) -> None:
    set_policy(workspace, "metric: cost_usd")
    ran = evolve("power")
    assert ran.code == 2
    assert "cost_usd" in ran.err and "evolve ledger" in ran.err


def test_a_skill_without_a_sealed_task_cannot_be_planned_for(workspace: Path, evolve: CommandLine) -> None:
    for path in workspace.glob("corpus/bracket-sealed-*/task.yaml"):
        path.write_text(path.read_text().replace("split: sealed", "split: train"))
    assert "bracket has no sealed task" in evolve("power", "bracket").err
    ran = evolve("power")
    assert ran.code == 2
    assert "no skill has a sealed task" in ran.err


def test_every_skill_with_sealed_tasks_is_planned_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine
) -> None:
    monkeypatch.chdir(make_workspace(tmp_path / "two", skills=("bracket", "wall")))
    found = evolve("power", "--json").json()["skills"]
    assert [one["skill"] for one in found] == ["bracket", "wall"]
    assert only(evolve, "wall")["skill"] == "wall"


def test_a_policy_without_a_test_says_so(workspace: Path, evolve: CommandLine) -> None:
    set_policy(workspace, "preset: thresholds")
    assert "asks for no test" in evolve("power").out


def test_what_comes_on_top_is_said(workspace: Path, evolve: CommandLine) -> None:
    assert "on top" not in evolve("power").out
    set_policy(workspace, "control: true")
    assert "on top" in evolve("power").out


def test_a_broken_sweep_is_left_out_and_said(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    evolve("measure", "--skill", "bracket")
    plan = next(workspace.glob("results/sweeps/*/plan.json"))
    plan.write_text("{")
    assert f"left out, as they cannot be read: {plan.parent.name}" in evolve("power").out


def test_rows_of_an_earlier_text_are_left_out_and_said(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("measure", "--skill", "bracket")
    skill = workspace / "skills/bracket/SKILL.md"
    skill.write_text(skill.read_text() + "\nMore.\n")
    assert "left out: 3 rows of earlier texts" in evolve("power").out


def test_a_weak_look_is_warned_of_before_it_is_paid_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    path = overlay(workspace)
    warning = "this look can hardly prove even +25 points: power 0.38 with 8 tasks x 3 runs at level 0.0304"
    planned = evolve("benchmark", path, "--plan")
    assert warning in planned.err and warning not in planned.out
    ran = evolve("benchmark", path)
    assert ran.code == 0
    assert ran.err.index(warning) < ran.err.index("bracket-sealed-01")
    assert "evolve power bracket shows what would" in ran.err
    for again in (("benchmark", path), ("benchmark", path, "--plan")):
        assert "hardly prove" not in evolve(*again).err
    other = evolve("benchmark", overlay(workspace, "\nBe quick.\n", "other"), "--plan")
    assert "at level 0.0076" in other.err


def test_the_warning_is_an_event_for_programs(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    ran = evolve("benchmark", overlay(workspace), "--plan", "--json")
    events = [json.loads(line) for line in ran.err.splitlines()]
    assert any("hardly prove" in str(event) for event in events)
    assert ran.json()["totals"]["cells"] == 48


def test_a_generation_warns_before_anything_is_measured(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    ran = evolve("generation", "--skill", "bracket")
    assert ran.code == 0
    assert ran.err.index("bracket: this look can hardly prove") < ran.err.index("bracket-train-01")


def test_a_strong_look_is_not_warned_of(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    set_policy(workspace, "alpha: 0.3")
    assert "hardly prove" not in evolve("benchmark", overlay(workspace), "--plan").err
