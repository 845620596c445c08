"""Any other program: described, contained, metered, and believed no further than it proves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evolve.agents.command import Command, json_values, last_at, numbers_at, numbers_in
from evolve.errors import EnvironmentFault
from evolve.records.agent import CommandSpec
from evolve.records.kinds import ErrorKind
from evolve.records.workspace import WorkspaceSpec
from evolve.sandbox.gateway.meter import Tokens
from tests.real_agents.conftest import KEY, Run
from tests.real_agents.scripted import scripted

MINI = Path(__file__).with_name("mini")


def described(use_skills: bool = True, **settings: Any) -> dict[str, Any]:
    """Return the declaration of the small agent."""
    own = {name: settings.pop(name) for name in ("lie", "text", "shrug") if name in settings}
    return {
        "adapter": "command",
        "binary": str(MINI / "mini.py"),
        "install": str(MINI),
        "version": "1.2.3",
        "command": ["/usr/bin/env", "python3", "{install}/mini.py", "--model", "{model}"],
        "env": {"BASE_URL": "{gateway}/v1", "KEY": "{token}"},
        "home_files": {".mini/settings.json": json.dumps({"use_skills": use_skills, **own})},
        "skills_path": ".mini/skills",
        "output": "json",
        "reply": "/result/texts/-1",
        "usage": {"input": "/stats/in", "output": "/stats/out"},
        **settings,
    }


def test_a_described_program_is_run_read_and_metered(run_agent: Run, room: Path) -> None:
    with scripted({"text": "hello", "usage": {"input_tokens": 30, "output_tokens": 4}}) as server:
        end = run_agent("codex", server.url, **described())
    assert (end.kind, end.detail) == (None, "")
    assert end.reply == "hello"
    assert (room / "work/out.txt").read_text() == "hello"
    assert (end.usage.input_tokens, end.usage.output_tokens, end.usage.api_calls) == (30, 4, 1)
    assert end.usage.cost_usd_micros == 30 * 2 + 4 * 8
    assert server.keys == [f"Bearer {KEY}"]
    assert not any(KEY in path.read_text(errors="replace") for path in room.rglob("*") if path.is_file())


def test_a_skill_whose_text_never_reached_the_model_was_not_used(run_agent: Run) -> None:
    with scripted({"text": "hello"}) as server:
        end = run_agent("codex", server.url, **described(use_skills=False))
    assert end.kind is ErrorKind.SKILL_NOT_INVOKED


def test_an_account_that_differs_from_the_gateways_is_not_believed(run_agent: Run) -> None:
    with scripted({"text": "hello"}) as server:
        end = run_agent("codex", server.url, **described(lie=-50))
    assert end.kind is ErrorKind.EVIDENCE_UNVERIFIED
    assert "the gateway saw 100" in end.detail
    assert end.usage.input_tokens == 100


def test_a_reply_in_text_is_found_by_a_regular_expression(run_agent: Run) -> None:
    settings = described(text=True, output="text", reply="ANSWER: (.*?)\n", usage=None)
    with scripted({"text": "hello"}) as server:
        end = run_agent("codex", server.url, **settings)
    assert (end.kind, end.reply) == (None, "hello")


def test_usage_in_text_is_found_by_regular_expressions(run_agent: Run) -> None:
    usage = {"input": r"tokens: ([\d,]+) in", "output": r"in, (\d+) out"}
    read: dict[str, Any] = {"output": "text", "reply": "ANSWER: (.*?)\n", "usage": usage}
    step = {"text": "hello", "usage": {"input_tokens": 1234, "output_tokens": 5}, "repeat": -1}
    with scripted(step) as server:
        end = run_agent("codex", server.url, **described(text=True, **read))
        assert (end.kind, end.detail, end.usage.input_tokens) == (None, "", 1234)
        lied = run_agent("codex", server.url, **described(text=True, lie=1, **read))
    assert lied.kind is ErrorKind.EVIDENCE_UNVERIFIED
    assert "it says 1235 input" in lied.detail


def told(printed: str, /, **settings: Any) -> Tokens | None:
    """Return the tokens that a described program's output tells of."""
    fields = {"model": "m", "upstream": {"base_url": "http://127.0.0.1:9"}, **described(), **settings}
    return Command(CommandSpec.model_validate(fields), MINI).read(printed.encode(), MINI, frozenset()).tokens


def test_the_last_account_of_an_output_counts_or_all_of_them_added_up() -> None:
    lines = '{"n": {"in": 1, "cache": 2, "out": 3}}\nnoise\n{"n": {"in": 10, "cache": 20, "out": 30}}\n{"n": 4}'
    usage: dict[str, Any] = {"input": ["/n/in", "/n/cache"], "output": "/n/out", "cached": "/n/cache"}
    assert told(lines, usage=usage) == Tokens(input=30, cached=20, output=30)
    assert told(lines, usage={**usage, "sum": True}) == Tokens(input=33, cached=22, output=33)
    assert told(lines, usage={"input": ["/gone", "/n/in"], "output": "/n/out"}) == Tokens(input=10, output=30)
    assert told(lines, usage={"input": "/n/in", "output": "/gone"}) is None
    text = "in 1,000 out 2\nin 7 out x3"
    patterns = {"input": r"in ([\d,]+)", "output": r"out (\d+)", "cached": r"cached (\d+)"}
    assert told(text, output="text", reply=None, usage=patterns) == Tokens(input=7, output=2)
    assert told(text, output="text", reply=None, usage={**patterns, "sum": True}) == Tokens(input=1007, output=2)
    assert told("nothing", output="text", reply=None, usage=patterns) is None


def test_a_program_that_fails_says_so_itself(run_agent: Run) -> None:
    with scripted({"error": {"status": 404, "message": "no such model"}, "repeat": -1}) as server:
        end = run_agent("codex", server.url, **described())
    assert end.kind is ErrorKind.SESSION_ERROR
    assert "HTTP Error 404" in end.detail


def test_a_program_that_takes_a_failed_call_for_a_reply_is_not_believed(run_agent: Run) -> None:
    with scripted({"error": {"status": 404, "message": "no such model"}, "repeat": -1}) as server:
        end = run_agent("codex", server.url, **described(shrug=True))
    assert (end.kind, end.refused) == (ErrorKind.SESSION_ERROR, False)
    assert end.detail == "its last call of the model failed (HTTP 404)"


def test_paths_are_relative_to_the_workspace(run_agent: Run, tmp_path: Path) -> None:
    shutil.copytree(MINI, tmp_path / "tools/mini")
    settings = described(binary="tools/mini/mini.py", install="./tools/mini")
    with scripted({"text": "hello"}) as server:
        assert run_agent("codex", server.url, **settings).kind is None
    for wrong in ("gone", "~nobody-at-all/x", "with\0nul"):
        with pytest.raises(EnvironmentFault, match="no such folder"):
            run_agent("codex", server.url, **described(install=wrong))
        with pytest.raises(EnvironmentFault, match="no such program"):
            run_agent("codex", server.url, **described(binary=wrong))


def test_a_program_is_asked_for_its_version_in_a_home_of_its_own(run_agent: Run, tmp_path: Path) -> None:
    program = tmp_path / "asked.py"
    said = 'mkdir -p "$HOME/.settings" && echo "$HOME" > "${0%/*}/home" && echo "This is mini, version 1.2.3."'
    program.write_text(f"#!/bin/sh\n{said}\n")
    program.chmod(0o755)
    with scripted({"text": "hello"}) as server:
        assert run_agent("codex", server.url, **described(binary=str(program))).kind is None
    home = Path((tmp_path / "home").read_text().strip())
    assert home != Path("/")
    assert not home.exists()


def test_a_folder_that_is_not_there_is_found_before_anything_is_spent(run_agent: Run, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match=r"agent\.install: .*: no such folder"):
        run_agent("codex", "http://127.0.0.1:9", **described(install=str(tmp_path / "gone")))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reply": None}, "JSON output needs a pointer"),
        ({"output": "text", "reply": "("}, "not a regular expression"),
        ({"output": "text", "reply": None}, "has no group that holds the number"),
        ({"output": "text", "reply": None, "usage": {"input": "(", "output": "(1)"}}, "not a regular expression"),
        ({"usage": {"input": "/a", "output": "b"}}, "String should match pattern"),
        ({"usage": {"input": "/a", "output": []}}, "at least 1 item"),
        ({"usage": {"input": "/a"}}, "Field required"),
        ({"command": ["x", "{token}"]}, "belongs in env alone"),
        ({"model": "gpt-latest"}, "give the full name"),
        ({"skills_path": "../out"}, "not a path inside"),
        ({"env": {"A B": "x"}}, "String should match pattern"),
    ],
)
def test_a_wrong_description_is_said(changes: dict[str, Any], said: str) -> None:
    agent = {"model": "gpt-5.5", "upstream": {"base_url": "http://127.0.0.1:9"}, **described(), **changes}
    models = {"m": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:9", "model": "m"}}
    value = {"schema": "evolve/workspace@1", "models": models, "agent": agent, "proposer": {"model": "m"}}
    with pytest.raises(ValueError, match=said):
        WorkspaceSpec.model_validate(value)


def test_a_pointer_finds_the_last_value_that_has_it() -> None:
    values = json_values('noise\n{"a": {"b/c": [1, 2]}}\n{"a": 3}\n[broken')
    assert last_at(values, "/a") == 3
    assert last_at(values, "/a/b~1c/-1") == 2
    assert last_at(values, "/a/b~1c/7") is None
    assert last_at(values, "/nothing") is None
    assert last_at([{"a": [{"b": "x"}, {"b": "y"}, {"b": None}]}], "/a/*/b") == "y"
    assert json_values('{"whole":\n 1}') == [{"whole": 1}]


def test_a_star_finds_everything_in_a_list_or_an_object() -> None:
    value = {"models": {"one": {"n": 1}, "two": {"n": 2}, "three": {}}, "list": [{"n": 4}, 7, {"n": True}, {"n": -1}]}
    assert numbers_at([value, 3], "/models/*/n") == [[1, 2]]
    assert numbers_at([value, value], "/list/*/n") == [[4], [4]]
    assert numbers_at([value], "/list/n") == numbers_at([value], "/models/*/n/*") == []


def test_a_number_in_text_is_the_first_group_of_a_match() -> None:
    assert numbers_in("a=1,234 a= a=x a=5", r"a=(\S*)") == [[1234], [5]]
    assert numbers_in("b", r"(a)?b") == []
    assert numbers_in("a=" + "9" * 40, r"a=(\d+)") == []
