"""A metric that no row would hold is refused before anything is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.test_runner import write_overlay
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("cost_usd", "models.served has no price"),
        ("weighted_f1", "8 sealed tasks have no review to grade, as bracket-sealed-01"),
        ("tool_calls", "the chat agent reports none"),
        ("num_turns", "the chat agent reports none"),
        ("resolve_rate\ntie_break: cost_usd", "the policy breaks ties by cost_usd"),
    ],
)
def test_neither_a_look_nor_a_cell_is_spent(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, metric: str, said: str
) -> None:
    (workspace / "promotion/policy.yaml").write_text(f"schema: evolve/policy@1\ncache: cold\nmetric: {metric}\n")
    overlay = write_overlay(workspace)
    assert "blocked" in evolve("benchmark", overlay, "--plan").out
    ran = evolve("benchmark", overlay)
    assert ran.code == 2
    assert said in ran.err
    assert "choose another metric in" in ran.err
    assert not model.requests
    assert not (workspace / "promotion/ledger.jsonl").exists()


def test_a_price_makes_the_cost_one_that_decides(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    spec = workspace / "evolve.yaml"
    priced = spec.read_text().replace("model: scripted}", "model: scripted, price: {input_usd: 1, output_usd: 2}}")
    spec.write_text(priced)
    (workspace / "promotion/policy.yaml").write_text("schema: evolve/policy@1\ncache: cold\nmetric: cost_usd\n")
    assert evolve("benchmark", write_overlay(workspace)).code == 0
