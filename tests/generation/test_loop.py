from __future__ import annotations

import json
from pathlib import Path

import pytest

from evolve.records.base import read_json
from evolve.records.generation import Generation
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, git, make_workspace, write_skill


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
    assert git(workspace, "rev-parse", "HEAD^") == before
    assert "## Examples" in (workspace / "skills/bracket/SKILL.md").read_text()
    assert git(workspace, "status", "--porcelain") == ""
    assert record.commit == git(workspace, "rev-parse", "HEAD")
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
    def lucky_in_screening(system: str, user: str, seed: int) -> str:
        number = user.split()[-1]
        return f"<{number}>" if "## Examples" in system and int(number) < 300 else "no"

    model.answer = lucky_in_screening
    ran = evolve("generation", "--apply")
    assert ran.code == 0
    assert newest(workspace).outcome == "keep_incumbent"
    assert "no  exact sign-flip test" in ran.out
    assert git(workspace, "log", "-1", "--format=%s").startswith("Record look 1")
    assert "## Examples" not in (workspace / "skills/bracket/SKILL.md").read_text()
    assert evolve("audit", "--all").code == 0
    assert git(workspace, "status", "--porcelain") == ""


@pytest.mark.parametrize("stop", [1, 2, 4, 7, 12, 20, 31, 45, 60])
def test_an_interrupted_generation_resumes_to_the_same_decision_and_pays_no_cell_twice(
    tmp_path: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    undisturbed = make_workspace(tmp_path / "undisturbed")
    monkeypatch.chdir(undisturbed)
    assert evolve("generation", "--apply").code == 0
    calls, wanted = len(model.requests), newest(undisturbed)

    def interrupt(call: int) -> None:
        if call == stop:
            raise KeyboardInterrupt

    model.requests.clear()
    model.before = interrupt
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
    def interrupt(call: int) -> None:
        if call == 8:
            raise KeyboardInterrupt

    model.before = interrupt
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
    assert ran.code == 0
    assert newest(workspace).outcome == "insufficient_evidence"
    assert "cannot prove a gain" in ran.out
    assert not (workspace / "promotion/ledger.jsonl").exists()


def test_an_uncommitted_skill_is_not_applied_to(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    write_skill(workspace, "bracket", "You give the number back. Be brief.")
    ran = evolve("generation", "--apply")
    assert ran.code == 2
    assert "skills/bracket/SKILL.md: not what HEAD holds" in ran.err
    assert len(model.requests) == 3
    assert evolve("generation").code == 0


def test_evidence_that_was_not_committed_goes_with_the_next_commit(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger names every look, so a clone must hold the evidence of each."""

    def lucky_in_screening(system: str, user: str, seed: int) -> str:
        number = user.split()[-1]
        return f"<{number}>" if "## Examples" in system and int(number) < 300 else "no"

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
