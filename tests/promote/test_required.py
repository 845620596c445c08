"""Required arms, from the workspace to the audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.promote.evidence import read_evidence
from tests.bench.test_runner import sweep_of, write_overlay
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, follow_the_skill, git


def require(workspace: Path, policy: str = "") -> None:
    spec = workspace / "evolve.yaml"
    spec.write_text(spec.read_text() + "arms:\n  cool: {temperature: 0.1}\nrequired: [cool]\n")
    rules = workspace / "promotion/policy.yaml"
    rules.write_text(rules.read_text() + policy)
    git(workspace, "commit", "--quiet", "--all", "--message", "Require another agent")


@pytest.mark.parametrize("policy", ["", "control: true\n"])
def test_both_pairs_are_measured_and_the_winner_in_both_is_promoted(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, policy: str
) -> None:
    require(workspace, policy)
    overlay = write_overlay(workspace)
    ran = evolve("benchmark", overlay, "--json")
    assert ran.json()["decision"]["outcome"] == "promote", ran.out
    evidence = read_evidence(next((workspace / "promotion/bracket").iterdir()))
    arms = {"incumbent", "candidate", "cool", "cool-candidate"} | ({"control"} if policy else set())
    assert {row.arm for row in evidence.rows} == arms
    assert [arm.arm for arm in evidence.promotion.decision.required] == ["cool-candidate"]
    assert len({row.identity.agent_sha256 for row in evidence.rows}) == 2
    expected = evidence.promotion.decision.json_value()
    assert evolve("gate", sweep_of(workspace).name, "--json").json() == expected
    assert evolve("audit", "--all").code == 0
    assert evolve("promote", overlay).code == 0
    assert evolve("audit", "--all").code == 0


def test_one_that_loses_in_a_required_pair_is_kept(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(workspace)

    def worse_when_cool(system: str, user: str, seed: int) -> str:
        cool = model.requests[-1].temperature == 0.1
        return "No." if cool else follow_the_skill(system, user, seed)

    model.answer = worse_when_cool
    overlay = write_overlay(workspace)
    decision = evolve("benchmark", overlay, "--json").json()["decision"]
    assert decision["outcome"] == "keep_incumbent"
    assert decision["required"][0]["outcome"] == "keep_incumbent"
    assert {reason["code"] for reason in decision["reasons"]} >= {"improvement", "required-arm-not-won"}
    assert evolve("audit", "--all").code == 0
