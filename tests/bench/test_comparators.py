"""Comparators beside the pair: declared, measured in the same sweep, shown, and deciding nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from evolve.records.base import read_jsonl
from evolve.records.row import Row
from tests.bench.test_runner import OVERLAY, sweep_of, write_overlay
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, follow_the_skill, git, raising

EXAMPLES = "You give the number back. Be clear.\n\n## Examples\n\n101 gives <101>.\n"


def declare(workspace: Path, **fields: object) -> None:
    path = workspace / "evolve.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **fields}))


def hand_made(workspace: Path, name: str, text: str) -> str:
    folder = workspace / "rivals" / name / "skills/bracket"
    folder.mkdir(parents=True)
    head = (workspace / "skills/bracket/SKILL.md").read_text().partition("\n\n")[0]
    (folder / "SKILL.md").write_text(f"{head}\n\n{text}\n")
    return f"rivals/{name}"


def systems(model: ScriptedModel) -> set[str | None]:
    return {next((m.content for m in r.messages if m.role == "system"), None) for r in model.requests}


def test_comparators_are_measured_beside_the_pair_shown_and_decide_nothing(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    declare(workspace, rivals=["no-skill"], arms={"wordy": {"overlay": hand_made(workspace, "wordy", EXAMPLES)}})
    git(workspace, "add", "--all")
    git(workspace, "commit", "--quiet", "--message", "Declare rivals")
    overlay = write_overlay(workspace)
    plan = evolve("benchmark", overlay, "--plan", "--json", "--with", "brief", "--with", "wordy").json()
    assert [arm["name"] for arm in plan["plan"]["arms"]] == ["incumbent", "candidate", "no-skill", "brief", "wordy"]
    ran = evolve("benchmark", overlay, "--json", "--with", "brief", "--with", "wordy")
    assert ran.json()["decision"]["outcome"] == "promote", ran.err
    folder = workspace / ran.json()["evidence"]
    rows = list(read_jsonl(Row, folder / "rows.jsonl"))
    resolved = {arm: sum(row.resolved for row in rows if row.arm == arm) for arm in {row.arm for row in rows}}
    assert resolved == {"incumbent": 0, "candidate": 24, "no-skill": 0, "brief": 0, "wordy": 24}
    assert systems(model) >= {None, "Be brief."}
    promotion = json.loads((folder / "promotion.json").read_bytes())
    by_name = {arm["name"]: arm for arm in promotion["arms"]}
    assert by_name["no-skill"]["skills"] == {}
    assert by_name["no-skill"]["agent"] is None
    assert by_name["brief"]["agent"]["append"] == "Be brief."
    assert [test["task"] for test in promotion["decision"]["tasks"]] == sorted({row.identity.task for row in rows})
    assert evolve("promote", OVERLAY).code == 0
    audited = evolve("audit", "--all", "-v")
    assert audited.code == 0, audited.out
    report = evolve("report", str(folder)).out
    assert "| no-skill | 0/24 |" in report
    assert "Comparators are shown and decide nothing." in report


def test_a_sweep_with_comparators_is_resumed_with_them(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    overlay = write_overlay(workspace)
    model.before = raising(KeyboardInterrupt(), [40])
    assert evolve("benchmark", overlay, "--with", "brief").code == 130
    model.before = lambda call: None
    ran = evolve("resume", "--json")
    assert ran.code == 0, ran.err
    assert ran.json()["decision"]["outcome"] == "promote"
    rows = list(read_jsonl(Row, sweep_of(workspace) / "rows.jsonl"))
    assert len(rows) == 72
    assert {row.arm for row in rows} == {"incumbent", "candidate", "brief"}


def test_rows_of_comparators_are_reused(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    overlay = write_overlay(workspace)
    evolve("benchmark", overlay, "--with", "brief")
    (workspace / OVERLAY / "skills/bracket/SKILL.md").write_text(
        (workspace / OVERLAY / "skills/bracket/SKILL.md").read_text() + "\nMore.\n"
    )
    plan = evolve("benchmark", overlay, "--with", "brief", "--plan", "--json").json()["plan"]
    actions = {(cell["arm"], cell["action"]) for cell in plan["cells"]}
    assert actions == {
        ("incumbent", "reuse"),
        ("incumbent", "canary"),
        ("brief", "reuse"),
        ("brief", "canary"),
        ("candidate", "fresh"),
    }


def test_another_look_at_one_overlay_is_said(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    overlay = write_overlay(workspace)
    assert evolve("benchmark", overlay).code == 0
    ran = evolve("benchmark", overlay, "--with", "brief")
    assert "this overlay was decided on before, in sealed-bracket-" in ran.err
    assert "this is another look" in ran.err
    entries = [json.loads(line) for line in (workspace / "promotion/ledger.jsonl").read_text().splitlines()]
    assert [(entry["entry"], entry["look"]) for entry in entries] == [
        ("look", 1),
        ("decision", 1),
        ("look", 2),
        ("decision", 2),
    ]


@pytest.mark.parametrize(
    ("arms", "name", "said"),
    [
        ({}, "nobody", "no arm named 'nobody'"),
        ({}, "plan-work", "arm plan-work: phases: an agent of the adapter chat has no such setting"),
        ({"x": {"temperature": 0.7}}, "x", "arm x: it differs in nothing from the incumbent"),
        ({"x": {"skills": ["gone"]}}, "x", "arms.x.skills: no skill named 'gone'"),
        ({"x": {"overlay": "rivals/gone"}}, "x", "rivals/gone: no such overlay"),
    ],
)
def test_an_arm_that_cannot_be_made_is_refused_before_anything_is_spent(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, arms: object, name: str, said: str
) -> None:
    declare(workspace, arms=arms)
    ran = evolve("benchmark", write_overlay(workspace), "--with", name)
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert not model.requests
    assert not (workspace / "promotion/ledger.jsonl").exists()


def test_a_skill_beside_the_one_under_test_is_installed_in_every_arm(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    other = workspace / "skills/other"
    other.mkdir()
    (other / "SKILL.md").write_text("---\nname: other\ndescription: Does other things.\n---\n\nSomething else.\n")
    path = workspace / "evolve.yaml"
    value = yaml.safe_load(path.read_text())
    value["agent"]["skills"] = ["{skill}", "other"]
    path.write_text(yaml.safe_dump(value))
    git(workspace, "add", "--all")
    git(workspace, "commit", "--quiet", "--message", "Another skill beside it")
    overlay = write_overlay(workspace)
    ran = evolve("benchmark", overlay, "--json", "--with", "no-skill")
    assert ran.json()["decision"]["outcome"] == "promote", ran.err
    assert all("Something else." in (system or "Something else.") for system in systems(model))
    promotion = json.loads((workspace / ran.json()["evidence"] / "promotion.json").read_bytes())
    assert [sorted(arm["skills"]) for arm in promotion["arms"]] == [["bracket", "other"], ["bracket", "other"], []]
    assert evolve("promote", OVERLAY).code == 0
    assert evolve("audit", "--all").code == 0


def test_arms_are_measured_beside_one_another_on_train_tasks(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    declare(workspace, arms={"wordy": {"overlay": hand_made(workspace, "wordy", EXAMPLES)}})
    ran = evolve("measure", "incumbent", "wordy", "no-skill", "--skill", "bracket", "--runs", "2", "--json")
    assert ran.code == 0, ran.err
    arms = ran.json()["arms"]
    assert {name: (arm["resolved"], arm["cells"]) for name, arm in arms.items()} == {
        "incumbent": (0, 6),
        "wordy": (6, 6),
        "no-skill": (0, 6),
    }
    assert arms["incumbent"]["kinds"] == {"verify-failed": 6}
    calls = len(model.requests)
    text = evolve("measure", "incumbent", "wordy", "no-skill", "--skill", "bracket", "--runs", "2").out
    assert len(model.requests) == calls, "asking twice pays once"
    assert "wordy" in text and "6/6" in text
    assert "3 tasks x 2 runs; tokens and turns are medians a cell" in text
    assert "tell nothing apart" not in text, "wordy differs on every task"
    alike = evolve("measure", "incumbent", "no-skill", "--skill", "bracket", "--runs", "2")
    assert "every arm fails, so that they tell nothing apart: bracket-train-0" in alike.out
    assert "resolved without these tasks: incumbent 0/0, no-skill 0/0" in alike.out
    assert not (workspace / "promotion/ledger.jsonl").exists()
    calls = len(model.requests)
    plan = evolve("measure", "--skill", "bracket", "--split", "selection", "--plan").out
    assert "3 cells: 3 fresh" in plan
    assert len(model.requests) == calls


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("measure",), "Missing option '--skill'"),
        (("measure", "--skill", "nobody"), "no skill named 'nobody'"),
        (("measure", "candidate", "--skill", "bracket"), "no arm named 'candidate'"),
        (("measure", "--skill", "bracket", "--split", "sealed"), "'sealed' is not one of"),
        (("measure", "--skill", "bracket", "--max-usd", "1"), "nobody can say what a cell"),
    ],
)
def test_what_cannot_be_measured_is_a_usage_error(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, words: tuple[str, ...], said: str
) -> None:
    ran = evolve(*words)
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert not model.requests


def test_arms_that_could_not_be_measured_are_no_success(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    from evolve.models.base import ModelFault

    model.before = raising(ModelFault("the server is down"))
    assert evolve("measure", "--skill", "bracket").code == 1


def test_a_rival_that_differs_in_nothing_for_a_skill_is_left_out_and_said(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    file = workspace / "skills/bracket/SKILL.md"
    file.write_text(file.read_text().replace("You give the number back. Be clear.", "Give numbers back."))
    declare(workspace, rivals=["compressed", "no-skill"])
    git(workspace, "commit", "--quiet", "--all", "--message", "Be terse")
    ran = evolve("benchmark", write_overlay(workspace), "--plan", "--json")
    assert "arm compressed: nothing of skills/bracket can be spared; it is left out" in ran.err
    assert [arm["name"] for arm in ran.json()["plan"]["arms"]] == ["incumbent", "candidate", "no-skill"]
    asked = evolve("benchmark", OVERLAY, "--with", "compressed", "--plan")
    assert (asked.code, "nothing of skills/bracket can be spared" in asked.err) == (2, True)


def test_a_generation_measures_the_rivals_of_its_finalist_and_refuses_broken_ones_before_it_pays(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    declare(workspace, rivals=["no-skill", "wordy"], arms={"wordy": {"overlay": "rivals/gone"}})
    git(workspace, "commit", "--quiet", "--all", "--message", "Rivals")
    ran = evolve("generation", "--operator", "demonstrate")
    assert (ran.code, "rivals/gone: no such overlay" in ran.err) == (2, True)
    assert not model.requests
    declare(workspace, rivals=["no-skill"])
    git(workspace, "commit", "--quiet", "--all", "--message", "One rival")
    ran = evolve("generation", "--operator", "demonstrate", "--json")
    assert ran.code == 0, ran.err
    evidence = json.loads((workspace / ran.json()["evidence"] / "promotion.json").read_bytes())
    assert [arm["name"] for arm in evidence["arms"]] == ["incumbent", "candidate", "no-skill"]


def command_checks(workspace: Path) -> None:
    for oracle in workspace.glob("corpus/*/oracle/oracle.yaml"):
        check = '  - {id: ran, kind: command, argv: ["{python}", "-c", "pass"], rule: Reply with the number.}\n'
        oracle.write_text(oracle.read_text() + check)
    git(workspace, "commit", "--quiet", "--all", "--message", "Run something")


@pytest.mark.parametrize("again", [("benchmark", OVERLAY), ("resume",)])
def test_rows_of_the_bare_host_never_pass_for_contained_ones(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, again: tuple[str, ...]
) -> None:
    command_checks(workspace)
    write_overlay(workspace)
    model.before = raising(KeyboardInterrupt(), [9])
    assert evolve("benchmark", OVERLAY).code == 130
    model.before = lambda call: None
    ran = evolve(*again, "--unsafe-host", "--json")
    for sweep in (workspace / "results/sweeps").glob("sealed-*"):
        kinds = {row.identity.sandbox for row in read_jsonl(Row, sweep / "rows.jsonl")}
        assert len(kinds) <= 1, "contained rows and others are never in one sweep"
    if again[0] == "benchmark":
        assert ran.code == 0, ran.err
        assert "host" in ran.err
        assert evolve("promote", OVERLAY).code == 1
    else:
        assert "left as it is" in ran.err


def test_every_text_of_the_skill_that_is_seen_counts_as_a_look(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    arms = {f"try-{n}": {"overlay": hand_made(workspace, f"try-{n}", f"{EXAMPLES}{n}")} for n in range(1)}
    declare(workspace, arms=arms)
    write_overlay(workspace)
    words = [word for name in arms for word in ("--with", name)]
    ran = evolve("benchmark", OVERLAY, *words, "--with", "no-skill", "--json")
    assert ran.code == 0, ran.err
    entries = [json.loads(line) for line in (workspace / "promotion/ledger.jsonl").read_text().splitlines()]
    assert (entries[0]["entry"], entries[0]["texts"], entries[0]["look"]) == ("look", 2, 2)
    assert evolve("audit", "--all").code == 0
    model.answer = lambda system, user, seed: "x"
    (workspace / OVERLAY / "skills/bracket/SKILL.md").write_text(
        (workspace / OVERLAY / "skills/bracket/SKILL.md").read_text() + "\nMore.\n"
    )
    assert "look 3" in evolve("benchmark", OVERLAY).err


def test_a_comparator_that_fails_alone_stops_nobody(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    from evolve.models.base import ModelFault

    def fails(system: str, user: str, seed: int) -> str:
        if "Be brief." in system:
            raise ModelFault("the brief one is down")
        return follow_the_skill(system, user, seed)

    model.answer = fails
    ran = evolve("benchmark", write_overlay(workspace), "--with", "brief", "--json")
    assert ran.json()["decision"]["outcome"] == "promote"
    assert ran.code == 1, "an arm that could not be measured is said"
    assert "the arm brief could not be measured" in ran.err


def test_arms_that_differ_in_nothing_that_counts_are_refused(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    declare(workspace, arms={"one": {"append": "Be brief."}, "two": {"append": "Be brief."}})
    ran = evolve("measure", "one", "two", "--skill", "bracket")
    assert (ran.code, "arms one and two differ in nothing that counts" in ran.err) == (2, True)
