"""The real programs as proposers: they read the bundle in their box and edit the skill there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evolve.agents.build import build_agent
from evolve.overlays import apply_overlay
from evolve.propose.bundle.build import Measured, Sources, build_bundle
from evolve.propose.by_agent import reflect_by_agent
from evolve.records.kinds import Split
from tests.builders import make_corpus, make_policy, make_row, make_skill, make_task
from tests.real_agents.conftest import KEY, spec_of
from tests.real_agents.scripted import scripted

SKILL = make_skill(body="Say hello.")
SEDDED = {"command": "sed -i 's/Say hello./Say hello, then the name./' skill/SKILL.md && cat cells/*.md"}
STEPS: dict[str, dict[str, Any]] = {
    "claude": {"tools": [{"name": "Bash", "input": SEDDED}]},
    "codex": {"tools": [{"name": "exec_command", "input": {"cmd": SEDDED["command"], "yield_time_ms": 30_000}}]},
}


@pytest.mark.parametrize("adapter", STEPS)
def test_a_real_program_reads_the_bundle_and_edits_the_skill(
    adapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAL_KEY", KEY)
    row = make_row("t-1", split=Split.TRAIN, resolved=False)
    corpus = make_corpus(make_task("t-1", prompt="Greet Ann, who has just come in."))
    bundle = build_bundle(Sources(SKILL, corpus, make_policy(), (Measured((row,), tmp_path),)))
    seen = {"text": "I made one change.", "expect": ["Greet Ann, who has just come in."]}
    with scripted(STEPS[adapter], seen) as server:
        spec = spec_of(adapter, server.url)
        agent = build_agent(spec, spec.agent, tmp_path, lambda name: pytest.fail(f"no model: {name}"))
        made = reflect_by_agent(SKILL, bundle, agent, "Resolve more.", number=0)
    assert apply_overlay(SKILL, made.overlay).body == "Say hello, then the name."
    assert server.missing == []
    assert made.usage.api_calls == 2 and made.usage.cost_usd_micros
