"""The recipes of docs/recipes: real programs, described in evolve.yaml and known nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.records.agent import CommandSpec
from evolve.records.kinds import ErrorKind
from tests.real_agents.conftest import KEY, RECIPES, Run, read_recipe
from tests.real_agents.scripted import Step, scripted

OUT = "/box/work/out.txt"
LONGEST_ANSWER = re.compile(r'"(?:maxOutputTokens|max_tokens|max_completion_tokens)": (\d+)')
BODY = "Write `hello` into out.txt."


@dataclass(frozen=True)
class Script:
    """What a model says to one program: the calls by which it loads the skill and writes, and its last word.

    ``never`` are skills and tools of the program's own that the recipe turns off, by their names in a request.
    """

    load: dict[str, Any]
    write: dict[str, Any]
    end: Step
    never: tuple[str, ...] = ()

    def steps(self, *, load: bool = True) -> Iterable[Step]:
        """Return a whole session; each call costs something of its own."""
        if load:
            yield {"tools": [self.load], "usage": used(1)}
        yield {"tools": [self.write], "usage": used(2), "expect": [BODY] if load else []}
        yield {**self.end, "usage": used(3)}


def used(number: int) -> dict[str, int]:
    return {"input_tokens": 100 * number, "cache_read_input_tokens": 1000 * number, "output_tokens": 10 * number}


def tool(called: str, /, **given: Any) -> dict[str, Any]:
    return {"name": called, "input": given}


DONE: Step = {"text": "It is done."}
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo 'It is done.'"
SCRIPTS = {
    "opencode": Script(
        tool("skill", name="greeter"),
        tool("write", filePath=OUT, content="hello"),
        DONE,
        ("customize-opencode", '"webfetch"', '"task"'),
    ),
    "qwen-code": Script(
        tool("skill", skill="greeter"),
        tool("write_file", file_path=OUT, content="hello"),
        DONE,
        ("(bundled)", '"web_fetch"'),
    ),
    "gemini-cli": Script(
        tool("activate_skill", name="greeter"),
        tool("write_file", file_path=OUT, content="hello"),
        DONE,
        ("skill-creator", "antigravity-support", '"google_web_search"', '"web_fetch"', '"invoke_agent"'),
    ),
    "mini-swe-agent": Script(
        tool("bash", command="cat ~/skills/greeter/SKILL.md"),
        tool("bash", command="printf hello > out.txt"),
        {"text": "Submitting.", "tools": [tool("bash", command=SUBMIT)]},
    ),
}


def recipe(name: str) -> dict[str, Any]:
    """Return a recipe as it stands there, but for where its program is, and with a price."""
    agent = read_recipe(RECIPES / f"{name}.yaml")
    del agent["upstream"], agent["max_usd"]
    return {**agent, "max_usd": 1, "price": {"input_usd": 2, "cached_input_usd": 0.5, "output_usd": 8}}


def test_every_recipe_can_be_read_as_it_stands_there_and_is_tested() -> None:
    assert {path.stem for path in RECIPES.glob("*")} == set(SCRIPTS)
    for name in SCRIPTS:
        agent = yaml.safe_load((RECIPES / f"{name}.yaml").read_text())["agent"]
        spec = CommandSpec.model_validate(agent)
        assert (spec.max_usd, spec.upstream.base_url[:8]) == (None, "https://")
        assert spec.version in spec.binary


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_recipe_loads_its_skill_works_and_tells_what_it_used(run_agent: Run, room: Path, name: str) -> None:
    with scripted(*SCRIPTS[name].steps()) as server:
        end = run_agent("codex", server.url, **recipe(name))
    assert (end.kind, end.detail) == (None, "")
    assert server.missing == []
    asked = json.dumps(server.requests[0])
    assert [word for word in SCRIPTS[name].never if word in asked] == []
    longest = [int(tokens) for tokens in LONGEST_ANSWER.findall(asked)]
    assert longest and max(longest) <= 65_536, "where money is limited, a limit of its own is what the model can keep"
    assert end.reply.strip() == "It is done."
    assert (room / "work/out.txt").read_text() == "hello"
    assert (end.usage.input_tokens, end.usage.cached_input_tokens, end.usage.output_tokens) == (6600, 6000, 60)
    assert end.usage.api_calls == 3
    assert {key.removeprefix("Bearer ") for key in server.keys} == {KEY}
    assert not any(KEY in path.read_text(errors="replace") for path in room.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_recipe_whose_skill_is_never_loaded_is_told_so(run_agent: Run, room: Path, name: str) -> None:
    with scripted(*SCRIPTS[name].steps(load=False)) as server:
        end = run_agent("codex", server.url, **recipe(name))
    assert end.kind is ErrorKind.SKILL_NOT_INVOKED, end.detail
    assert (room / "work/out.txt").read_text() == "hello"


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_recipe_whose_account_is_refused_ends_at_once(run_agent: Run, name: str) -> None:
    with scripted({"error": {"status": 401, "message": "no such key"}, "repeat": -1}) as server:
        end = run_agent("codex", server.url, **recipe(name))
    assert (end.kind, end.detail, end.refused) == (ErrorKind.SESSION_ERROR, "HTTP 401: no such key", True)
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_recipe_whose_model_fails_for_good_is_a_failed_session(run_agent: Run, name: str) -> None:
    with scripted({"error": {"status": 400, "message": "no such model"}, "repeat": -1}) as server:
        end = run_agent("codex", server.url, **recipe(name))
    assert (end.kind, end.refused) == (ErrorKind.SESSION_ERROR, False), end.detail
