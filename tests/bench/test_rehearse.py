from __future__ import annotations

from pathlib import Path

import pytest

from evolve.bench import cell
from evolve.errors import EnvironmentFault
from evolve.records.base import read_jsonl
from evolve.records.row import Row
from tests.bench.test_runner import reusing_workspace, rows_of, sweep_of, write_overlay
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel


def test_every_reference_is_played_through_the_path_of_a_paid_cell(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    ran = evolve("rehearse", "--json")
    assert ran.code == 0, ran.err
    value = ran.json()
    assert len(value) == 28
    assert all(item["as_expected"] for item in value)
    assert {item["kind"] for item in value if item["plays"] == "bad"} == {"oracle-failed"}
    assert not model.requests
    assert not (workspace / "results").exists()


def test_a_broken_sandbox_is_found_before_money_is_spent(
    workspace: Path, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise EnvironmentFault("the sandbox is gone")

    monkeypatch.setattr(cell, "verify_and_tell", broken)
    ran = evolve("rehearse", "--skill", "bracket")
    assert ran.code == 1
    assert "bracket-train-01: the good reference ended as infra-error the sandbox is gone" in ran.err
    assert "28 cells rehearsed, 28 did not end as they must" in ran.out


def test_edit_tasks_are_rehearsed_too(workspace: Path, evolve: CommandLine) -> None:
    folder = workspace / "corpus/bracket-train-02"
    task = folder / "task.yaml"
    text = task.read_text().split("verify:")[0]
    task.write_text(text.replace("prompt:", "kind: edit\nprompt:"))
    (folder / "oracle/oracle.yaml").write_text(
        "schema: evolve/oracle@1\nchecks:\n  - {id: set, kind: ini-options, file: a.ini,"
        " options: {s.k: '2'}, rule: Set k.}\n"
    )
    for name, value in (("seed", "1"), ("reference/good", "2"), ("reference/bad", "3")):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "a.ini").write_text(f"[s]\nk = {value}\n")
        (folder / name / "answer.md").unlink(missing_ok=True)
    assert evolve("check").code == 0
    assert evolve("rehearse").code == 0


def test_what_cannot_be_rehearsed_is_refused(workspace: Path, evolve: CommandLine) -> None:
    assert evolve("rehearse", "--skill", "nope").code == 2
    task = workspace / "corpus/bracket-train-01/task.yaml"
    task.write_text(task.read_text().replace("[bracket]", "[ghost]"))
    ran = evolve("rehearse")
    assert ran.code == 2
    assert "ghost" in ran.err


def test_a_mended_check_is_run_over_the_kept_replies(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("benchmark", write_overlay(workspace))
    sweep = sweep_of(workspace)
    before = (sweep / "rows.jsonl").read_bytes()
    calls = len(model.requests)
    assert "0 verdicts changed" in evolve("rescore", sweep.name).out
    oracle = workspace / "corpus/bracket-sealed-01/oracle/oracle.yaml"
    oracle.write_text(oracle.read_text().replace("<301>", "301"))
    ran = evolve("rescore", sweep.name)
    assert ran.code == 0
    assert "3 verdicts changed" in ran.out
    assert "bracket-sealed-01 run 0 (candidate): resolved -> oracle-failed" in ran.out
    assert len(model.requests) == calls
    assert (sweep / "rows.jsonl").read_bytes() == before
    again = list(read_jsonl(Row, sweep / "rescored-2.jsonl"))
    assert len(again) == len(rows_of(sweep))
    assert evolve("rescore", "nothing").code == 2


def test_a_reply_that_is_gone_cannot_be_rescored(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    evolve("benchmark", write_overlay(workspace))
    next((sweep_of(workspace) / "replies").iterdir()).unlink()
    ran = evolve("rescore", sweep_of(workspace).name)
    assert ran.code == 1
    assert "is gone" in ran.err


def test_reuse_may_be_held_to_one_sweep(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    overlay = reusing_workspace(workspace, evolve)
    name = sweep_of(workspace).name
    assert "23 reuse" in evolve("benchmark", overlay, "--plan", "--reuse", name).out
    ran = evolve("benchmark", overlay, "--plan", "--reuse", "nothing")
    assert ran.code == 2
    assert "no sweep named" in ran.err
