from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from evolve.cli import main as main_module
from evolve.cli.main import COMMANDS, cli, main
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel

HEAVY = ("scipy", "numpy", "git", "jinja2", "rich", "pydantic", "httpx", "yaml", "xllamacpp")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str, evolve: CommandLine) -> None:
    ran = evolve(name, "--help")
    assert ran.code == 0
    assert "Example: evolve" in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_in_the_list_is_the_commands_own(name: str) -> None:
    command = importlib.import_module(f"evolve.cli.{COMMANDS[name][0]}").command
    assert command.short_help == COMMANDS[name][1]


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if name not in ("models", "corpus", "schedule", "key", "completion")]
)
def test_every_command_speaks_json(name: str) -> None:
    command: click.Command = importlib.import_module(f"evolve.cli.{name}").command
    assert "--json" in [option for parameter in command.params for option in parameter.opts]


def test_the_help_lists_every_command_and_the_exit_codes(evolve: CommandLine) -> None:
    ran = evolve("--help")
    assert ran.code == 0
    for name in COMMANDS:
        assert f"  {name} " in ran.out
    assert "130 interrupted" in ran.out


def test_help_imports_nothing_heavy() -> None:
    script = "import sys, evolve.cli.main as m\n"
    script += f"for name in {['', *COMMANDS]}: m.main([*name.split(), '--help'])\n"
    script += f"print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["-h"]])
def test_the_help_that_is_shown_at_once_is_the_true_one(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "evolve", *arguments]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    true = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["--help"], prog_name="evolve", terminal_width=80).output
    assert shown == true, "write it anew: python scripts/write_help.py"


def test_the_help_is_shown_without_importing_the_command_line() -> None:
    script = "import sys; sys.argv = ['evolve', '--help']; from evolve.cli.entry import run\ntry: run()\nfinally: "
    script += "print('click' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_without_a_command_the_help_is_shown_as_an_error() -> None:
    done = subprocess.run([sys.executable, "-m", "evolve"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: evolve [OPTIONS] COMMAND")


def test_the_version_is_said(evolve: CommandLine) -> None:
    assert evolve("--version").out == "evolve, version 0.1.0\n"


def test_python_m_evolve_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "evolve", "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == "evolve, version 0.1.0\n"


def test_a_misspelt_command_gets_a_suggestion(evolve: CommandLine) -> None:
    ran = evolve("promot")
    assert ran.code == 2
    assert "Did you mean 'promote'?" in ran.err


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("generation", "--nope"), ("schema", "no-such"), ("completion", "x")]
)
def test_a_usage_error_is_exit_2_with_a_hint_and_no_traceback(
    workspace: Path, evolve: CommandLine, arguments: tuple[str, ...]
) -> None:
    ran = evolve(*arguments)
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert "Traceback" not in ran.err


def test_an_error_is_json_where_json_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = evolve("check", "--json")
    assert ran.code == 2
    assert ran.json()["error"]["code"] == "no-workspace"
    assert ran.json()["error"]["hint"] == "make one with: evolve init"


def boom(error: BaseException) -> click.Command:
    @click.command("boom")
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RuntimeError("odd"), 1, "a fault of evolve itself: RuntimeError: odd"),
        (OSError(28, "No space left on device", "/full"), 1, "/full: No space left on device"),
        (KeyboardInterrupt(), 130, "evolve resume"),
        (click.Abort(), 130, "evolve resume"),
        (click.FileError("f", "gone"), 2, "gone"),
    ],
)
def test_whatever_goes_wrong_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, evolve: CommandLine, error: BaseException, code: int, said: str
) -> None:
    monkeypatch.setattr(cli, "get_command", lambda ctx, name: boom(error))
    ran = evolve("check")
    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_fault_of_ours_shows_where_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVOLVE_DEBUG", "1")
    monkeypatch.setattr(cli, "get_command", lambda ctx, name: boom(RuntimeError("odd")))
    with pytest.raises(RuntimeError):
        main(["check"])


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m evolve schema promotion | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


def test_run_exits_with_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_module, "install", lambda: None)
    with pytest.raises(SystemExit) as left:
        main_module.run(["--version"])
    assert left.value.code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete(evolve: CommandLine, shell: str) -> None:
    ran = evolve("completion", shell)
    assert ran.code == 0
    assert "_EVOLVE_COMPLETE" in ran.out


def test_completion_knows_the_commands() -> None:
    environment = {**os.environ, "_EVOLVE_COMPLETE": "bash_complete", "COMP_WORDS": "evolve gen", "COMP_CWORD": "1"}
    script = "from evolve.cli.main import cli; cli(prog_name='evolve')"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert "generation" in done.stdout


def test_control_characters_never_reach_the_terminal(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    ran = evolve("report", "\x1b[31mred\x1b]0;title\x07")
    assert ran.code == 2
    assert "\x1b" not in ran.err
    assert "\x07" not in ran.err
