from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evolve.bench.budget import Admission, Budget, Limits
from evolve.bench.journal import fold, read_events
from evolve.errors import EnvironmentFault
from evolve.files import writer_lock
from evolve.models.base import ModelFault, ModelTimeout
from evolve.records.base import read_jsonl
from evolve.records.kinds import ErrorKind
from evolve.records.row import Row
from tests.conftest import CommandLine
from tests.worlds import Answer, ModelServer, ScriptedModel, follow_the_skill, git, make_workspace, raising

OVERLAY = "overlays/by-hand"


def write_overlay(root: Path) -> str:
    folder = root / OVERLAY / "skills/bracket"
    folder.mkdir(parents=True)
    text = (root / "skills/bracket/SKILL.md").read_text()
    (folder / "SKILL.md").write_text(text + "\n## Examples\n\nUser: the number 7\nReply: <7>\n")
    return OVERLAY


def sweep_of(root: Path, purpose: str = "sealed") -> Path:
    return next((root / "results/sweeps").glob(f"{purpose}-*"))


def rows_of(sweep: Path) -> list[Row]:
    return list(read_jsonl(Row, sweep / "rows.jsonl"))


def test_pairs_run_next_to_each_other_and_share_their_seed(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("benchmark", write_overlay(workspace))
    rows = rows_of(sweep_of(workspace))
    assert len(rows) == 48
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert (first.identity.task, first.identity.run) == (second.identity.task, second.identity.run)
        assert first.identity.seed == second.identity.seed
        assert {first.arm, second.arm} == {"incumbent", "candidate"}
    assert sum(row.arm == "incumbent" for row in rows[::2]) == 12


def test_the_same_benchmark_is_measured_once(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    overlay = write_overlay(workspace)
    first = evolve("benchmark", overlay, "--json").json()
    calls = len(model.requests)
    second = evolve("benchmark", overlay, "--json")
    assert second.json() == first
    assert "measured already" in second.err
    assert len(model.requests) == calls


def test_a_plan_costs_nothing_and_writes_nothing(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    ran = evolve("benchmark", write_overlay(workspace), "--plan")
    assert ran.code == 0
    assert "48 cells: 48 fresh" in ran.out
    assert not model.requests
    assert not (workspace / "results/sweeps").exists()
    assert not (workspace / "promotion/ledger.jsonl").exists()


def test_a_failed_session_is_tried_again_and_every_attempt_is_kept(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(ModelFault("the provider stumbled"), (3, 4))
    assert evolve("benchmark", write_overlay(workspace)).code == 0
    state = fold(read_events(sweep_of(workspace) / "journal.jsonl"))
    assert [row.kind for _, row in state.voided] == [ErrorKind.SESSION_ERROR] * 2
    assert len(state.settled) == 48
    assert max(state.attempts.values()) == 3
    spend = json.loads(next((workspace / "promotion/bracket").glob("*/promotion.json")).read_bytes())["spend"]
    assert (spend["voided_attempts"], spend["fresh_rows"]) == (2, 48)
    assert evolve("audit", "--all").code == 0


def test_a_timeout_counts_against_the_arm_and_is_not_tried_again(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(ModelTimeout("no reply within 20 s"), [5])
    evolve("benchmark", write_overlay(workspace))
    kinds = [row.kind for row in rows_of(sweep_of(workspace))]
    assert kinds.count(ErrorKind.AGENT_TIMEOUT) == 1
    assert len(model.requests) == 48


def test_an_outage_stops_the_sweep_and_resume_pays_only_for_the_rest(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(ModelFault("the provider is down"), range(11, 1000))
    ran = evolve("benchmark", write_overlay(workspace))
    assert ran.code == 1
    assert "5 attempts in a row failed with session-error: the provider is down" in ran.err
    assert len(model.requests) == 15
    model.before = lambda call: None
    model.requests.clear()
    assert evolve("resume").code == 0
    assert len(model.requests) == 38
    assert len(rows_of(sweep_of(workspace))) == 48


def test_a_cell_that_never_settles_leaves_the_evidence_insufficient(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    def one_bad_task(system: str, user: str, seed: int) -> str:
        if user.endswith("304"):
            raise ModelFault("cannot")
        return "<1>"

    model.answer = one_bad_task
    policy = workspace / "promotion/policy.yaml"
    policy.write_text("schema: evolve/policy@1\noutage_streak: 100\nmax_attempts: 2\n")
    ran = evolve("benchmark", write_overlay(workspace), "--json")
    decision = ran.json()["decision"]
    assert decision["outcome"] == "insufficient_evidence"
    assert [(r["code"], r["tasks"]) for r in decision["reasons"]] == [("incomplete", ["bracket-sealed-04"])]


def reusing_workspace(root: Path, evolve: CommandLine) -> str:
    """Measure an overlay once, so that the incumbent's rows may be reused; return a second overlay."""
    evolve("benchmark", write_overlay(root))
    folder = root / "overlays/second/skills/bracket"
    folder.mkdir(parents=True)
    text = (root / "skills/bracket/SKILL.md").read_text()
    (folder / "SKILL.md").write_text(text + "\nUse angle brackets.\n")
    return "overlays/second"


def test_a_wholly_reused_arm_pays_for_one_canary_and_keeps_the_first_measurement_time(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    overlay = reusing_workspace(workspace, evolve)
    before = {row.key: row for row in rows_of(sweep_of(workspace)) if row.arm == "incumbent"}
    model.requests.clear()
    value = evolve("benchmark", overlay, "--json").json()
    assert len(model.requests) == 25
    promotion = json.loads((workspace / value["evidence"] / "promotion.json").read_bytes())
    assert promotion["reuse"]["reused_rows"] == 23
    assert len(promotion["reuse"]["canaries"]) == 1
    rows = list(read_jsonl(Row, workspace / value["evidence"] / "rows.jsonl"))
    reused = [row for row in rows if row.reused]
    assert all(row.measured_at == before[row.key].measured_at for row in reused)
    assert not any(row.reused for row in rows if row.arm == "candidate")
    assert evolve("audit", "--all").code == 0


def test_a_canary_that_disagrees_drops_the_reuse_and_the_arm_is_paid_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    overlay = reusing_workspace(workspace, evolve)
    model.requests.clear()
    model.answer = lambda system, user, seed: f"<{user.split()[-1]}>"
    ran = evolve("benchmark", overlay, "--json")
    assert "its reused rows are dropped" in ran.err
    assert len(model.requests) == 48
    promotion = json.loads((workspace / ran.json()["evidence"] / "promotion.json").read_bytes())
    assert promotion["reuse"]["dropped_arms"] == ["incumbent"]
    assert promotion["reuse"]["reused_rows"] == 0
    assert evolve("audit", "--all").code == 0


def test_no_reuse_measures_the_incumbent_afresh(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    overlay = reusing_workspace(workspace, evolve)
    model.requests.clear()
    evolve("benchmark", overlay, "--no-reuse")
    assert len(model.requests) == 48


def test_a_reply_that_was_changed_is_not_reused(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    overlay = reusing_workspace(workspace, evolve)
    for reply in (sweep_of(workspace) / "replies").iterdir():
        reply.write_text("something else")
    plan = evolve("benchmark", overlay, "--plan").out
    assert "48 cells: 48 fresh" in plan
    assert "its reply is gone or was changed" in plan


def test_a_second_writer_is_told_who_holds_the_sweep(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    overlay = write_overlay(workspace)

    model.before = raising(KeyboardInterrupt())
    assert evolve("benchmark", overlay).code == 130
    with writer_lock(sweep_of(workspace) / ".lock", "it"):
        ran = evolve("resume")
    assert ran.code == 1
    assert f"pid {os.getpid()}" in ran.err


def test_a_full_disk_stops_the_sweep_and_loses_no_settled_row(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, [0]

    def full(descriptor: int) -> None:
        calls[0] += 1
        if calls[0] == 60:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    ran = evolve("benchmark", write_overlay(workspace))
    assert ran.code == 1
    assert "No space left on device" in ran.err
    assert "evolve resume" in ran.err
    settled = fold(read_events(sweep_of(workspace) / "journal.jsonl")).settled
    assert settled
    paid = len(model.requests)
    assert evolve("resume").code == 0
    assert len(rows_of(sweep_of(workspace))) == 48
    assert len(model.requests) <= paid + 48 - len(settled)


def test_a_damaged_journal_is_refused_with_its_line(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    model.before = raising(KeyboardInterrupt(), [6])
    evolve("benchmark", write_overlay(workspace))
    path = sweep_of(workspace) / "journal.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b'"attempt":1', b'"attempt":2')
    path.write_bytes(b"\n".join(lines))
    ran = evolve("resume", sweep_of(workspace).name)
    assert ran.code == 1
    assert "journal.jsonl:3" in ran.err


def test_a_run_that_was_killed_at_random_moments_ends_in_the_same_rows(tmp_path: Path, served: ModelServer) -> None:
    """SIGKILL a real process again and again; the journal alone carries what was paid for."""
    served.delay_s = 0.01
    calm = make_workspace(tmp_path / "calm", base_url=served.url)
    overlay = write_overlay(calm)
    command = [sys.executable, "-m", "evolve", "benchmark", overlay]
    subprocess.run(command, cwd=calm, check=True, capture_output=True)
    wanted = [(r.key, r.arm, r.resolved, r.reply_sha256) for r in rows_of(sweep_of(calm))]
    assert served.calls == 48

    served.calls = 0
    root = make_workspace(tmp_path / "killed", base_url=served.url)
    write_overlay(root)
    rng, kills = random.Random(7), 0
    for _ in range(6):
        process = subprocess.Popen(command, cwd=root, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.9, 1.6))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
        if list((root / "results/sweeps").glob("sealed-*/journal.jsonl")):
            command = [sys.executable, "-m", "evolve", "resume"]
        if process.returncode == 0 and command[-1] == "resume":
            break
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    assert kills >= 1
    assert [(r.key, r.arm, r.resolved, r.reply_sha256) for r in rows_of(sweep_of(root))] == wanted
    assert served.calls <= 48 + kills
    state = fold(read_events(sweep_of(root) / "journal.jsonl"))
    assert len(state.settled) == 48
    decisions = [
        json.loads(next((r / "promotion/bracket").glob("*/promotion.json")).read_bytes())["decision"]
        for r in (calm, root)
    ]
    assert decisions[0] == decisions[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_sweep_with_130_and_the_command_that_goes_on(
    tmp_path: Path, served: ModelServer, number: signal.Signals
) -> None:
    served.delay_s = 0.2
    root = make_workspace(tmp_path / "signalled", base_url=served.url)
    command = [sys.executable, "-m", "evolve", "benchmark", write_overlay(root)]
    process = subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True)
    while served.calls < 2:
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "evolve resume" in err


def test_the_sandbox_failing_is_an_infrastructure_error_and_not_the_arms(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evolve.bench import cell

    def broken(*_: object) -> None:
        raise EnvironmentFault("bubblewrap does not work here")

    monkeypatch.setattr(cell, "verify_and_tell", broken)
    ran = evolve("benchmark", write_overlay(workspace))
    assert ran.code == 1
    assert "infra-error: bubblewrap does not work here" in ran.err


def test_uncommitted_changes_elsewhere_do_not_matter(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    (workspace / "notes.txt").write_text("mine")
    git(workspace, "add", "notes.txt")
    overlay = write_overlay(workspace)
    assert evolve("benchmark", overlay).code == 0
    assert evolve("promote", overlay).code == 0
    assert "A  notes.txt" in git(workspace, "status", "--porcelain")


def test_a_hopeless_candidate_is_not_paid_for_to_the_end(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.answer = lambda system, user, seed: "no" if "## Examples" in system else f"<{user.split()[-1]}>"
    overlay = write_overlay(workspace)
    ran = evolve("benchmark", overlay, "--stop-when-decided", "--json")
    assert ran.code == 0
    reasons = [reason["code"] for reason in ran.json()["decision"]["reasons"]]
    assert ran.json()["decision"]["outcome"] == "keep_incumbent"
    assert "stopped-early" in reasons
    assert 0 < len(model.requests) < 36
    promotion = json.loads((workspace / ran.json()["evidence"] / "promotion.json").read_bytes())
    assert promotion["spend"]["saved_cells"] == 48 - len(model.requests)
    assert evolve("audit", "--all").code == 0
    assert "not needed" in evolve("report", ran.json()["evidence"]).out


def test_a_candidate_that_has_won_whatever_the_rest_does_is_not_paid_for_to_the_end(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    value = evolve("benchmark", write_overlay(workspace), "--stop-when-decided", "--json").json()
    assert value["decision"]["outcome"] == "promote"
    assert 24 < len(model.requests) < 48
    assert "take every other for the worst" in value["decision"]["reasons"][0]["text"]
    estimate = value["decision"]["estimates"][0]
    assert estimate["value"] < 100
    assert evolve("audit", "--all").code == 0
    assert evolve("promote", OVERLAY).code == 0
    assert evolve("audit", "--all").code == 0


def refuse_examples(system: str, user: str, seed: int) -> str:
    return "no" if "## Examples" in system else f"<{user.split()[-1]}>"


@pytest.mark.parametrize("answer", [follow_the_skill, refuse_examples])
@pytest.mark.parametrize("options", [(), ("--stop-when-decided",)])
def test_decisions_are_the_same_to_the_byte_for_every_number_of_workers(
    tmp_path: Path,
    model: ScriptedModel,
    evolve: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    answer: Answer,
) -> None:
    model.answer = answer
    model.before = lambda call: time.sleep(0.002 * (call % 3))
    decisions = set()
    for workers in ("1", "2", "8"):
        root = make_workspace(tmp_path / f"w{workers}")
        monkeypatch.chdir(root)
        value = evolve("benchmark", write_overlay(root), "--workers", workers, "--json", *options).json()
        rows = [(r.key, r.arm, r.resolved, r.reply_sha256) for r in rows_of(sweep_of(root))]
        decisions.add(json.dumps([value["decision"], rows]))
        assert evolve("audit", "--all").code == 0
    assert len(decisions) == 1


def test_a_budget_of_cells_ends_with_exit_3_and_is_gone_on_with(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    ran = evolve("benchmark", write_overlay(workspace), "--max-cells", "10")
    assert ran.code == 3
    assert "10 cells were begun, as many as are allowed" in ran.err
    assert len(model.requests) == 10
    assert "what was spent so far counts" in ran.err
    assert evolve("resume", "--max-cells", "10").code == 3
    assert len(model.requests) == 10
    assert evolve("resume", "--max-cells", "48").code == 0
    assert len(model.requests) == 48


def test_a_budget_of_money_needs_a_price(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    ran = evolve("benchmark", write_overlay(workspace), "--max-usd", "1")
    assert ran.code == 2
    assert "price: {input_usd" in ran.err
    assert not model.requests
    assert not (workspace / "promotion/ledger.jsonl").exists()


def test_a_budget_of_money_is_never_broken(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    settings = workspace / "evolve.yaml"
    price = "model: scripted, price: {input_usd: 10, output_usd: 10}}"
    settings.write_text(settings.read_text().replace("model: scripted}", price))
    ran = evolve("benchmark", write_overlay(workspace), "--max-usd", "0.012")
    assert ran.code == 3
    spent = sum(r.usage.cost_usd_micros or 0 for r in rows_of(sweep_of(workspace)))
    assert 0 < spent <= 12_000
    plan = evolve("benchmark", OVERLAY, "--plan", "--max-usd", "0.012").out
    assert f"{48 - len(model.requests)} blocked" in plan
    assert f"{len(model.requests)} done" in plan
    assert "the budget may end before it: 0.0" in plan
    assert evolve("resume", "--max-usd", "0.012").code == 3
    assert evolve("resume", "--max-usd", "5").code == 0
    assert len(model.requests) == 48


def test_a_refused_account_stops_at_the_first_cell(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    model.before = raising(ModelFault("no credit", code="provider-refused"))
    ran = evolve("benchmark", write_overlay(workspace))
    assert ran.code == 1
    assert "the provider refuses: no credit" in ran.err
    assert len(model.requests) == 1


def test_a_source_that_is_gone_means_that_its_cell_is_run(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    overlay = reusing_workspace(workspace, evolve)

    model.before = raising(KeyboardInterrupt())
    assert evolve("benchmark", overlay).code == 130
    sweeps = (workspace / "results/sweeps").glob("sealed-*")
    old = next(path for path in sweeps if fold(read_events(path / "journal.jsonl")).finished)
    shutil.rmtree(old)
    next((workspace / "results/sweeps").glob("sealed-*/sources.jsonl")).unlink()
    model.before = lambda call: None
    model.requests.clear()
    ran = evolve("resume")
    assert ran.code == 0, ran.err
    assert "is run, not reused" in ran.err
    assert len(model.requests) == 48
    assert evolve("audit", "--all").code == 0


def test_a_lost_cell_counts_once_towards_the_number_of_cells(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(KeyboardInterrupt(), [5])
    assert evolve("benchmark", write_overlay(workspace), "--max-cells", "48").code == 130
    model.before = lambda call: None
    assert evolve("resume", "--max-cells", "48").code == 0


def test_a_report_of_a_sweep_is_read_from_its_journal(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    assert evolve("benchmark", write_overlay(workspace), "--max-cells", "20").code == 3
    sweep = sweep_of(workspace)
    stale = (sweep / "rows.jsonl").read_text().splitlines(keepends=True)[:5]
    (sweep / "rows.jsonl").write_text("".join(stale))
    assert "20 of 48 cells" in evolve("report", sweep.name).out


def test_the_gate_decides_on_a_sweep_that_ended_early_as_the_benchmark_did(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    first = evolve("benchmark", write_overlay(workspace), "--stop-when-decided", "--json").json()["decision"]
    assert evolve("gate", sweep_of(workspace).name, "--json").json() == first


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", "x"])
@pytest.mark.parametrize("option", ["--max-usd", "--max-wall"])
def test_a_limit_that_is_no_number_is_a_usage_error(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, option: str, value: str
) -> None:
    ran = evolve("benchmark", write_overlay(workspace), option, value)
    assert ran.code == 2
    assert option in ran.err


def test_a_plan_that_is_gone_is_said_and_no_other_is_written(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    overlay = write_overlay(workspace)
    assert evolve("benchmark", overlay, "--max-cells", "20").code == 3
    sweep = sweep_of(workspace)
    (sweep / "plan.json").unlink()
    ran = evolve("resume", sweep.name)
    assert ran.code == 2
    assert "its plan.json is gone" in ran.err
    ran = evolve("benchmark", overlay)
    assert ran.code == 1
    assert "the plan that this sweep was begun with is gone" in ran.err
    assert not (sweep / "plan.json").exists()


def test_the_wall_limit_is_that_of_the_whole_command() -> None:
    budget = Budget(Limits(wall_s=50), started=time.monotonic() - 49)
    assert budget.would_admit(0)
    assert budget.reason is None
    budget.started -= 2
    assert not budget.would_admit(0)
    assert budget.admit(0, 0, budget.elapsed_s) is Admission.NO


def test_an_interrupted_program_prints_json_alone(tmp_path: Path, served: ModelServer) -> None:
    served.delay_s = 0.3
    root = make_workspace(tmp_path / "signalled", base_url=served.url)
    command = [sys.executable, "-m", "evolve", "benchmark", write_overlay(root), "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=root, stdout=pipe, stderr=pipe, text=True) as process:
        while served.calls < 2:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert [json.loads(line)["event"] for line in err.splitlines()][-1] == "error"


def test_asking_for_no_reuse_too_late_is_said(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    overlay = reusing_workspace(workspace, evolve)
    assert evolve("benchmark", overlay, "--max-cells", "3").code == 3
    ran = evolve("benchmark", overlay, "--no-reuse")
    assert ran.code == 0
    assert "this sweep was begun with reuse" in ran.err
