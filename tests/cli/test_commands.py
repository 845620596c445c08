from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from evolve import doctor
from evolve.errors import EnvironmentFault
from evolve.models.base import ModelFault
from evolve.records.schemas import FORMATS
from evolve.sandbox import choose
from evolve.sandbox.choose import Uncontainable
from tests.builders import skill_text, write_files
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, git, raising, write_skill


def test_init_makes_a_workspace_that_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine
) -> None:
    git(tmp_path, "init", "--quiet")
    monkeypatch.chdir(tmp_path)
    ran = evolve("init")
    assert ran.code == 0
    assert "next: evolve check" in ran.out
    checked = evolve("check", "--json").json()
    assert checked["faults"] == []
    assert checked["skills"] == {"date-format": {"train": 1, "selection": 1, "sealed": 1}}
    assert "cannot prove a gain" in evolve("check").out


def test_init_twice_overwrites_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine) -> None:
    git(tmp_path, "init", "--quiet")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evolve.yaml").write_text("# mine\n")
    assert "kept     evolve.yaml" in evolve("init").out
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and ".git" not in path.parts}
    ran = evolve("init")
    assert ran.code == 0
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and ".git" not in path.parts}
    assert before == after
    assert (tmp_path / "evolve.yaml").read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("texts", "roots", "left_out"),
    [
        (("Same.", "Same."), ".claude/skills, .agents/skills", []),
        (("Same.", "Other."), ".claude/skills", [".agents/skills"]),
        (("Same.", None), ".claude/skills", []),
    ],
)
def test_init_mirrors_a_skill_that_stands_in_several_roots(
    tmp_path: Path, evolve: CommandLine, texts: tuple[str, str | None], roots: str, left_out: list[str]
) -> None:
    git(tmp_path, "init", "--quiet")
    for root, body in zip((".claude/skills", ".agents/skills"), texts, strict=True):
        if body is not None:
            write_files(tmp_path, {f"{root}/greeter/SKILL.md": skill_text("greeter", body=body)})
        else:
            (tmp_path / ".agents").mkdir()
            (tmp_path / root).symlink_to("../.claude/skills")
    ran = evolve("init", str(tmp_path), "--json")
    assert (ran.code, ran.json()["left_out"]) == (0, left_out), ran.err
    assert f"skill_roots: [{roots}]\n" in (tmp_path / "evolve.yaml").read_text()


@pytest.mark.parametrize("root", ["skills", ".claude/skills", ".agents/skills"])
def test_init_finds_the_skills_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine, root: str
) -> None:
    git(tmp_path, "init", "--quiet")
    write_skill(tmp_path, "mine", "Do as I say.")
    if root != "skills":
        (tmp_path / root).parent.mkdir(parents=True)
        (tmp_path / "skills").rename(tmp_path / root)
    monkeypatch.chdir(tmp_path)
    ran = evolve("init")
    assert "rewrite them for mine" in ran.out
    assert f"skill_roots: [{root}]" in (tmp_path / "evolve.yaml").read_text()
    assert evolve("check").code == 0
    assert evolve("init", "--skill", "other").code == 2


def test_init_outside_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine) -> None:
    monkeypatch.chdir(tmp_path)
    ran = evolve("init")
    assert ran.code == 2
    assert "git init" in ran.err
    assert list(tmp_path.iterdir()) == []
    assert evolve("init", "nowhere").code == 2


def test_check_names_what_is_broken(workspace: Path, evolve: CommandLine) -> None:
    good = workspace / "corpus/bracket-train-01/reference/good/answer.md"
    good.write_text("101\n")
    ran = evolve("check")
    assert ran.code == 2
    assert "FAULT  bracket-train-01: the good reference fails oracle: value" in ran.out


def test_a_broken_instrument_stops_everything_before_a_call(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    (workspace / "corpus/bracket-sealed-02/reference/bad/answer.md").write_text("<302>\n")
    ran = evolve("generation")
    assert ran.code == 2
    assert "bracket-sealed-02: the bad reference passes every check" in ran.err
    assert not model.requests


def test_instruments_that_were_good_are_not_tested_again(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    first = evolve("benchmark", _overlay(workspace), "--plan")
    assert "tested the instruments: 14 tasks" in first.err
    second = evolve("benchmark", "overlays/mine", "--plan")
    assert "tested the instruments" not in second.err


def _overlay(root: Path, extra: str = "\nUse angle brackets.\n") -> str:
    folder = root / "overlays/mine/skills/bracket"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text((root / "skills/bracket/SKILL.md").read_text() + extra)
    return "overlays/mine"


def test_propose_prints_the_overlay_and_benchmark_needs_nothing_else(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    ran = evolve("propose")
    assert ran.code == 0
    path = ran.out.strip()
    assert path.startswith("overlays/bracket-lesson-demonstrate-")
    assert "worked_examples" in (workspace / path / "overlay.yaml").read_text()
    measured = evolve("benchmark", path)
    assert measured.code == 0
    assert f"next: evolve promote {path}" in measured.out
    assert evolve("promote", path).code == 0


def test_a_hand_made_skill_takes_the_same_road(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    mine = workspace / "mine.md"
    mine.write_text((workspace / "skills/bracket/SKILL.md").read_text() + "\nUse angle brackets.\n")
    ran = evolve("propose", "--operator", "manual", "--skill", "bracket", "--from", str(mine), "--json")
    path = ran.json()[0]["overlay"]
    assert "operator: manual" in (workspace / path / "overlay.yaml").read_text()
    assert evolve("benchmark", path).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("--operator", "manual"),
        ("--operator", "manual", "--from", "evolve.yaml"),
        ("--from", "evolve.yaml"),
        ("--skill", "unknown"),
        ("--operator", "unknown"),
    ],
)
def test_propose_refuses_what_makes_no_sense(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, arguments: tuple[str, ...]
) -> None:
    ran = evolve("propose", *arguments)
    assert ran.code == 2
    assert not model.requests
    assert not (workspace / "overlays").exists()


def test_an_operator_without_a_proposal_says_why(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    model.answer = lambda system, user, seed: f"<{user.split()[-1]}>"
    ran = evolve("propose", "--operator", "lesson", "--operator", "reflect", "--operator", "demonstrate")
    assert ran.code == 2
    assert "no proposal from reflect: no train task failed" in ran.err


def test_a_reflecting_model_that_fails_is_told(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    model.before = raising(ModelFault("gone"), range(4, 1000))
    ran = evolve("propose", "--operator", "reflect")
    assert ran.code == 2
    assert "no proposal from reflect: the model failed: gone" in ran.err


def test_a_reflection_becomes_an_overlay(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    def answer(system: str, user: str, seed: int) -> str:
        if "improve instruction texts" in system:
            return "```\nGive the number back in angle brackets.\n\n1. Reply with the number only.\n```"
        return "no"

    model.answer = answer
    path = evolve("propose", "--operator", "reflect", "--json").json()[0]["overlay"]
    text = (workspace / path / "skills/bracket/SKILL.md").read_text()
    assert "Give the number back in angle brackets." in text
    assert "```" not in text
    assert text.startswith("---\nname: bracket\n")


def test_gate_decides_again_under_another_policy(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    evolve("benchmark", _overlay(workspace, "\n## Examples\n"))
    sweep = next((workspace / "results/sweeps").glob("sealed-*")).name
    evidence = next((workspace / "promotion/bracket").iterdir())
    assert evolve("gate", sweep, "--json").json()["outcome"] == "promote"
    assert evolve("gate", str(evidence), "--json").json()["outcome"] == "promote"
    (workspace / "strict.yaml").write_text("schema: evolve/policy@1\nmin_runs: 4\n")
    for measured in (sweep, str(evidence)):
        ran = evolve("gate", measured, "--policy", "strict.yaml")
        assert ran.code == 0
        assert "decision: insufficient evidence" in ran.out
        assert "3 runs a task and arm, the policy asks for 4" in ran.out
    assert evolve("gate", "nothing").code == 2
    baseline = "baseline-x"
    (workspace / "results/sweeps" / baseline).mkdir()
    assert evolve("gate", baseline).code == 2


def test_gate_refuses_a_sweep_that_decides_nothing(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    evolve("propose", "--operator", "demonstrate")
    sweep = next((workspace / "results/sweeps").glob("baseline-*")).name
    ran = evolve("gate", sweep)
    assert ran.code == 2
    assert "only sealed ones decide" in ran.err


def test_reports_of_everything(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    assert evolve("report").code == 2
    assert evolve("generation", "--apply").code == 0
    generation = evolve("report").out
    assert "# Generation g0001" in generation
    assert "| demonstrate | +33 | 5/5 | 6/6 | finalist |" in generation
    assert "+## Examples" in generation
    assert generation == evolve("report", "g0001").out
    assert (workspace / "results/generations/g0001/report.md").read_text() == generation
    sweep = next((workspace / "results/sweeps").glob("sealed-*")).name
    assert "| **all** | **0/24** | **24/24** |" in evolve("report", sweep).out
    assert "Not diagnosed: no cell has a transcript" in evolve("report", sweep).out
    shown = evolve("report", sweep, "--json").json()
    assert shown["schema"] == "evolve/plan@1"
    assert [(arm["diagnosed"], arm["mean_counts"]) for arm in shown["diagnostics"]] == [(0, None), (0, None)]
    evidence = next((workspace / "promotion/bracket").iterdir())
    promotion = evolve("report", str(evidence)).out
    assert "+100.0 percentage points" in promotion
    assert "- Unsigned: nobody vouches for these rows." in promotion
    shown = evolve("report", str(evidence), "--json").json()
    assert shown["schema"] == "evolve/promotion@1"
    assert shown["signed"] == {"trusted": [], "others": [], "said": ["unsigned: nobody vouches for these rows"]}
    evolve("report", "--output", "out.md")
    assert (workspace / "out.md").read_text() == generation


def test_hostile_text_is_inert_in_reports(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    _overlay(workspace, "\n## Examples\n\n````\n<script>alert(1)</script> ``` ::set-output::\n````\n")
    evolve("benchmark", "overlays/mine")
    text = evolve("report", str(next((workspace / "promotion/bracket").iterdir()))).out
    assert "`````diff" in text


def test_control_characters_in_an_overlay_are_refused(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    for character in ("\x1b", "\x00", "\u202e"):
        ran = evolve("benchmark", _overlay(workspace, f"\nred {character}[31m\n"))
        assert ran.code == 2
        assert "skills/bracket/SKILL.md" in ran.err
    assert not model.requests


def test_resume_without_anything_unfinished(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    ran = evolve("resume")
    assert ran.code == 0
    assert "nothing is unfinished" in ran.out
    assert evolve("resume", "g0009").code == 2


def test_resume_of_what_is_finished_shows_it(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    evolve("generation", "--apply")
    calls = len(model.requests)
    assert "commit: " in evolve("resume", "g0001").out
    assert len(model.requests) == calls


def test_resume_of_a_train_sweep(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    model.before = raising(KeyboardInterrupt(), [2])
    assert evolve("propose", "--operator", "demonstrate").code == 130
    ran = evolve("resume")
    assert ran.code == 0
    assert ": finished\n" in ran.out
    assert "bracket  0/3 " in ran.out
    assert " tasks x 1 runs" in ran.out


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("skills/bracket/SKILL.md", "Be clear.", "Be very clear."),
        ("corpus/bracket-sealed-01/task.yaml", "Please return", "Kindly return"),
    ],
)
def test_a_sweep_of_something_that_changed_is_not_resumed(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, path: str, old: str, new: str
) -> None:
    model.before = raising(KeyboardInterrupt(), [2])
    assert evolve("benchmark", _overlay(workspace)).code == 130
    file = workspace / path
    file.write_text(file.read_text().replace(old, new))
    ran = evolve("resume")
    assert (ran.code, ran.out) == (0, "nothing that is unfinished can be resumed\n")
    assert "left as it is: sealed-bracket-" in ran.err
    assert "since it was planned" in ran.err
    sweep = next((workspace / "results/sweeps").glob("sealed-*")).name
    named = evolve("resume", sweep)
    assert (named.code, "since it was planned" in named.err) == (2, True)


def test_a_train_sweep_of_something_that_changed_is_not_resumed(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(KeyboardInterrupt(), [2])
    assert evolve("propose", "--operator", "demonstrate").code == 130
    model.name = "another"
    assert "the agent or its model is not what it was" in evolve("resume").err
    model.name = "scripted"
    file = workspace / "corpus/bracket-train-01/task.yaml"
    file.write_text(file.read_text().replace("Please return", "Kindly return"))
    assert "task bracket-train-01 is not what it was" in evolve("resume").err


def test_schemas_are_printed(evolve: CommandLine) -> None:
    assert evolve("schema").out.split() == list(FORMATS)
    for name in FORMATS:
        schema = json.loads(evolve("schema", name).out)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"evolve/{name}@1"


def test_doctor_says_what_is_missing_and_how_to_mend_it(
    workspace: Path, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = evolve("doctor")
    assert ran.code == 0, ran.out
    assert "ok    model served: scripted at http://127.0.0.1:9/v1; no key needed" in ran.out
    settings = workspace / "evolve.yaml"
    settings.write_text(settings.read_text().replace("model: scripted}", "model: scripted, key_env: NO_SUCH_KEY}"))
    ran = evolve("doctor")
    assert ran.code == 1
    assert "FAIL  model served" in ran.out
    assert "try: export NO_SUCH_KEY=..." in ran.out
    settings.write_text(settings.read_text().replace("model: served", "model: nowhere"))
    assert "agent.model: no model named 'nowhere' below models: served" in evolve("doctor").out
    assert evolve("check").code == 2


def test_doctor_outside_a_workspace_and_without_containment(
    tmp_path: Path, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doctor, "choose_sandbox", lambda: Uncontainable("no bubblewrap"))
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)  # type: ignore[attr-defined]
    ran = evolve("doctor", "--json")
    assert ran.code == 1
    found = {item["what"]: item for item in ran.json()}
    assert not found["containment"]["fine"]
    assert not found["git"]["fine"]
    assert not found["workspace"]["fine"]


def test_doctor_looks_at_local_weights(workspace: Path, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = workspace / "evolve.yaml"
    text = settings.read_text()
    start, end = text.index("{kind"), text.index("}") + 1
    settings.write_text(text[:start] + "{kind: local, weights: tiny.gguf}" + text[end:])
    ran = evolve("doctor")
    assert ran.code == 1
    assert "FAIL  model served" in ran.out
    (workspace / "tiny.gguf").write_bytes(b"GGUF")
    assert "ok    model served: tiny.gguf: installed" in evolve("doctor").out


def test_without_containment_nothing_is_run_unless_it_is_asked_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = workspace / "corpus/bracket-train-01/oracle/oracle.yaml"
    check = '  - {id: ran, kind: command, argv: ["{python}", "-c", "pass"], rule: Reply with the number.}\n'
    oracle.write_text(oracle.read_text() + check)
    monkeypatch.setattr(choose, "_contained", lambda: Uncontainable("bubblewrap is not installed"))
    overlay = _overlay(workspace)
    refused = (("benchmark", overlay, "--plan"), ("check",), ("rehearse",), ("propose", "--operator", "lesson"))
    for command in refused:
        ran = evolve(*command)
        assert ran.code == 1, command
        assert "cannot be contained here: bubblewrap is not installed" in ran.err
        assert "apt install bubblewrap; or --unsafe-host" in ran.err
    ran = evolve("benchmark", overlay, "--plan", "--unsafe-host")
    assert (ran.code, "WARNING: --unsafe-host: model-written code runs WITHOUT" in ran.err) == (0, True)
    assert evolve("rehearse", "--unsafe-host").code == 0
    ran = evolve("generation", "--apply", "--unsafe-host")
    assert (ran.code, "never promoted; leave out --apply" in ran.err) == (2, True)
    monkeypatch.setenv("CI", "true")
    for words in (("benchmark", overlay), ("check",), ("rehearse",), ("generation",)):
        ran = evolve(*words, "--unsafe-host")
        assert (ran.code, "refused where CI is set" in ran.err) == (2, True)
    assert not model.requests


def test_models_are_listed_and_a_wrong_name_is_refused(
    evolve: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVOLVE_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("EVOLVE_MODEL_PATH", raising=False)
    listed = evolve("models", "list")
    assert "qwen2.5-coder-0.5b-instruct  491 MB" in listed.out
    assert "not installed" in listed.out
    assert [entry["path"] for entry in evolve("models", "list", "--json").json()] == [None, None]
    assert evolve("models", "install", "nonsense").code == 2
    assert evolve("models", "verify").code == 1


def test_models_are_installed_and_the_progress_is_said(
    evolve: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from evolve.models import weights
    from evolve.models.weights import InstallProgress

    def install(name: str, *, progress: object = None) -> Path:
        assert callable(progress)
        progress(InstallProgress("note", "failed: the hub", 0, 100))
        for done in (0, 5, 50, 100):
            progress(InstallProgress("bytes", name, done * 10**6, 100 * 10**6))
        return tmp_path / "w.gguf"

    monkeypatch.setattr(weights, "install", install)
    ran = evolve("models", "install")
    assert "failed: the hub" in ran.err
    assert "50 of 100 MB" in ran.err
    assert evolve("models", "install", "--json").json()["path"].endswith("w.gguf")


def test_a_missing_model_is_said_before_anything_is_measured(
    workspace: Path, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evolve.cli import bench_opening

    def missing(*_: object) -> None:
        raise EnvironmentFault("the weights are not installed", hint="evolve models install x")

    monkeypatch.setattr(bench_opening, "build_model", missing)
    ran = evolve("generation")
    assert ran.code == 1
    assert "evolve models install x" in ran.err
    assert not (workspace / "results/generations").exists()


def test_a_generation_refuses_an_unknown_skill_before_it_makes_a_folder(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    ran = evolve("generation", "--skill", "nope")
    assert ran.code == 2
    assert "skills here: bracket" in ran.err
    assert not (workspace / "results").exists()
    assert evolve("generation", "--branch", "x").code == 2
    assert evolve("generation", "--apply", "--branch", "a..b").code == 2


def test_a_skill_without_a_split_is_refused(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    write_skill(workspace, "lonely", "Do it.")
    ran = evolve("generation", "--skill", "lonely")
    assert ran.code == 2
    assert "no train task for lonely" in ran.err
    for path in (workspace / "corpus").glob("bracket-selection-*"):
        git(workspace, "rm", "-r", "--quiet", str(path))
    ran = evolve("generation", "--skill", "bracket")
    assert ran.code == 2
    assert "has no selection task" in ran.err
    for path in (workspace / "corpus").glob("bracket-sealed-*"):
        git(workspace, "rm", "-r", "--quiet", str(path))
    ran = evolve("benchmark", _overlay(workspace))
    assert ran.code == 2
    assert "has no sealed task" in ran.err
