from __future__ import annotations

from pathlib import Path

from evolve.bench.estimate import History, totals
from evolve.records.row import Usage
from tests.bench.test_runner import reusing_workspace
from tests.builders import make_identity, make_row
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel


def row(task: str, ms: int | None, micros: int | None) -> object:
    usage = Usage(session_ms=ms, cost_usd_micros=micros)
    return make_row(task, 0).model_copy(update={"usage": usage})


def test_history_takes_medians_and_leaves_out_what_nobody_measured() -> None:
    agent = make_identity("t").agent_sha256
    rows = [row("t", 1000, 10), row("t", 3000, None), row("t", 8000, 30), row("u", None, None)]
    history = History.of(rows, {agent})  # type: ignore[arg-type]
    assert history.seconds == {(agent, "t"): 3.0}
    assert history.micros == {(agent, "t"): 20}
    assert history.largest_micros == {(agent, "t"): 30}
    assert History.of(rows, {"0" * 64}).seconds == {}  # type: ignore[arg-type]


def test_a_plan_is_added_up_before_anything_is_spent(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    settings = workspace / "evolve.yaml"
    price = "model: scripted, price: {input_usd: 10, output_usd: 10}}"
    settings.write_text(settings.read_text().replace("model: scripted}", price))
    overlay = reusing_workspace(workspace, evolve)
    calls = len(model.requests)
    value = evolve("benchmark", overlay, "--plan", "--json").json()["totals"]
    assert (value["cells"], value["to_pay"], value["canaries"], value["reused"]) == (48, 25, 1, 23)
    assert 0 < value["expected_micros"] < value["upper_micros"]
    assert value["saved_micros"] > 0
    limited = evolve("benchmark", overlay, "--plan", "--json", "--max-usd", "0.02").json()["totals"]
    assert limited["upper_micros"] + limited["drift_micros"] <= 20_000 < value["upper_micros"]
    text = evolve("benchmark", overlay, "--plan").out
    assert "48 cells: 24 fresh, 1 canary, 23 reuse" in text
    assert "reuse saves: 0.00" in text
    assert len(model.requests) == calls


def test_what_is_unknown_is_said_to_be_unknown(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    folder = workspace / "overlays/mine/skills/bracket"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text((workspace / "skills/bracket/SKILL.md").read_text() + "\nMore.\n")
    text = evolve("benchmark", "overlays/mine", "--plan").out
    assert "cost: at most unknown with every retry, expected unknown" in text
    assert "session time: expected unknown" in text


def test_an_empty_plan_costs_nothing() -> None:
    found = totals([], History({}, {}, {}), lambda _: None)
    assert (found.cells, found.upper_micros, found.expected_micros, found.expected_s) == (0, 0, 0, 0)
