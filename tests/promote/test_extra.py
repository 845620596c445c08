"""More runs of both arms for a task whose regression may be noise, from the sweep to the audit."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from evolve.bench.identity import cell_seed
from evolve.promote.evidence import Evidence, read_evidence
from evolve.promote.extra import extra_context, extra_sweeps
from evolve.promote.ledger import read_ledger
from evolve.records.base import jsonl_bytes, read_json
from evolve.records.ledger import LedgerEntry
from evolve.records.plan import Plan
from evolve.stats.multiplicity import alpha_at
from tests.bench.test_runner import sweep_of, write_overlay
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, git, raising

UNLUCKY = "301"


@dataclass
class Unlucky:
    """Follows the skill, but for one task: its first runs fail with the candidate by chance, or always."""

    always: bool = False

    def __call__(self, system: str, user: str, seed: int) -> str:
        number = re.findall(r"\d+", user)[-1]
        taught = "## Examples" in system
        if number != UNLUCKY:
            return f"<{number}>" if taught else number
        if not taught:
            return f"<{number}>"
        early = seed in [cell_seed("bracket-sealed-01", run) for run in range(2)]
        return number if early or self.always else f"<{number}>"


@pytest.fixture
def overlay(workspace: Path, model: ScriptedModel) -> str:
    model.answer = Unlucky()
    return write_overlay(workspace)


def evidence_of(root: Path) -> Evidence:
    return read_evidence(next((root / "promotion/bracket").iterdir()))


def main_sweep(root: Path) -> Path:
    found = [path for path in (root / "results/sweeps").glob("sealed-*") if "extra" not in context(path)]
    assert len(found) == 1
    return found[0]


def context(sweep: Path) -> str:
    return read_json(Plan, sweep / "plan.json").context


def test_a_task_that_regresses_by_chance_is_measured_again_and_the_candidate_promoted(
    workspace: Path, overlay: str, evolve: CommandLine
) -> None:
    ran = evolve("benchmark", overlay, "--json")
    assert ran.json()["decision"]["outcome"] == "promote", ran.err
    promotion, sweep = evidence_of(workspace).promotion, main_sweep(workspace)
    rounds = extra_sweeps(sweep.parent, sweep.name)
    assert [context(path) for path in rounds] == [extra_context(sweep.name)] * len(rounds)
    assert [extra.sweep for extra in promotion.extra] == [path.name for path in rounds]
    assert len(rounds) == 3
    assert promotion.extra[0].tasks == ("bracket-sealed-01",)
    assert (promotion.extra[0].first_run, promotion.extra[0].runs) == (3, 3)
    more = [row for row in evidence_of(workspace).rows if row.identity.run >= 3]
    assert {row.identity.task for row in more} == {"bracket-sealed-01"}
    assert len(more) == 2 * sum(extra.runs for extra in promotion.extra)
    by_task = {task.task: task.extra_runs for task in promotion.decision.tasks}
    assert by_task["bracket-sealed-01"] == sum(extra.runs for extra in promotion.extra)
    assert sum(by_task.values()) == by_task["bracket-sealed-01"]

    folder = evidence_of(workspace).folder.relative_to(workspace).as_posix()
    expected = promotion.decision.json_value()
    assert evolve("gate", sweep.name, "--json").json() == expected
    assert evolve("gate", folder, "--json").json() == expected
    assert evolve("audit", "--all").code == 0
    assert evolve("promote", overlay).code == 0
    assert evolve("audit", "--all").code == 0


def test_a_task_that_is_lost_for_good_keeps_the_incumbent(
    workspace: Path, model: ScriptedModel, overlay: str, evolve: CommandLine
) -> None:
    model.answer = Unlucky(always=True)
    ran = evolve("benchmark", overlay, "--json")
    assert ran.json()["decision"]["outcome"] == "keep_incumbent"
    assert "task-regression" in ran.out
    assert evolve("audit", "--all").code == 0


def calls_of(model: ScriptedModel, evolve: CommandLine, overlay: str) -> int:
    assert evolve("benchmark", overlay).code == 0
    return len(model.requests)


@pytest.mark.parametrize("before_the_end", [1, 6, 11, 20])
def test_killed_in_a_round_and_resumed_it_ends_in_the_same_decision(
    workspace: Path, model: ScriptedModel, overlay: str, evolve: CommandLine, before_the_end: int
) -> None:
    calls = calls_of(model, evolve, overlay)
    expected = evidence_of(workspace).promotion
    folder = next((workspace / "promotion/bracket").iterdir())
    shutil.rmtree(workspace / "results")
    shutil.rmtree(folder)
    (workspace / "promotion/ledger.jsonl").unlink()

    model.before = raising(KeyboardInterrupt(), [calls + calls - before_the_end + 1])
    assert evolve("benchmark", overlay).code != 0
    assert not list((workspace / "promotion/bracket").glob("*/promotion.json"))
    model.before = lambda _: None
    assert evolve("benchmark", overlay).code == 0
    found = evidence_of(workspace).promotion
    assert found.decision == expected.decision
    assert [extra.tasks for extra in found.extra] == [extra.tasks for extra in expected.extra]
    assert evolve("audit", "--all").code == 0


def test_a_control_that_the_policy_asks_for_is_measured_and_audited(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    policy = workspace / "promotion/policy.yaml"
    policy.write_text(policy.read_text() + "control: true\n")
    git(workspace, "commit", "--quiet", "--all", "--message", "Ask for a control")
    overlay = write_overlay(workspace)
    ran = evolve("benchmark", overlay, "--json")
    assert ran.json()["decision"]["outcome"] == "promote", ran.out
    rows = [row for row in evidence_of(workspace).rows if row.arm == "control"]
    assert len(rows) == 24
    assert {row.role for row in rows} == {"control"}
    assert not any(row.reused for row in rows)
    assert evolve("audit", "--all").code == 0
    assert evolve("gate", sweep_of(workspace).name, "--json").json()["outcome"] == "promote"


def entries_of(root: Path) -> list[LedgerEntry]:
    return list(read_ledger(root / "promotion"))


def test_every_round_is_in_the_ledger_before_it_is_measured(
    workspace: Path, model: ScriptedModel, overlay: str, evolve: CommandLine
) -> None:
    calls = calls_of(model, evolve, overlay)
    rounds = [extra.sweep for extra in evidence_of(workspace).promotion.extra]
    kinds = [entry.entry for entry in entries_of(workspace)]
    assert kinds == ["look", *["round"] * len(rounds), "decision"]
    assert [entry.sweep for entry in entries_of(workspace)[1:-1]] == rounds
    shutil.rmtree(workspace / "results")
    shutil.rmtree(workspace / "promotion/bracket")
    (workspace / "promotion/ledger.jsonl").unlink()
    model.before = raising(KeyboardInterrupt(), [calls + calls])
    assert evolve("benchmark", overlay).code == 130
    assert [entry.entry for entry in entries_of(workspace)] == kinds[:-1]


def test_a_round_that_is_thrown_away_makes_for_another_look(
    workspace: Path, model: ScriptedModel, overlay: str, evolve: CommandLine
) -> None:
    calls = calls_of(model, evolve, overlay)
    shutil.rmtree(workspace / "results")
    shutil.rmtree(workspace / "promotion/bracket")
    (workspace / "promotion/ledger.jsonl").unlink()
    model.before = raising(KeyboardInterrupt(), [calls + calls])
    assert evolve("benchmark", overlay).code == 130
    model.before = lambda _: None
    last = entries_of(workspace)[-1].sweep
    shutil.rmtree(workspace / "results/sweeps" / last)
    ran = evolve("benchmark", overlay)
    assert ran.code == 0
    assert "the rows of this round are lost; measured afresh, it is another look" in ran.err
    promotion = evidence_of(workspace).promotion
    assert promotion.ledger.look == 2
    assert promotion.ledger.alpha == pytest.approx(alpha_at(2, 0.05))
    assert promotion.decision.level is not None
    assert promotion.decision.level.granted == promotion.ledger.alpha
    assert evolve("audit", "--all").code == 0


def test_an_audit_misses_a_round_that_the_ledger_does_not_know(
    workspace: Path, overlay: str, evolve: CommandLine
) -> None:
    assert evolve("benchmark", overlay).code == 0
    ledger = workspace / "promotion/ledger.jsonl"
    kept: list[LedgerEntry] = []
    previous: str | None = None
    for entry in entries_of(workspace):
        if entry.entry != "round":
            chained = entry.model_copy(update={"seq": len(kept), "previous": previous})
            kept.append(chained)
            previous = chained.digest()
    ledger.write_bytes(jsonl_bytes(tuple(kept)))
    ran = evolve("audit", "--all")
    assert ran.code == 4
    assert re.search(r"FAULT .* round sealed-bracket-", ran.out)


def test_a_report_names_the_further_rounds(workspace: Path, overlay: str, evolve: CommandLine) -> None:
    assert evolve("benchmark", overlay).code == 0
    folder = evidence_of(workspace).folder.relative_to(workspace).as_posix()
    text = evolve("report", folder).out
    assert "runs 3 to 5 of bracket-sealed-01 in both arms" in text
    assert "its regression was looked at in 9 more runs of each arm" in text
