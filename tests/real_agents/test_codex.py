"""Codex as it really is: each case with the error kind, the usage and the cost that must come of it."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

import psutil
import pytest

from evolve.records.kinds import ErrorKind
from tests.real_agents.conftest import GREETER, KEY, Run
from tests.real_agents.scripted import Step, scripted


def run_command(command: str, **more: object) -> Step:
    """Run a command to its end; on a busy machine Codex would soon answer that it still runs."""
    return {"tools": [{"name": "exec_command", "input": {"cmd": command, "yield_time_ms": 30_000}}], **more}


USE = run_command("cat ~/.agents/skills/greeter/SKILL.md", expect=["greeter"])
WRITE = run_command("echo hello > out.txt")
DONE: Step = {"text": "done"}


def test_a_skill_that_is_read_and_work_that_is_done(run_agent: Run, room: Path) -> None:
    usage = {"input_tokens": 1000, "cache_read_input_tokens": 500, "output_tokens": 30}
    with scripted({**USE, "usage": usage}, WRITE, DONE) as server:
        end = run_agent("codex", server.url)
    assert (end.kind, end.detail) == (None, "")
    assert end.reply == "done"
    assert (room / "work/out.txt").read_text() == "hello\n"
    assert server.missing == []
    used = end.usage
    assert (used.input_tokens, used.cached_input_tokens, used.output_tokens) == (1700, 500, 70)
    assert (used.api_calls, used.tool_calls, used.turns) == (3, 2, 1)
    assert used.cost_usd_micros == 1700 * 2 + 70 * 8
    assert {key.removeprefix("Bearer ") for key in server.keys} == {KEY}
    assert KEY not in end.transcript
    assert not any(KEY in path.read_text(errors="replace") for path in room.rglob("*") if path.is_file())
    assert (room / "skills/greeter/SKILL.md").read_text() == GREETER.text


def test_a_skill_that_is_never_read_counts_against_the_arm(run_agent: Run) -> None:
    with scripted(WRITE, DONE) as server:
        end = run_agent("codex", server.url)
    assert end.kind is ErrorKind.SKILL_NOT_INVOKED


def test_an_error_that_passes_is_retried_by_the_gateway_alone(run_agent: Run) -> None:
    with scripted({"error": {"status": 500}}, USE, WRITE, DONE) as server:
        end = run_agent("codex", server.url)
    assert end.kind is None
    assert len(server.requests) == 4


def test_an_overload_that_lasts(run_agent: Run) -> None:
    with scripted({"error": {"status": 503}, "repeat": -1}) as server:
        end = run_agent("codex", server.url)
    assert (end.kind, end.refused) == (ErrorKind.SESSION_ERROR, False)
    assert len(server.requests) == 3


def test_a_refused_account_is_asked_once(run_agent: Run) -> None:
    with scripted({"error": {"status": 401, "message": "bad key"}, "repeat": -1}) as server:
        end = run_agent("codex", server.url)
    assert (end.kind, end.refused) == (ErrorKind.SESSION_ERROR, True)
    assert "bad key" in end.detail
    assert len(server.requests) == 1


@pytest.mark.parametrize("broken", ["cut", "garbage", "empty"])
def test_a_broken_stream_is_the_providers_fault(run_agent: Run, broken: str) -> None:
    with scripted({**USE, "broken": broken, "repeat": -1}) as server:
        end = run_agent("codex", server.url)
    assert (end.kind, end.refused) == (ErrorKind.SESSION_ERROR, False), end.detail


def test_what_never_ends_is_ended_by_the_wall_clock_and_its_use_is_known(run_agent: Run) -> None:
    started = time.monotonic()
    with scripted(USE, {**WRITE, "broken": "silence"}) as server:
        end = run_agent("codex", server.url, wall_s=4)
    assert end.kind is ErrorKind.AGENT_TIMEOUT
    assert time.monotonic() - started < 12
    assert (end.usage.input_tokens, end.usage.cost_usd_micros) == (100, 100 * 2 + 20 * 8)


def test_the_limit_of_model_calls(run_agent: Run) -> None:
    with scripted(USE, {**run_command("true"), "repeat": -1}) as server:
        end = run_agent("codex", server.url, max_calls=4)
    assert (end.kind, end.detail) == (ErrorKind.AGENT_LIMIT, "4 model calls, as many as are allowed (max_calls)")
    assert len(server.requests) == 4


def test_the_limit_of_money(run_agent: Run) -> None:
    costly = {**run_command("true"), "usage": {"output_tokens": 1000}, "repeat": -1}
    with scripted(USE, costly) as server:
        end = run_agent("codex", server.url, max_usd=0.06)
    assert end.kind is ErrorKind.AGENT_LIMIT
    assert 10_000 < (end.usage.cost_usd_micros or 0) <= 60_000


@pytest.mark.parametrize("path", ["AGENTS.md", ".agents/skills/evil/SKILL.md", ".codex/config.toml"])
def test_what_codex_would_load_from_a_task_is_contamination_before_it_runs(run_agent: Run, path: str) -> None:
    with scripted(USE, WRITE, DONE) as server:
        end = run_agent("codex", server.url, seed={path: "FOREIGN"})
    assert end.kind is ErrorKind.CONTAMINATED
    assert "which Codex would load" in end.detail
    assert server.requests == []


def test_what_an_agent_must_not_do_is_denied_and_leaks_nothing(run_agent: Run, room: Path, tmp_path: Path) -> None:
    secret = tmp_path / "oracle.yaml"
    secret.write_text("HIDDEN-ORACLE")
    steps = [
        USE,
        run_command("echo changed >> ~/.agents/skills/greeter/SKILL.md; echo wrote=$?"),
        run_command(f"cat {secret}; echo found=$?"),
        run_command("python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)'; echo net=$?"),
        run_command("env; cat /proc/*/environ | tr '\\0' '\\n'"),
        WRITE,
        DONE,
    ]
    with scripted(*steps) as server:
        end = run_agent("codex", server.url)
    assert end.kind is None, end.detail
    sent = json.dumps(server.requests[-1])
    for wanted in ("wrote=1", "found=1", "net=1", "HOME=/box/home"):
        assert wanted in sent
    assert "HIDDEN-ORACLE" not in sent
    assert KEY not in sent
    assert (room / "skills/greeter/SKILL.md").read_text() == GREETER.text


def test_a_child_that_left_its_session_does_not_outlive_the_box(run_agent: Run) -> None:
    mark = f"orphan-{uuid.uuid4().hex}"
    spawn = run_command(f"setsid nohup python3 -c 'import time; time.sleep(600)' {mark} >/dev/null 2>&1 & sleep 0.5")
    with scripted(USE, spawn, WRITE, DONE) as server:
        end = run_agent("codex", server.url)
    assert end.kind is None, end.detail
    assert not any(mark in (process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
