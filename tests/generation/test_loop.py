from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from evolve.files import writer_lock
from evolve.models.base import ModelFault, ModelTimeout
from evolve.records.base import read_json
from evolve.records.generation import Generation
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, git, lucky_in_screening, make_workspace, raising, write_skill


def newest(root: Path) -> Generation:
    return read_json(Generation, max((root / "results/generations").glob("g*/generation.json")))


def test_a_real_gain_is_promoted_with_its_evidence(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    before = git(workspace, "rev-parse", "HEAD")
    ran = evolve("generation", "--apply", "--branch", "evolve/weekly")
    assert ran.code == 0, ran.err
    record = newest(workspace)
    assert record.outcome == "promote"
    assert record.skill == "bracket"
    assert git(workspace, "branch", "--show-current") == "evolve/weekly"
    assert git(workspace, "rev-parse", "HEAD^^") == before
    assert record.notes_commit == git(workspace, "rev-parse", "HEAD")
    assert "## Examples" in (workspace / "skills/bracket/SKILL.md").read_text()
    assert git(workspace, "status", "--porcelain") == ""
    assert record.commit == git(workspace, "rev-parse", "HEAD^")
    assert (workspace / "results/generations/g0001/report.md").exists()
    assert "report: results/generations/g0001/report.md" in ran.out
    assert evolve("audit", "--all").code == 0


def test_a_second_generation_reuses_rows_pays_canaries_and_promotes_nothing(
    tmp_path: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_workspace(tmp_path / "two", skills=("bracket", "wall"))
    monkeypatch.chdir(root)
    assert evolve("generation", "--skill", "bracket", "--apply").code == 0
    assert newest(root).outcome == "promote"
    assert evolve("generation").code == 0
    first_calls = len(model.requests)
    ran = evolve("generation", "--apply")
    assert ran.code == 0
    record = newest(root)
    assert record.outcome == "keep_incumbent"
    assert "Nothing better was found" in record.summary
    assert "Nothing better was found" in ran.out
    plan = json.loads((root / "results/sweeps" / record.sweeps[0] / "plan.json").read_bytes())
    actions = {arm: [c["action"] for c in plan["cells"] if c["arm"] == arm] for arm in ("bracket", "wall")}
    assert sorted(actions["wall"]) == ["canary", "reuse", "reuse"]
    assert sorted(actions["bracket"]) == ["canary", "reuse", "reuse"]
    assert len(model.requests) > first_calls
    assert git(root, "status", "--porcelain") == ""


def test_without_apply_nothing_is_committed_and_the_next_command_is_told(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    head = git(workspace, "rev-parse", "HEAD")
    ran = evolve("generation")
    assert ran.code == 0
    assert git(workspace, "rev-parse", "HEAD") == head
    assert "## Examples" not in (workspace / "skills/bracket/SKILL.md").read_text()
    record = newest(workspace)
    assert f"next: evolve promote {record.evidence}" in ran.out
    assert evolve("promote", str(record.evidence)).code == 0
    assert "## Examples" in (workspace / "skills/bracket/SKILL.md").read_text()


def test_the_proposers_see_no_selection_and_no_sealed_task(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("generation", "--operator", "reflect")
    reflections = [r for r in model.requests if "improve instruction texts" in r.messages[0].content]
    assert reflections
    text = "\n".join(message.content for request in reflections for message in request.messages)
    assert "Please return the number 101" in text
    assert not any(str(number) in text for number in [*range(201, 204), *range(301, 309)])


def test_a_skill_that_resolves_everything_needs_nothing(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.answer = lambda system, user, seed: f"<{user.split()[-1]}>"
    ran = evolve("generation")
    assert ran.code == 0
    assert newest(workspace).outcome == "keep_incumbent"
    assert "resolves every train task" in ran.out


def test_a_finalist_that_fails_on_sealed_tasks_is_recorded_and_not_promoted(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.answer = lucky_in_screening
    ran = evolve("generation", "--apply")
    assert ran.code == 0
    assert newest(workspace).outcome == "keep_incumbent"
    assert "no  exact sign-flip test" in ran.out
    assert git(workspace, "log", "-1", "--format=%s", "HEAD^").startswith("Record look 1")
    assert "## Examples" not in (workspace / "skills/bracket/SKILL.md").read_text()
    assert evolve("audit", "--all").code == 0
    assert git(workspace, "status", "--porcelain") == ""


@pytest.mark.parametrize("stop", [1, 5, 12, 20, 45])
def test_an_interrupted_generation_resumes_to_the_same_decision_and_pays_no_cell_twice(
    tmp_path: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    undisturbed = make_workspace(tmp_path / "undisturbed")
    monkeypatch.chdir(undisturbed)
    assert evolve("generation", "--apply").code == 0
    calls, wanted = len(model.requests), newest(undisturbed)

    model.requests.clear()
    model.before = raising(KeyboardInterrupt(), [stop])
    root = make_workspace(tmp_path / "interrupted")
    monkeypatch.chdir(root)
    ran = evolve("generation", "--apply")
    assert ran.code == 130
    assert "evolve resume" in ran.err
    assert evolve("resume").code == 0
    record = newest(root)
    assert (record.outcome, record.finalist, record.proposals) == (
        wanted.outcome,
        wanted.finalist,
        tuple(p.model_copy(update={"overlay": p.overlay}) for p in wanted.proposals),
    )
    assert len(model.requests) == calls + 1
    assert evolve("audit", "--all").code == 0


def test_a_generation_of_another_text_is_not_resumed(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(KeyboardInterrupt(), [8])
    assert evolve("generation").code == 130
    write_skill(workspace, "bracket", "You give the number back. Be brief.")
    ran = evolve("resume")
    assert ran.code == 2
    assert "not the text that g0001 began with" in ran.err


def test_an_existing_branch_is_refused_before_anything_is_paid_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    git(workspace, "branch", "taken")
    ran = evolve("generation", "--apply", "--branch", "taken")
    assert ran.code == 2
    assert "git switch taken" in ran.err
    assert not model.requests


def test_too_few_sealed_tasks_end_without_a_look(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    for index in range(4, 9):
        git(workspace, "rm", "-r", "--quiet", f"corpus/bracket-sealed-{index:02d}")
    git(workspace, "commit", "--quiet", "--message", "Fewer sealed tasks")
    ran = evolve("generation")
    assert ran.code == 2
    assert "3 sealed tasks cannot prove a gain" in ran.err
    assert not model.requests, "nothing is paid for where nothing can be proven"
    assert not (workspace / "promotion/ledger.jsonl").exists()


def test_an_uncommitted_skill_is_not_applied_to(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    write_skill(workspace, "bracket", "You give the number back. Be brief.")
    ran = evolve("generation", "--apply")
    assert ran.code == 2
    assert "skills/bracket/SKILL.md: not what HEAD holds" in ran.err
    assert not model.requests
    assert evolve("generation").code == 0


def test_evidence_that_was_not_committed_goes_with_the_next_commit(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger names every look, so a clone must hold the evidence of each."""
    model.answer = lucky_in_screening
    assert evolve("generation").code == 0
    model.answer = ScriptedModel().answer
    assert evolve("generation", "--apply", "--operator", "lesson").code == 0
    clone = tmp_path / "clone"
    git(workspace, "clone", "--quiet", str(workspace), str(clone))
    monkeypatch.chdir(clone)
    ran = evolve("audit", "--all")
    assert ran.code == 0, ran.out
    assert (clone / "promotion/ledger.jsonl").read_text().count('"entry":"decision"') == 2


def test_a_policy_is_chosen_before_the_rows_are_seen(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    overlay = evolve("propose", "--operator", "lesson", "--json").json()[0]["overlay"]
    model.requests.clear()

    model.before = raising(KeyboardInterrupt(), [42])
    assert evolve("benchmark", overlay).code == 130
    (workspace / "promotion/policy.yaml").write_text("schema: evolve/policy@1\nmin_improvement_pct: 1\n")
    ran = evolve("resume")
    assert ran.code == 2
    assert "a policy is chosen before the rows are seen" in ran.err
    assert len(model.requests) == 42


def test_a_sweep_that_is_thrown_away_and_measured_again_is_another_look(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    overlay = evolve("propose", "--operator", "demonstrate", "--json").json()[0]["overlay"]
    model.requests.clear()

    model.before = raising(KeyboardInterrupt(), [42])
    assert evolve("benchmark", overlay).code == 130
    shutil.rmtree(workspace / "results")
    value = evolve("benchmark", overlay, "--json").json()
    assert value["decision"]["test"]["alpha"] == pytest.approx(0.05 * 6 / (3.14159265**2 * 4))
    assert evolve("audit", "--all").code == 0


def test_a_look_that_no_outcome_could_win_is_refused_before_it_is_paid_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    for index in range(6, 9):
        git(workspace, "rm", "-r", "--quiet", f"corpus/bracket-sealed-{index:02d}")
    overlay = evolve("propose", "--operator", "demonstrate", "--json").json()[0]["overlay"]
    calls = len(model.requests)
    ran = evolve("benchmark", overlay)
    assert ran.code == 2
    assert "5 sealed tasks cannot prove a gain" in ran.err
    plan = evolve("benchmark", overlay, "--plan").out
    assert "30 cells: 30 blocked" in plan
    assert "blocked  5 sealed tasks cannot prove a gain" in plan
    assert len(model.requests) == calls
    assert not (workspace / "promotion/ledger.jsonl").exists()


def test_two_generations_with_the_same_finalist_measure_it_once(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    assert evolve("generation").code == 0
    ran = evolve("generation")
    assert ran.code == 0
    assert "measured already" in ran.err
    assert (workspace / "promotion/ledger.jsonl").read_text().count('"entry":"look"') == 1


def test_a_given_up_generation_does_not_stand_in_the_way_of_an_older_one(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(KeyboardInterrupt(), (5, 14))
    for _ in range(2):
        assert evolve("generation").code == 130
    shutil.rmtree(workspace / "results/generations/g0002/overlays")
    calls = len(model.requests)
    ran = evolve("resume")
    assert ran.code == 2
    assert "g0002 is given up" in ran.err
    assert len(model.requests) == calls
    assert evolve("resume").code == 0
    assert newest(workspace).id == "g0002"
    assert "nothing is unfinished" in evolve("resume").out


def test_a_generation_that_is_refused_as_busy_leaves_no_folder(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    with writer_lock(workspace / "results/.locks/generation.lock", "it"):
        ran = evolve("generation")
    assert ran.code == 1
    assert f"pid {os.getpid()}" in ran.err
    assert not (workspace / "results/generations").exists()


def test_cells_that_all_run_out_of_time_say_nothing_about_a_skill(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(ModelTimeout("no reply within 20 s"))
    ran = evolve("generation")
    assert ran.code == 1
    assert "every train cell of bracket ran out of time" in ran.err
    assert "limits.wall_s" in ran.err


def test_an_outage_in_a_generation_names_the_generation(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(ModelFault("down"))
    ran = evolve("generation")
    assert ran.code == 1
    assert "evolve resume g0001" in ran.err


def test_a_skill_with_carriage_returns_can_be_improved(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    skill = workspace / "skills/bracket/SKILL.md"
    skill.write_bytes(skill.read_bytes().replace(b"\n", b"\r\n"))
    ran = evolve("generation")
    assert ran.code == 0
    assert "decision: promote" in ran.out
