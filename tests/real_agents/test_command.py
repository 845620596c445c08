"""Any other program: described, contained, metered, and believed no further than it proves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evolve.agents.command import json_values, last_at
from evolve.errors import EnvironmentFault
from evolve.records.kinds import ErrorKind
from evolve.records.workspace import WorkspaceSpec
from tests.real_agents.conftest import KEY, Run
from tests.real_agents.scripted import scripted

MINI = Path(__file__).with_name("mini")


def described(use_skills: bool = True, **settings: Any) -> dict[str, Any]:
    """Return the declaration of the small agent."""
    own = {name: settings.pop(name) for name in ("lie", "text") if name in settings}
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


def test_a_program_that_fails_says_so_itself(run_agent: Run) -> None:
    with scripted({"error": {"status": 404, "message": "no such model"}, "repeat": -1}) as server:
        end = run_agent("codex", server.url, **described())
    assert end.kind is ErrorKind.SESSION_ERROR
    assert "HTTP Error 404" in end.detail


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


def test_a_folder_that_is_not_there_is_found_before_anything_is_spent(run_agent: Run, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match=r"agent\.install: .*: no such folder"):
        run_agent("codex", "http://127.0.0.1:9", **described(install=str(tmp_path / "gone")))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reply": None}, "JSON output needs a pointer"),
        ({"output": "text", "reply": "("}, "not a regular expression"),
        ({"output": "text", "reply": None}, "only JSON output has pointers"),
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
    assert json_values('{"whole":\n 1}') == [{"whole": 1}]
