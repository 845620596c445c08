"""Phases with the real agents: plan then work, review, and what is no phase's right to change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evolve.agents.accounts import read_accounts
from evolve.agents.build import build_agent
from evolve.errors import InputError
from evolve.records.kinds import ErrorKind
from evolve.sandbox.gateway.meter import Tokens
from tests.builders import make_task
from tests.real_agents import test_codex as codex
from tests.real_agents.conftest import KEY, Run, spec_of
from tests.real_agents.scripted import Step, scripted
from tests.real_agents.test_claude_code import DONE, USE, WRITE, bash

PLAN_TEXT = "1. Write hello into out.txt."


def write(path: str, content: str) -> Step:
    return {"tools": [{"name": "Write", "input": {"file_path": path, "content": content}}]}


PLAN = write("/box/artifact/plan.md", PLAN_TEXT)
STEPS = (USE, PLAN, DONE, {**WRITE, "expect": [PLAN_TEXT, "/box/earlier/plan/plan.md"]}, DONE)


def test_a_plan_is_made_and_then_worked_on(run_agent: Run, room: Path) -> None:
    with scripted(*STEPS) as server:
        end = run_agent("claude", server.url, phases="plan-work")
    assert (end.kind, end.detail) == (None, "")
    assert server.missing == []
    assert (room / "work/out.txt").read_text() == "hello"
    assert not (room / "work/plan.md").exists()
    used = end.usage
    assert (used.api_calls, used.input_tokens, used.output_tokens, used.tool_calls) == (5, 500, 100, 3)
    assert used.cost_usd_micros == 5 * (100 * 2 + 20 * 10)
    lines = end.transcript.splitlines()
    assert [line for line in lines if "evolve_phase" in line] == [
        '{"evolve_phase": "plan"}',
        '{"evolve_phase": "work"}',
    ]
    accounts = read_accounts(json.loads(lines[-1]))
    assert [(one.phase, one.calls, one.answered) for one in accounts] == [("plan", 3, 3), ("work", 2, 2)]
    assert all(one.told == one.metered == Tokens(one.calls * 100, output=one.calls * 20) for one in accounts)
    first, later = json.dumps(server.requests[0]), json.dumps(server.requests[3])
    assert "do not carry it out" in first
    assert "Carry it out" in later
    assert "Greet me with the skill greeter." in first and "Greet me with the skill greeter." in later
    assert not any(KEY in path.read_text(errors="replace") for path in room.rglob("*") if path.is_file())


def test_codex_plans_and_works_as_well(run_agent: Run, room: Path) -> None:
    plan = codex.run_command("cat ~/.agents/skills/greeter/SKILL.md; echo plan > /box/artifact/plan.md")
    work = codex.run_command("cat /box/earlier/plan/plan.md > out.txt; echo x > /box/earlier/plan/plan.md")
    with scripted(plan, DONE, work, DONE) as server:
        end = run_agent("codex", server.url, phases="plan-work")
    assert (end.kind, end.detail) == (None, "")
    assert (room / "work/out.txt").read_text() == "plan\n"
    assert end.usage.api_calls == 4


@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        (write("/box/work/out.txt", "too early"), ErrorKind.PHASE_VIOLATION, "phase plan: it changed out.txt"),
        (bash("rm in.txt; mkdir -p a; touch a/b"), ErrorKind.PHASE_VIOLATION, "it changed a/, a/b, in.txt"),
        (bash("chmod +x in.txt"), ErrorKind.PHASE_VIOLATION, "it changed in.txt"),
        (bash("mkfifo pipe"), ErrorKind.PHASE_VIOLATION, "its work cannot be read"),
        (write("/box/artifact/more.md", "x"), ErrorKind.PHASE_VIOLATION, "it wrote more.md beside plan.md"),
        (bash("rm /box/artifact/plan.md; ln -s /etc/passwd /box/artifact/plan.md"), ErrorKind.PHASE_VIOLATION, "plain"),
        (bash("head -c 300000 /dev/zero > /box/artifact/plan.md"), ErrorKind.PHASE_VIOLATION, "at most 256 KiB"),
        (bash("rm /box/artifact/plan.md"), ErrorKind.NO_WORK_PRODUCED, "phase plan: it left no plan.md"),
        (bash("echo ' ' > /box/artifact/plan.md"), ErrorKind.NO_WORK_PRODUCED, "it left no plan.md"),
    ],
)
def test_a_plan_may_write_its_document_and_nothing_else(run_agent: Run, step: Step, kind: ErrorKind, said: str) -> None:
    with scripted(USE, PLAN, step, DONE, WRITE, DONE) as server:
        end = run_agent("claude", server.url, phases="plan-work")
    assert end.kind is kind, end.detail
    assert said in end.detail
    assert len(server.requests) == 4, "the phase that follows is not paid for"


def test_a_review_sees_its_work_read_only_and_leaves_one_document(run_agent: Run, room: Path) -> None:
    review = write("/box/artifact/review.json", json.dumps({"verdict": "approve"}))
    with scripted(USE, bash("touch new.txt; echo wrote=$?"), review, DONE) as server:
        end = run_agent("claude", server.url, phases="review", kind="answer")
    assert (end.kind, end.reply) == (None, '{"verdict": "approve"}')
    assert "wrote=1" in end.transcript
    assert [path.name for path in (room / "work").iterdir()] == ["in.txt"]


def phase(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "template": "direct", **fields}


def test_phases_of_ones_own_have_their_own_prompt_tools_limits_and_paths(
    run_agent: Run, room: Path, tmp_path: Path
) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/tests.j2").write_text("Write tests first: {{ task }} Work lies in {{ work }}.")
    first = phase("tests", template="prompts/tests.j2", may_change=["tests/"], tools=["Write", "Skill"], max_calls=3)
    second = phase("code", may_change=["*", "!/tests/"], denied_tools=["Bash"])
    steps = [USE, write("/box/work/tests/a.txt", "x"), DONE, write("/box/work/out.txt", "y"), DONE]
    with scripted(*steps) as server:
        end = run_agent("claude", server.url, phases=[first, second])
    assert (end.kind, end.detail) == (None, "")
    assert (room / "work/tests/a.txt").exists() and (room / "work/out.txt").exists()
    assert "Write tests first: Greet me with the skill greeter. Work lies in /box/work." in json.dumps(
        server.requests[0]
    )
    tools = [{tool["name"] for tool in request["tools"]} for request in (server.requests[0], server.requests[3])]
    assert "Bash" not in tools[0] and "Read" not in tools[0] and "Write" in tools[0]
    assert "Bash" not in tools[1] and "Read" in tools[1]
    steps[3] = write("/box/work/tests/more.txt", "of its own")
    with scripted(*steps) as server:
        end = run_agent("claude", server.url, phases=[first, second])
    assert (end.kind, end.detail) == (ErrorKind.PHASE_VIOLATION, "phase code: it changed tests/more.txt")
    endless = {**bash("true"), "repeat": -1}
    with scripted(
        {"tools": [{"name": "Skill", "input": {"skill": "skills:greeter"}}], "repeat": -1}, endless
    ) as server:
        end = run_agent("claude", server.url, phases=[first, second])
    assert (end.kind, len(server.requests)) == (ErrorKind.AGENT_LIMIT, 3)


def test_a_phase_has_a_home_of_its_own(run_agent: Run) -> None:
    plan = bash("echo secret-note > ~/note; echo x > /box/artifact/plan.md; echo done")
    look = bash("cat ~/note; ls /tmp; echo looked=$?")
    with scripted(USE, plan, DONE, look, WRITE, DONE) as server:
        end = run_agent("claude", server.url, phases="plan-work")
    assert end.kind is None, end.detail
    assert "No such file" in json.dumps(server.requests[4])


@pytest.mark.parametrize(
    ("flow", "said"),
    [
        ([phase("work", template="work")], "phases: work: its template 'work'"),
        ([phase("a", template="gone.j2")], "phases.a.template"),
        ([phase("a"), phase("a")], "two phases have one name"),
        ([], "at least 1 item"),
        ("plan", "direct"),
    ],
)
def test_a_flow_that_cannot_work_is_refused_before_anything_is_spent(run_agent: Run, flow: Any, said: str) -> None:
    with pytest.raises((InputError, ValueError), match=said):
        run_agent("claude", "http://127.0.0.1:9", phases=flow)


def test_work_that_no_phase_may_do_is_refused_before_anything_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAL_KEY", KEY)
    spec = spec_of("claude", "http://127.0.0.1:9", phases="review")
    agent = build_agent(spec, spec.agent, tmp_path, lambda _: pytest.fail("no model"))
    assert agent.unfit_for(make_task(kind="answer").task) is None
    reason = agent.unfit_for(make_task(kind="edit").task)
    assert reason == "it asks for changed files, and no phase (review) may change the workspace"
