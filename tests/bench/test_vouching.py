"""Reuse is believed only as far as canaries vouch for it, whatever happens to them and to their sources."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from evolve.bench.journal import read_events, read_state
from evolve.bench.measured import measured_rows
from evolve.models.base import ModelFault
from tests.bench.test_runner import write_overlay
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, follow_the_skill, make_workspace, raising


def solve_everything(system: str, user: str, seed: int) -> str:
    return f"<{re.findall(r'[0-9]+', user)[-1]}>"


def other_overlay(root: Path, number: int = 8) -> str:
    folder = root / f"overlays/other-{number}/skills/bracket"
    folder.mkdir(parents=True)
    text = (root / "skills/bracket/SKILL.md").read_text()
    (folder / "SKILL.md").write_text(f"{text}\n## Examples\n\nUser: the number {number}\nReply: <{number}>\n")
    return f"overlays/other-{number}"


def sweeps(root: Path) -> list[Path]:
    return sorted((root / "results/sweeps").glob("sealed-*"), key=lambda path: path.stat().st_mtime_ns)


def evidence(root: Path, ran: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / ran.json()["evidence"] / "promotion.json").read_bytes())
    return found


def test_an_arm_that_is_reused_in_part_has_its_canary_too(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("benchmark", write_overlay(workspace), "--max-cells", "30")
    model.answer = solve_everything
    ran = evolve("benchmark", other_overlay(workspace), "--json")
    assert "its reused rows are dropped" in ran.err
    assert ran.json()["decision"]["outcome"] == "keep_incumbent"
    assert evidence(workspace, ran)["reuse"]["reused_rows"] == 0
    assert evolve("audit", "--all").code == 0


def test_a_canary_that_could_not_be_measured_vouches_for_nothing(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("benchmark", write_overlay(workspace))
    model.answer = solve_everything
    model.requests.clear()

    model.before = raising(ModelFault("the provider stumbled"), range(1, 4))
    ran = evolve("benchmark", other_overlay(workspace), "--json")
    assert "a canary could not be measured" in ran.err
    assert ran.json()["decision"]["outcome"] == "insufficient_evidence"
    assert evidence(workspace, ran)["reuse"]["reused_rows"] == 0
    attempts = read_state(sweeps(workspace)[-1] / "journal.jsonl").attempts
    assert max(attempts.values()) == 3
    assert evolve("audit", "--all").code == 0


def test_a_source_that_ends_early_afterwards_still_vouches_for_what_it_gave(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("benchmark", write_overlay(workspace), "--max-cells", "44")
    first = sweeps(workspace)[0].name
    assert evolve("benchmark", other_overlay(workspace)).code == 0
    assert evolve("resume", first, "--stop-when-decided").code == 0
    assert read_state(workspace / "results/sweeps" / first / "journal.jsonl").stopped_at is not None
    ran = evolve("audit", "--all")
    assert ran.code == 0, ran.out


def test_rows_that_did_not_count_in_an_early_end_may_still_be_reused(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("benchmark", write_overlay(workspace), "--workers", "8", "--stop-when-decided")
    sweep = sweeps(workspace)[0]
    state = read_state(sweep / "journal.jsonl")
    counted = len((sweep / "rows.jsonl").read_text().splitlines())
    assert len(measured_rows(sweep)) == len(state.settled) > counted


def test_a_sweep_needs_its_sources_no_more_once_it_has_begun(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("benchmark", write_overlay(workspace))
    source = sweeps(workspace)[0]
    assert evolve("benchmark", other_overlay(workspace), "--max-cells", "5").code == 3
    shutil.rmtree(source)
    model.requests.clear()
    ran = evolve("resume", "--json")
    assert ran.code == 0, ran.err
    assert len(model.requests) == 20
    assert evidence(workspace, ran)["reuse"]["reused_rows"] == 23
    assert evolve("audit", "--all").code == 0


def test_when_the_canarys_own_source_is_gone_nothing_is_reused(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("benchmark", write_overlay(workspace))
    source = sweeps(workspace)[0]
    assert evolve("benchmark", other_overlay(workspace), "--max-cells", "0").code == 3
    sweep = sweeps(workspace)[-1]
    plan = json.loads((sweep / "plan.json").read_bytes())
    canary = next(cell for cell in plan["cells"] if cell["action"] == "canary")
    kept = [line for line in (sweep / "sources.jsonl").read_text().splitlines() if canary["source"]["row_sha256"]]
    rows = [json.loads(line) for line in kept]
    mine = {"task": canary["identity"]["task"], "run": canary["identity"]["run"]}
    others = [r for r in rows if {"task": r["identity"]["task"], "run": r["identity"]["run"]} != mine]
    lines = [line for line, row in zip(kept, rows, strict=True) if row in others]
    (sweep / "sources.jsonl").write_text("".join(line + "\n" for line in lines))
    shutil.rmtree(source)
    model.answer = solve_everything
    ran = evolve("resume", "--json")
    assert ran.code == 0, ran.err
    assert "no canary vouches for them" in ran.err
    assert evidence(workspace, ran)["reuse"] == {"canaries": [], "dropped_arms": ["incumbent"], "reused_rows": 0}
    assert ran.json()["decision"]["outcome"] == "keep_incumbent"


def test_an_agent_that_varies_by_itself_may_word_it_otherwise(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    """A canary that says the same in other words must not bar its row from ever being reused again."""
    model.repeatable = False
    (workspace / "promotion/policy.yaml").write_text("schema: evolve/policy@1\ncache: cold\nalpha: 0.2\n")
    evolve("benchmark", write_overlay(workspace))
    model.answer = lambda system, user, seed: follow_the_skill(system, user, seed).upper()
    assert "reused rows are dropped" not in evolve("benchmark", other_overlay(workspace)).err
    plan = evolve("benchmark", other_overlay(workspace, 9), "--plan").out
    assert "24 fresh, 1 canary, 23 reuse" in plan
    assert "two sources differ" not in plan


def test_who_stops_a_run_because_everything_fails_loses_no_cell_by_it(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    """The third failure of a cell, then an interrupt before the breaker had seen five: an outage all the same."""

    def down(call: int) -> None:
        if call in (7, 8, 9):
            raise ModelFault("the provider is down")
        if call == 10:
            raise KeyboardInterrupt

    model.before = down
    assert evolve("benchmark", write_overlay(workspace)).code == 130
    model.before = lambda call: None
    ran = evolve("resume", "--json")
    assert ran.json()["decision"]["outcome"] == "promote", ran.err
    assert evolve("audit", "--all").code == 0


def test_what_reuse_was_dropped_is_counted_as_paid_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("benchmark", write_overlay(workspace))
    model.answer = solve_everything
    ran = evolve("benchmark", other_overlay(workspace), "--json")
    events = [json.loads(line) for line in ran.err.splitlines()]
    last = next(event for event in reversed(events) if event["event"] == "sweep-ended")
    assert (last["done"], last["to_pay"], last["reused"]) == (48, 48, 0)
    dropped = [e.reason for e in read_events(sweeps(workspace)[-1] / "journal.jsonl") if e.event == "reuse-dropped"]
    assert len(dropped) == 1
    assert str(dropped[0]).endswith("1 of 1 canaries came out otherwise, runs of a task do never (p = 0)")


def test_a_promotion_is_refused_when_nothing_vouches_for_what_was_reused(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    from evolve.promote.evidence import read_evidence
    from evolve.promote.vouched import unvouched_arms

    evolve("benchmark", write_overlay(workspace))
    ran = evolve("benchmark", other_overlay(workspace), "--json")
    found = read_evidence(workspace / ran.json()["evidence"])
    assert unvouched_arms(found.promotion, found.rows) == {}
    bare = found.promotion.model_copy(update={"reuse": found.promotion.reuse.model_copy(update={"canaries": ()})})
    assert unvouched_arms(bare, found.rows)["incumbent"].endswith("no canary vouches for them")


def test_each_source_has_a_canary_of_its_own(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    """A canary of a fresh sweep must not vouch for the stale rows of another."""
    evolve("benchmark", write_overlay(workspace), "--max-cells", "20")
    evolve("benchmark", other_overlay(workspace), "--max-cells", "30")
    plan = evolve("benchmark", other_overlay(workspace, 9), "--plan", "--json").json()["plan"]
    reused = {cell["source"]["sweep"] for cell in plan["cells"] if cell["action"] == "reuse"}
    vouched = {cell["source"]["sweep"] for cell in plan["cells"] if cell["action"] == "canary"}
    assert len(reused) == 2
    assert reused == vouched


def test_void_cells_end_the_same_way_interrupted_or_not_early_or_not(
    tmp_path: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_bad_task(system: str, user: str, seed: int) -> str:
        if user.endswith("304") and "## Examples" in system:
            raise ModelFault("cannot")
        return follow_the_skill(system, user, seed)

    model.answer = one_bad_task
    decisions = set()
    for number, options in enumerate([(), ("--stop-when-decided",), ("--max-cells", "30")]):
        root = make_workspace(tmp_path / f"w{number}")
        monkeypatch.chdir(root)
        (root / "promotion/policy.yaml").write_text("schema: evolve/policy@1\ncache: cold\noutage_streak: 50\n")
        ran = evolve("benchmark", write_overlay(root), "--json", *options)
        ran = evolve("resume", "--json") if ran.code == 3 else ran
        decisions.add(json.dumps(ran.json()["decision"]))
        assert max(read_state(sweeps(root)[-1] / "journal.jsonl").attempts.values()) == 3
    assert len(decisions) == 1
    assert '"insufficient_evidence"' in decisions.pop()
