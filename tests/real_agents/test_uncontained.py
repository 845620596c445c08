"""The real agents without containment: they work, their rows say so, and nothing of them is left."""

from __future__ import annotations

import uuid
from pathlib import Path

import psutil
import pytest

from evolve.records.kinds import ErrorKind
from tests.real_agents import test_codex as codex
from tests.real_agents.conftest import KEY, Run
from tests.real_agents.scripted import Step, scripted
from tests.real_agents.test_claude_code import DONE, USE, bash
from tests.real_agents.test_command import described


def test_claude_code_on_the_host(run_agent: Run, room: Path) -> None:
    mark = f"orphan-{uuid.uuid4().hex}"
    spawn = bash(f"setsid nohup python3 -c 'import time; time.sleep(600)' {mark} >/dev/null 2>&1 & sleep 0.5; echo ok")
    with scripted(USE, spawn, bash("echo hello > out.txt"), DONE) as server:
        end = run_agent("claude", server.url, unsafe_host=True)
    assert (end.kind, end.detail) == (None, "")
    assert (room / "work/out.txt").read_text() == "hello\n"
    assert end.usage.input_tokens == 400
    assert not any(mark in (process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
    assert KEY not in end.transcript
    files = [path for path in room.rglob("*") if path.is_file() and not path.is_symlink()]
    assert files and not any(KEY.encode() in path.read_bytes() for path in files)


def test_phases_and_codex_on_the_host(run_agent: Run, room: Path) -> None:
    skill = "cat ~/.agents/skills/greeter/SKILL.md"
    plan = codex.run_command(f'{skill}; echo plan > "$(dirname ~)/artifact/plan.md"; ls -d ~')
    work = codex.run_command("echo hello > out.txt")
    with scripted(plan, DONE, work, DONE) as server:
        end = run_agent("codex", server.url, unsafe_host=True, phases="plan-work")
    assert (end.kind, end.detail) == (None, "")
    assert (room / "work/out.txt").read_text() == "hello\n"
    with scripted(codex.USE, codex.WRITE, DONE) as server:
        end = run_agent("codex", server.url, unsafe_host=True, phases="review", kind="answer")
    assert end.kind is ErrorKind.PHASE_VIOLATION, "on the host nothing is read-only, and it is seen all the same"
    assert "it changed out.txt" in end.detail


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_the_wall_clock_holds_on_the_host(run_agent: Run, agent: str) -> None:
    steps: tuple[Step, ...] = (USE,) if agent == "claude" else (codex.USE,)
    with scripted(*steps, {"text": "x", "broken": "silence"}) as server:
        end = run_agent(agent, server.url, unsafe_host=True, wall_s=4)
    assert end.kind is ErrorKind.AGENT_TIMEOUT
    assert end.usage.input_tokens == 100


def test_a_described_program_on_the_host(run_agent: Run, room: Path) -> None:
    with scripted({"text": "hello"}) as server:
        end = run_agent("codex", server.url, unsafe_host=True, **described())
    assert (end.kind, end.reply) == (None, "hello")
    assert (room / "work/out.txt").read_text() == "hello"
