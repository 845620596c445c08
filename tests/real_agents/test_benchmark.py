"""A whole comparison with a real agent: measured, decided, promoted and audited."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evolve.records.base import read_jsonl
from evolve.records.row import Row
from evolve.report.cell.reader import CellReader
from tests.bench.test_runner import OVERLAY, sweep_of, write_overlay
from tests.conftest import CommandLine
from tests.real_agents.conftest import CLAUDE, FOLDER, KEY
from tests.real_agents.scripted import Step, scripted
from tests.worlds import git

AGENT = f"""\
agent:
  adapter: claude-code
  model: claude-sonnet-5-5
  binary: {FOLDER / "claude"}
  version: {CLAUDE}
  upstream: {{base_url: "URL", key_env: REAL_KEY}}
"""


def use_the_skill(body: dict[str, Any]) -> Step:
    """Load the skill, then do as it says."""
    text = json.dumps(body["messages"])
    if "Base directory for this skill" not in text:
        return {"tools": [{"name": "Skill", "input": {"skill": "skills:bracket"}}]}
    number = re.findall(r"(?:number|figure) (\d{3})", text)[-1]
    return {"text": f"<{number}>" if "## Examples" in text else f"The number is {number}."}


def test_a_real_agent_is_measured_and_its_skill_promoted(
    workspace: Path, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAL_KEY", KEY)
    (workspace / "promotion/policy.yaml").write_text("schema: evolve/policy@1\nmin_runs: 1\n")
    settings = workspace / "evolve.yaml"
    overlay = write_overlay(workspace)
    with scripted(play=use_the_skill) as server:
        text = re.sub(r"agent: .*\n", AGENT.replace("URL", server.url), settings.read_text())
        settings.write_text(text)
        git(workspace, "commit", "--quiet", "--all", "--message", "Use a real agent")
        plan = evolve("benchmark", overlay, "--plan")
        assert "cost: at most 50.0000 USD with every retry" in plan.out
        assert server.requests == []
        ran = evolve("benchmark", overlay, "--workers", "4", "--json")
    assert ran.code == 0, ran.err
    assert ran.json()["decision"]["outcome"] == "promote", ran.out
    evidence = workspace / ran.json()["evidence"]
    promotion = json.loads((evidence / "promotion.json").read_bytes())
    assert promotion["agent"]["version"] == CLAUDE
    assert promotion["agent"]["backend"] == "bubblewrap"
    assert promotion["spend"]["warm_ups"] == 2
    assert promotion["spend"]["cost_usd_micros"] == 16 * 2 * (100 * 2 + 20 * 10)
    rows = list(read_jsonl(Row, evidence / "rows.jsonl"))
    assert {row.identity.sandbox for row in rows} == {"bubblewrap"}
    assert {(row.usage.api_calls, row.usage.tool_calls) for row in rows} == {(2, 1)}
    kept = {path.stem for path in (sweep_of(workspace) / "transcripts").iterdir()}
    assert kept == {row.transcript_sha256 for row in rows}
    for row in rows:
        view = CellReader(workspace / "corpus", [sweep_of(workspace)]).view(row)
        assert view.missing == () and view.accounts is not None and view.steps is not None
        assert {line[-1] for line in view.accounts.rows} == {"agree", ""}, "by the program and by the gateway"
        assert [step.title for step in view.steps.steps if step.kind == "call"] == ["Skill: skills:bracket"]
    card = evolve("scorecard", sweep_of(workspace).name, "--json").json()
    assert all(cell["complete"] for cell in card["cells"])
    told = {tuple(cell["metrics"][name]["value"] for name in ("turns", "tool_calls")) for cell in card["cells"]}
    assert told == {(row.usage.turns, 1) for row in rows}
    assert evolve("promote", OVERLAY).code == 0
    assert evolve("audit", "--all").code == 0
    for path in workspace.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()


def test_doctor_looks_at_the_agent(workspace: Path, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = workspace / "evolve.yaml"
    settings.write_text(re.sub(r"agent: .*\n", AGENT.replace("URL", "http://127.0.0.1:9"), settings.read_text()))
    ran = evolve("doctor")
    assert ran.code == 1
    assert "the variable REAL_KEY is not set" in ran.out
    monkeypatch.setenv("REAL_KEY", KEY)
    ran = evolve("doctor")
    assert f"version {CLAUDE}" in ran.out
    assert "seen to deny files, writes, network and survivors" in ran.out
    assert KEY not in ran.out
    assert "ok    agent declaration: claude-sonnet-5-5; direct" in ran.out
    more = (
        "rivals: [plan-work]\narms:\n  cut: {phases: [{name: a, template: gone.j2}]}\n  odd: {mcp: {x: {command: [x], "
    )
    settings.write_text(settings.read_text() + more + "folder: gone}}}\n")
    ran = evolve("doctor")
    assert "ok    arm plan-work declaration: claude-sonnet-5-5; plan then work" in ran.out
    assert "FAIL  arm cut declaration: evolve.yaml: phases.a.template: 'gone.j2'" in ran.out
    assert "FAIL  arm odd declaration: evolve.yaml: agent.mcp.x.folder: 'gone': no such folder" in ran.out
    settings.write_text(settings.read_text().replace(f"version: {CLAUDE}", "version: 9.9.9"))
    assert "not 9.9.9" in evolve("doctor").out
