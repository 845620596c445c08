"""A real session, recorded and played again without a model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evolve.agents.base import Session, SessionEnd
from evolve.agents.build import build_agent
from evolve.bench.tapes import Tapes
from evolve.errors import EvidenceFault, InputError
from evolve.records.kinds import ErrorKind
from evolve.skills import installed_fingerprint
from tests.builders import make_task
from tests.conftest import CommandLine
from tests.real_agents.conftest import GREETER, KEY, Run, spec_of
from tests.real_agents.scripted import scripted
from tests.real_agents.test_benchmark import AGENT, use_the_skill
from tests.real_agents.test_claude_code import DONE, USE, WRITE


def test_a_session_is_played_again_offline(
    run_agent: Run, room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(USE, {"error": {"status": 500}}, WRITE, DONE) as server:
        recorded = run_agent("claude", server.url, record=True)
    assert recorded.kind is None
    assert len(recorded.recording.splitlines()) == 3
    assert KEY not in recorded.recording
    asked = []

    def tape(task: str, seed: int, fingerprint: str) -> str | None:
        asked.append((task, seed, fingerprint))
        return recorded.recording if task == "task-1" else None

    monkeypatch.delenv("REAL_KEY")
    spec = spec_of("claude", "http://127.0.0.1:9")
    agent = build_agent(spec, spec.agent, tmp_path, lambda _: pytest.fail("no model"), tape)

    def replay(name: str, identifier: str) -> SessionEnd:
        place = tmp_path / name
        task = make_task(identifier, kind="edit", seed={"in.txt": "x"}, limits={"wall_s": 30})
        task.seed.write_scratch(place / "work")
        GREETER.files.write_scratch(place / "skills/greeter")
        return agent.run(
            Session(task=task.task, work=place / "work", skills=place / "skills", seed=1, expects="greeter")
        )

    again = replay("again", "task-1")
    assert (again.kind, again.reply) == (None, recorded.reply)
    assert (tmp_path / "again/work/out.txt").read_text() == "hello"
    assert again.usage.cost_usd_micros == recorded.usage.cost_usd_micros
    assert asked == [("task-1", 1, installed_fingerprint(room / "skills"))]
    missing = replay("missing", "task-2")
    assert (missing.kind, missing.refused) == (ErrorKind.SESSION_ERROR, True)
    assert missing.detail == "no recording of this cell"


def test_a_whole_comparison_is_played_again(
    workspace: Path, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAL_KEY", KEY)
    settings = workspace / "evolve.yaml"
    bare = settings.read_text()
    (workspace / "promotion/policy.yaml").write_text("schema: evolve/policy@1\ncache: cold\n")
    with scripted(play=use_the_skill) as server:
        text = re.sub(r"agent: .*\n", AGENT.replace("URL", server.url) + "  record: true\n", bare)
        settings.write_text(text)
        ran = evolve("propose", "--operator", "demonstrate", "--json")
        assert ran.code == 0, ran.err
    sweep = next((workspace / "results/sweeps").iterdir())
    assert len(list((sweep / "recordings").iterdir())) == 3
    monkeypatch.delenv("REAL_KEY")
    replayed = AGENT.replace("URL", "http://127.0.0.1:9") + f"  replay: {sweep.name}\n"
    settings.write_text(re.sub(r"agent: .*\n", replayed, bare))
    ran = evolve("propose", "--operator", "demonstrate", "--json")
    assert ran.code == 0, ran.err
    sweeps = sorted((workspace / "results/sweeps").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    rows = [[json.loads(line) for line in (path / "rows.jsonl").read_text().splitlines()] for path in sweeps]
    assert len({frozenset((r["identity"]["task"], r["reply_sha256"]) for r in found) for found in rows}) == 1
    assert {r["key"] for r in rows[0]} & {r["key"] for r in rows[1]} == set()


def test_a_recording_that_was_changed_or_is_not_there_is_said(workspace: Path, evolve: CommandLine) -> None:
    with pytest.raises(InputError, match="no sweep named 'nothing'"):
        Tapes(workspace / "nothing")
    settings = workspace / "evolve.yaml"
    replayed = AGENT.replace("URL", "http://127.0.0.1:9") + "  replay: nothing\n"
    settings.write_text(re.sub(r"agent: .*\n", replayed, settings.read_text()))
    ran = evolve("propose", "--operator", "demonstrate")
    assert ran.code == 2
    assert "agent.replay: no sweep named 'nothing'" in ran.err


def test_a_changed_recording_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tapes = object.__new__(Tapes)
    digest = "0" * 64
    tapes._sweep, tapes._digests = tmp_path, {("t", 1, "f"): digest}
    assert tapes.find("other", 1, "f") is None
    with pytest.raises(EvidenceFault, match="gone, or not what was recorded"):
        tapes.find("t", 1, "f")


def test_phases_are_played_again_in_order(run_agent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = {"tools": [{"name": "Write", "input": {"file_path": "/box/artifact/plan.md", "content": "hello it is"}}]}
    with scripted(USE, plan, DONE, WRITE, DONE) as server:
        recorded = run_agent("claude", server.url, phases="plan-work", record=True)
    assert recorded.kind is None, recorded.detail
    monkeypatch.delenv("REAL_KEY")
    spec = spec_of("claude", "http://127.0.0.1:9", phases="plan-work")
    agent = build_agent(spec, spec.agent, tmp_path, lambda _: pytest.fail("no model"), lambda *_: recorded.recording)
    task = make_task("again", kind="edit", seed={"in.txt": "x"}, limits={"wall_s": 30})
    work = tmp_path / "again/work"
    task.seed.write_scratch(work)
    GREETER.files.write_scratch(tmp_path / "again/skills/greeter")
    end = agent.run(Session(task=task.task, work=work, skills=tmp_path / "again/skills", seed=1, expects="greeter"))
    assert (end.kind, end.detail) == (None, "")
    assert end.usage.cost_usd_micros == recorded.usage.cost_usd_micros
    assert (work / "out.txt").read_text() == "hello"
