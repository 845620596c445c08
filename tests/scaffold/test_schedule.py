"""Weekly jobs: their structure, their budget, and what they may touch."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import evolve
from evolve.cli.main import cli
from evolve.errors import InputError
from evolve.promote.keys import KEY_FILE_VARIABLE, KEY_VARIABLE
from evolve.records.base import parse_yaml
from evolve.records.workspace import WorkspaceSpec
from evolve.scaffold.schedule import DAYS, Kind, Schedule, job_text, key_names
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel

SPEC = parse_yaml(
    WorkspaceSpec,
    """\
schema: evolve/workspace@1
models:
  served: {kind: openai-compatible, base_url: "https://example.org/v1", model: m, key_env: SERVED_KEY}
agent:
  adapter: claude-code
  model: claude-sonnet-5-5
  binary: claude
  version: 2.1.332
  upstream: {base_url: "https://api.anthropic.com", key_env: ANTHROPIC_API_KEY}
proposer: {model: served}
""",
    "evolve.yaml",
)
KEYLESS = SPEC.model_copy(
    update={"models": {}, "agent": SPEC.agent.model_copy(update={"upstream": None})},
)
ROOT = Path("/srv/my work")


def job(kind: Kind, root: Path = ROOT, spec: WorkspaceSpec = SPEC, **schedule: Any) -> str:
    return job_text(kind, Schedule(**schedule), spec, root)


def workflow(**schedule: Any) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(job("github", **schedule))
    return found


def steps(**schedule: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = workflow(**schedule)["jobs"]["generation"]["steps"]
    return found


def test_the_workflow_has_least_permissions_one_at_a_time_and_a_time_limit() -> None:
    found = workflow(max_usd=20, wall_minutes=60)
    assert found["permissions"] == {}
    assert found["concurrency"] == {"group": "evolve", "cancel-in-progress": False}
    assert found[True] == {"schedule": [{"cron": "17 3 * * 1"}], "workflow_dispatch": None}
    generation = found["jobs"]["generation"]
    assert generation["permissions"] == {"contents": "write", "pull-requests": "write"}
    assert generation["timeout-minutes"] == 90
    checkout = next(step for step in generation["steps"] if step.get("uses", "").startswith("actions/checkout@"))
    assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}


def test_keys_are_where_the_generation_runs_and_the_token_where_the_branch_is_pushed() -> None:
    with_env = {step["name"]: step["env"] for step in steps() if "env" in step}
    assert with_env == {
        "Run a generation": {
            "ANTHROPIC_API_KEY": "${{ secrets.ANTHROPIC_API_KEY }}",
            "SERVED_KEY": "${{ secrets.SERVED_KEY }}",
            "EVOLVE_SIGNING_KEY_PEM": "${{ secrets.EVOLVE_SIGNING_KEY_PEM }}",
        },
        "Open a pull request": {
            "GH_TOKEN": "${{ github.token }}",
            "BASE": "${{ github.event.repository.default_branch }}",
        },
    }
    keyless = yaml.safe_load(job("github", spec=KEYLESS))
    found = {step["name"]: set(step["env"]) for step in keyless["jobs"]["generation"]["steps"] if "env" in step}
    assert found == {"Run a generation": {"EVOLVE_SIGNING_KEY_PEM"}, "Open a pull request": {"GH_TOKEN", "BASE"}}


def test_the_machine_is_looked_at_where_the_keys_are_as_one_that_is_missing_is_a_fault() -> None:
    looked = [step["name"] for step in steps() if "evolve doctor" in step.get("run", "")]
    assert looked == ["Run a generation"]


def test_local_timers_say_where_the_key_goes_that_signs_and_do_without() -> None:
    systemd = job("systemd")
    assert "\n#Environment=EVOLVE_SIGNING_KEY=%h/.config/evolve-signing.pem\n" in systemd
    lines = job("cron").splitlines()
    assert len([line for line in lines if not line.startswith("#")]) == 1
    assert "EVOLVE_SIGNING_KEY=" in lines[1]


def test_the_keys_of_a_file_reach_the_program_that_cron_starts(tmp_path: Path) -> None:
    """The file is the one that systemd reads too: NAME=value, nothing exported."""
    (tmp_path / ".config/evolve").mkdir(parents=True)
    (tmp_path / ".config/evolve/keys").write_text("SERVED_KEY=of-the-file\n")
    line = job("cron", root=tmp_path).splitlines()[-1].split(" ", 5)[5]
    command = re.sub(r"&& \S*evolve generation.*", "&& env", line)
    ran = subprocess.run(["sh", "-c", command], env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert "SERVED_KEY=of-the-file" in ran.stdout


@pytest.mark.parametrize("name", [KEY_FILE_VARIABLE, KEY_VARIABLE])
def test_a_secret_that_is_missing_means_unsigned_evidence_and_no_failure(
    workspace: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine, name: str
) -> None:
    """An empty variable is what a workflow makes of a secret that is not there."""
    monkeypatch.setenv(name, "")
    assert "ok    signing key: none; evidence is written unsigned" in evolve("doctor").out
    assert evolve("propose", "--operator", "demonstrate").code == 0
    assert evolve("benchmark", f"overlays/{next((workspace / 'overlays').iterdir()).name}").code == 0
    assert "unsigned: nobody vouches for these rows" in evolve("audit", "--all").out


def test_nothing_is_merged_and_no_expression_stands_in_a_script() -> None:
    scripts = [step["run"] for step in steps() if "run" in step]
    assert not any("merge" in script for script in scripts)
    assert not any("${{" in script for script in scripts)
    assert "gh pr create" in scripts[-1]
    assert "--body-file" in scripts[-1]
    kept = next(step for step in steps() if step.get("uses", "").startswith("actions/upload-artifact@"))
    assert kept["if"] == "always()"
    assert kept["with"]["path"] == "results/generations\nresults/sweeps\n"


def commands_in(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in re.findall(r"(?:^|\s|/)(evolve (?!is).*?)(?: >>.*)?$", text, re.MULTILINE)]


@pytest.mark.parametrize("kind", ["github", "systemd", "cron"])
def test_every_command_of_evolve_in_it_is_one_that_there_is(kind: Kind) -> None:
    text = job(kind, max_usd=12.5, skill="my-skill", branch="evolve/mine")
    called = [words for words in commands_in(text) if words[1] in ("generation", "check", "doctor", "audit")]
    assert any(words[1] == "generation" for words in called)
    for words in called:
        command = cli.get_command(None, words[1])  # type: ignore[arg-type]
        assert command is not None
        command.make_parser(command.context_class(command)).parse_args(words[2:])
    generation = next(words for words in called if words[1] == "generation")
    expected = "--apply --branch evolve/mine --skill my-skill --max-usd 12.5 --max-wall 18000 --stop-when-decided"
    assert " ".join(generation[2:]) == expected


@pytest.mark.parametrize("step", [step["name"] for step in steps() if "run" in step])
def test_every_script_is_one_that_a_shell_reads(step: str) -> None:
    script = next(found["run"] for found in steps() if found.get("name") == step)
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="NOT TESTED: actionlint is not installed")
def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    path = tmp_path / ".github/workflows/evolve.yml"
    path.parent.mkdir(parents=True)
    path.write_text(job("github", max_usd=20))
    ran = subprocess.run(["actionlint", str(path)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "")


@pytest.mark.parametrize(("day", "number"), [(day, number) for number, day in enumerate(DAYS)])
def test_the_day_is_the_one_that_was_asked_for(day: str, number: int) -> None:
    assert workflow(day=day, hour=23, minute=5)[True]["schedule"] == [{"cron": f"5 23 * * {number}"}]
    assert f"OnCalendar={day} *-*-* 23:05:00" in job("systemd", day=day, hour=23, minute=5)
    assert f"\n5 23 * * {number} cd " in job("cron", day=day, hour=23, minute=5)


def test_folders_with_odd_names_are_quoted() -> None:
    odd = Path("/srv/50% of 'it'")
    line = job("cron", root=odd).splitlines()[-1]
    assert shlex.split(line.replace(r"\%", "%"))[6] == str(odd)
    assert "WorkingDirectory=/srv/50%% of 'it'" in job("systemd", root=odd)
    with pytest.raises(InputError):
        job("cron", root=Path("/srv/a\nb"))


@pytest.mark.parametrize("branch", ["", "-x", "a b", "a;b", "$(x)", "a..b", "a/", "a.lock", "é"])
def test_a_branch_that_is_none_is_refused(branch: str) -> None:
    with pytest.raises(InputError, match="--branch"):
        job("github", branch=branch)


def test_keys_are_found_wherever_they_are_named() -> None:
    value = {"a": [{"key_env": "ONE"}], "b": {"c": {"key_env": "TWO"}}, "key_env": None}
    assert sorted(key_names(value)) == ["ONE", "TWO"]


def test_it_is_printed_for_a_workspace(workspace: Path, evolve: CommandLine) -> None:
    ran = evolve("schedule", "print", "github", "--max-usd", "5", "--skill", "bracket")
    assert ran.code == 0
    assert "--skill bracket --max-usd 5 " in ran.out
    assert yaml.safe_load(ran.out)["name"] == "evolve"
    assert evolve("schedule", "print", "cron", "--json").json()["kind"] == "cron"
    assert evolve("schedule", "print", "cron", "--skill", "nothing").code == 2
    assert evolve("schedule", "print", "launchd").code == 2
    assert evolve("schedule", "print", "github", "--max-usd", "0").code == 2


def test_the_version_that_is_installed_is_the_one_that_wrote_it() -> None:
    assert f"pip install 'evolve-skills[local]=={evolve.__version__}'" in job("github")
