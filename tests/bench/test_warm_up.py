"""One throw-away session an arm, booked beside the cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evolve.bench.journal import Spent, read_state
from evolve.models.base import ModelFault
from tests.bench.test_runner import OVERLAY, sweep_of, write_overlay
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, raising

PRICED = "model: scripted, price: {input_usd: 10, output_usd: 10}}"


@pytest.fixture
def warm(workspace: Path, model: ScriptedModel) -> Path:
    (workspace / "promotion/policy.yaml").write_text("schema: evolve/policy@1\n")
    settings = workspace / "evolve.yaml"
    settings.write_text(settings.read_text().replace("model: scripted}", PRICED))
    return workspace


def test_each_arm_is_warmed_up_once_before_the_first_cell(
    warm: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    value = evolve("benchmark", write_overlay(warm), "--workers", "4", "--json").json()
    assert len(model.requests) == 50
    first, second = model.requests[:2]
    assert first.messages[0] != second.messages[0]
    assert (first.max_output_tokens, second.max_output_tokens) == (16, 16)
    assert all(request.max_output_tokens == 20 for request in model.requests[2:])
    spend = json.loads((warm / value["evidence"] / "promotion.json").read_bytes())["spend"]
    assert (spend["fresh_rows"], spend["warm_ups"]) == (48, 2)
    state = read_state(sweep_of(warm) / "journal.jsonl")
    assert spend["overhead_usd_micros"] == sum(one.cost_usd_micros or 0 for one in state.spent) > 0
    assert state.booked_micros == spend["cost_usd_micros"] + spend["overhead_usd_micros"]
    assert evolve("audit", "--all").code == 0
    assert "beside them 2 warm-ups, at most 0.00" in evolve("report", value["evidence"]).out


def test_a_resumed_sweep_warms_up_only_what_it_still_pays_for(
    warm: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    assert evolve("benchmark", write_overlay(warm), "--max-cells", "47").code == 3
    model.requests.clear()
    assert evolve("resume").code == 0
    assert [request.max_output_tokens for request in model.requests] == [16, 20]


def test_a_warm_up_that_was_interrupted_stays_on_the_books(
    warm: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(KeyboardInterrupt(), [2])
    assert evolve("benchmark", write_overlay(warm)).code == 130
    model.before = lambda call: None
    assert evolve("resume").code == 0
    spent = read_state(sweep_of(warm) / "journal.jsonl").spent
    assert [one.why for one in spent] == ["warm-up", "lost", "warm-up", "warm-up"]
    assert spent[1].cost_usd_micros is not None
    assert spent[1].cost_usd_micros > 0


def test_a_budget_that_does_not_cover_the_warm_up_ends_before_it(
    warm: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    ran = evolve("benchmark", write_overlay(warm), "--max-usd", "0.000001")
    assert ran.code == 3
    assert not model.requests


@pytest.mark.parametrize("limit", [("--max-cells", "0"), ("--max-wall", "0")])
def test_no_warm_up_is_paid_for_when_no_cell_may_follow(
    warm: Path, model: ScriptedModel, evolve: CommandLine, limit: tuple[str, str]
) -> None:
    assert evolve("benchmark", write_overlay(warm), *limit).code == 3
    assert evolve("resume", *limit).code == 3
    assert not model.requests


def test_a_refused_account_is_met_by_the_warm_up(warm: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    model.before = raising(ModelFault("no credit", code="provider-refused"))
    ran = evolve("benchmark", write_overlay(warm))
    assert ran.code == 1
    assert "the provider refuses: no credit" in ran.err
    assert len(model.requests) == 1


def test_a_warm_up_that_fails_is_told_and_does_not_count(warm: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    model.before = raising(ModelFault("the provider stumbled"), [1])
    ran = evolve("benchmark", write_overlay(warm))
    assert ran.code == 0
    assert "failed (session-error: the provider stumbled); going on" in ran.err
    state = read_state(sweep_of(warm) / "journal.jsonl")
    assert len(state.settled) == 48
    assert not state.voided


def test_a_cold_sweep_has_none(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    evolve("benchmark", write_overlay(workspace))
    assert read_state(sweep_of(workspace) / "journal.jsonl").spent == []


def test_an_interrupted_attempt_of_unknown_cost_is_unknown_never_free(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(KeyboardInterrupt(), [5])
    assert evolve("benchmark", write_overlay(workspace)).code == 130
    assert read_state(sweep_of(workspace) / "journal.jsonl").spent == []
    model.before = lambda call: None
    value = evolve("resume", "--json").json()
    assert read_state(sweep_of(workspace) / "journal.jsonl").spent == [Spent("lost", None)]
    spend = json.loads((workspace / value["evidence"] / "promotion.json").read_bytes())["spend"]
    assert (spend["lost_attempts"], spend["overhead_usd_micros"]) == (1, None)
    assert evolve("audit", "--all").code == 0
    assert evolve("promote", OVERLAY).code == 0
