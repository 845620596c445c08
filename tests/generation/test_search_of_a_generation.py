"""The evolutionary search as a generation runs it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from evolve.propose.archive import read_archive, read_learnings
from evolve.records.base import read_json
from evolve.records.generation import Generation
from evolve.records.search import Checkpoint
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.generation.test_loop import newest
from tests.worlds import SKILLS, ScriptedModel, git, lucky_in_screening, make_workspace, raising, write_skill


def set_up(root: Path, **parts: object) -> None:
    path = root / "evolve.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **parts}))
    git(root, "commit", "--quiet", "--all", "--message", "Settings")


def no_gain(system: str, user: str, seed: int) -> str:
    return "no"


def only_examples(system: str, user: str, seed: int) -> str:
    """Resolve with any example in the skill, never without one."""
    return f"<{user.split()[-1]}>" if "## Examples" in system else "no"


ROUNDS = {"rounds": 3, "population": 3, "recombine": 2, "minibatch": 1, "rungs": 2}


def test_every_candidate_is_archived_with_where_it_comes_from_and_what_became_of_it(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    assert evolve("generation", "--apply").code == 0
    record = newest(workspace)
    entries = {entry.name: entry for entry in read_archive(find_workspace(workspace))}
    assert set(entries) == {"incumbent", *(proposal.name for proposal in record.proposals)}
    finalist = next(p.name for p in record.proposals if p.overlay_sha256 == record.finalist)
    entry = entries[finalist]
    assert (entry.fate, entry.evidence, entry.incumbent) == ("proven", record.evidence, record.fingerprint)
    assert entry.train and all(mean == 1.0 for mean, _ in entry.train.values())
    assert entry.parents == (record.fingerprint,)
    for one in entries.values():
        if one.overlay_sha256 is not None:
            assert (workspace / str(one.overlay) / "overlay.yaml").is_file()
    assert {task for one in entries.values() for task in one.train} <= {f"bracket-train-0{n}" for n in (1, 2, 3)}
    files = git(workspace, "show", "--name-only", "--format=%s", "HEAD").splitlines()
    assert files[0] == "Note what generation g0001 tried on bracket"
    assert {"overlays/archive.jsonl", "overlays/learnings.jsonl"} <= set(files)


def test_what_was_learnt_is_told_to_who_reflects_next(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.answer = no_gain
    assert evolve("generation").code == 0
    learnings = read_learnings(find_workspace(workspace))
    screened = [one for one in learnings if one.fate == "screened-out"]
    assert len(screened) >= 3
    assert all("train 0/" in one.numbers and "incumbent 0/" in one.numbers for one in screened)
    model.requests.clear()
    assert evolve("generation", "--operator", "reflect", "--population", "1").code == 0
    asked = [r.messages[-1].content for r in model.requests if "improve instruction texts" in r.messages[0].content]
    assert "Tried before and refused" in asked[0]
    assert "did better on train" in asked[0]


def test_an_idea_that_was_tried_before_is_refused_and_the_next_choice_is_made(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.answer = no_gain
    assert evolve("generation", "--operator", "demonstrate", "--population", "1").code == 0
    assert evolve("generation", "--operator", "demonstrate", "--population", "1").code == 0
    first, second = (
        read_json(Generation, workspace / f"results/generations/g000{n}/generation.json").proposals[0] for n in (1, 2)
    )
    assert first.overlay_sha256 != second.overlay_sha256
    assert second.refused is None
    entries = [entry for entry in read_archive(find_workspace(workspace)) if entry.overlay_sha256]
    digests = [entry.overlay_sha256 for entry in entries if not entry.name.startswith("g0001-")]
    assert len(digests) == len(set(digests))


def test_a_candidate_that_failed_at_the_gate_does_not_come_to_it_again(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.answer = lucky_in_screening
    assert evolve("generation").code == 0
    failed = newest(workspace).finalist
    assert failed is not None
    assert evolve("generation").code == 0
    assert newest(workspace).finalist != failed


def test_a_proven_candidate_is_promoted_without_measuring_anything_again(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    assert evolve("generation").code == 0
    proven = newest(workspace)
    model.requests.clear()
    ran = evolve("generation", "--apply")
    assert ran.code == 0
    assert "measured already, and is proven" in ran.err
    assert newest(workspace).evidence == proven.evidence
    assert newest(workspace).commit is not None
    assert len(model.requests) <= 3, "a canary of the baseline at most"
    assert git(workspace, "status", "--porcelain") == ""
    assert evolve("audit", "--all").code == 0


@pytest.mark.parametrize("stop", [4, 9, 15, 22, 30, 41])
def test_a_killed_search_of_several_rounds_makes_the_same_candidates(
    tmp_path: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    def search_of(root: Path) -> tuple[Checkpoint, list[str | None]]:
        folder = root / "results/generations/g0001"
        record = read_json(Generation, folder / "generation.json")
        return read_json(Checkpoint, folder / "search.json"), [p.overlay_sha256 for p in record.proposals]

    operators = ["demonstrate", "lesson", "prune", "merge"]
    roots = []
    for name in ("undisturbed", "killed"):
        root = make_workspace(tmp_path / name)
        set_up(root, search=ROUNDS, proposer={"model": "served", "operators": operators})
        monkeypatch.chdir(root)
        model.requests.clear()
        model.before = raising(KeyboardInterrupt(), [stop]) if name == "killed" else raising(KeyboardInterrupt(), [])
        first = evolve("generation")
        if name == "killed":
            assert first.code == 130
            assert evolve("resume").code == 0
        roots.append(root)
    assert search_of(roots[0]) == search_of(roots[1])


def test_rounds_go_on_from_what_the_rounds_before_found(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.answer = only_examples
    set_up(workspace, search=ROUNDS, proposer={"model": "served", "operators": ["demonstrate", "prune", "merge"]})
    assert evolve("generation").code == 0
    record = newest(workspace)
    assert record.outcome == "promote"
    assert any(record.fingerprint not in proposal.parents for proposal in record.proposals if proposal.parents)
    assert record.edits and record.edits[0].chance > 0.5
    report = (workspace / "results/generations/g0001/report.md").read_text()
    assert "What edits seem to earn" in report
    assert "Search: evolve" in report


@pytest.mark.parametrize("strategy", ["best-of-n", "hill-climb", "paired-hill-climb"])
def test_the_baselines_run_the_same_road(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, strategy: str
) -> None:
    ran = evolve("generation", "--strategy", strategy, "--operator", "demonstrate", "--apply")
    assert ran.code == 0, ran.err
    record = newest(workspace)
    assert (record.strategy, record.outcome) == (strategy, "promote")
    assert evolve("audit", "--all").code == 0


def test_a_search_keeps_to_its_evaluations(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    assert evolve("generation", "--max-evaluations", "9", "--rounds", "5", "--json").code == 0
    record = newest(workspace)
    assert 0 < record.evaluations <= 9
    state = read_json(Checkpoint, workspace / "results/generations/g0001/search.json")
    assert state.evaluations == record.evaluations


def test_a_generation_whose_policy_changed_is_given_up(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(KeyboardInterrupt(), [8])
    assert evolve("generation").code == 130
    (workspace / "promotion/policy.yaml").write_text("schema: evolve/policy@1\ncache: cold\nmin_improvement_pct: 1\n")
    ran = evolve("resume")
    assert ran.code == 2
    assert "promotion/policy.yaml is not what it was when it began" in ran.err
    assert newest(workspace).finished_at is not None


def test_a_generation_whose_sealed_task_changed_is_given_up(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(KeyboardInterrupt(), [8])
    assert evolve("generation").code == 130
    task = workspace / "corpus/bracket-sealed-01/task.yaml"
    task.write_text(task.read_text().replace("max_chars: 12", "max_chars: 13"))
    ran = evolve("resume")
    assert ran.code == 2
    assert "task bracket-sealed-01 is not what it was" in ran.err


def test_frozen_candidates_are_read_only_and_a_changed_one_ends_the_generation(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.before = raising(KeyboardInterrupt(), [8])
    assert evolve("generation").code == 130
    text = next((workspace / "results/generations/g0001/overlays").rglob("SKILL.md"))
    assert text.stat().st_mode & 0o222 == 0
    os.chmod(text, 0o644)
    text.write_text(text.read_text() + "\nAnd more.\n")
    ran = evolve("resume")
    assert ran.code == 2
    assert "gone or changed since it was proposed" in ran.err


def test_evidence_can_begin_with_one_sweep(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    assert evolve("generation").code == 0
    seed = newest(workspace).sweeps[0]
    other = evolve("generation", "--seed", "no-such-sweep")
    assert other.code == 2
    assert "--seed: no sweep named 'no-such-sweep'" in other.err
    assert newest(workspace).id == "g0001", "nothing was begun"
    assert evolve("generation", "--seed", seed).code == 0
    plan = json.loads((workspace / "results/sweeps" / newest(workspace).sweeps[0] / "plan.json").read_bytes())
    sources = {cell["source"]["sweep"] for cell in plan["cells"] if cell.get("source")}
    assert sources <= {seed}
    assert newest(workspace).request.seed == seed


def test_proposing_stops_at_its_budget_and_the_generation_goes_on(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    models = yaml.safe_load((workspace / "evolve.yaml").read_text())["models"]
    models["served"]["price"] = {"input_usd": 1.0, "output_usd": 1.0}
    set_up(workspace, models=models, proposer={"model": "served", "operators": ["demonstrate", "reflect"]})
    ran = evolve("generation", "--max-proposer-usd", "0.000001")
    assert ran.code == 0, ran.err
    record = newest(workspace)
    refused = [p for p in record.proposals if p.operator == "reflect"]
    assert len(refused) == 1, "asking again would be in vain"
    assert "USD are left for proposing" in str(refused[0].refused)
    assert record.proposer_usd_micros == 0
    assert record.outcome == "promote"


def test_what_proposing_costs_counts_towards_the_limit_of_the_command(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    models = yaml.safe_load((workspace / "evolve.yaml").read_text())["models"]
    models["served"]["price"] = {"input_usd": 100.0, "output_usd": 100.0}
    set_up(workspace, models=models, proposer={"model": "served", "operators": ["reflect"]})
    ran = evolve("generation", "--population", "1")
    assert ran.code == 0, ran.err
    assert newest(workspace).proposer_usd_micros
    assert "proposing cost" in ran.out


def test_a_cheaper_text_is_sought_where_every_train_task_is_resolved(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    body = "You give the number back. Be clear.\n\n- Please note that clarity is a virtue that all should have.\n"
    skill = workspace / "skills/bracket/SKILL.md"
    skill.write_text(skill.read_text().replace("You give the number back. Be clear.\n", body))
    (workspace / "promotion/policy.yaml").write_text(
        "schema: evolve/policy@1\ncache: cold\nmetric: input_tokens\nmin_improvement_pct: 1\n"
    )
    set_up(workspace, proposer={"model": "served", "operators": ["prune", "demonstrate"]})
    model.answer = lambda system, user, seed: f"<{user.split()[-1]}>"
    ran = evolve("generation", "--apply")
    assert ran.code == 0, ran.err
    record = newest(workspace)
    assert record.outcome == "promote", ran.out
    assert "virtue" not in skill.read_text()
    assert evolve("audit", "--all").code == 0


def test_a_crash_between_promotion_and_notes_loses_no_notes(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evolve.generation import loop

    def crash(*arguments: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "commit_notes", crash)
    assert evolve("generation", "--apply").code == 130
    monkeypatch.undo()
    monkeypatch.chdir(workspace)
    assert evolve("resume").code == 0
    record = newest(workspace)
    assert record.commit and record.notes_commit
    assert len(read_archive(find_workspace(workspace))) == 1 + len(record.proposals)
    assert git(workspace, "status", "--porcelain") == ""
    assert evolve("audit", "--all").code == 0


def test_what_else_lies_in_the_workspace_is_never_committed(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    (workspace / "mine.txt").write_text("mine")
    model.answer = lambda system, user, seed: f"<{user.split()[-1]}>"
    head = git(workspace, "rev-parse", "HEAD")
    assert evolve("generation", "--apply").code == 0
    assert git(workspace, "rev-parse", "HEAD") == head
    model.answer = no_gain
    assert evolve("generation", "--apply").code == 0
    assert git(workspace, "status", "--porcelain") == "?? mine.txt"


def test_the_selection_scores_of_the_incumbent_are_found_again_as_long_as_its_text_stands(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    from evolve.generation.earlier import earlier_selection

    here = find_workspace(workspace)
    assert earlier_selection(here, here.skill("bracket")) == ()
    assert evolve("generation").code == 0
    rows = earlier_selection(here, here.skill("bracket"))
    assert {(row.split.value, row.arm) for row in rows} == {("selection", "incumbent")}
    assert len(rows) == 6
    write_skill(workspace, "bracket", "Another text altogether.")
    assert earlier_selection(here, here.skill("bracket")) == ()
    write_skill(workspace, "bracket", SKILLS["bracket"])
    for path in (workspace / "results/sweeps").glob("selection-*/journal.jsonl"):
        path.write_bytes(b"garbage\n")
    assert earlier_selection(here, here.skill("bracket")) == ()


def test_a_fresh_clone_goes_on_counting_generations_where_the_archive_ends(
    tmp_path: Path, workspace: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.answer = no_gain
    assert evolve("generation", "--apply", "--operator", "lesson", "--population", "1").code == 0
    before = read_archive(find_workspace(workspace))
    git(workspace, "clone", "--quiet", str(workspace), str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    assert evolve("generation", "--apply", "--operator", "demonstrate", "--population", "1").code == 0
    assert newest(tmp_path / "clone").id == "g0002"
    assert read_archive(find_workspace(tmp_path / "clone"))[: len(before)] == before


def test_a_damaged_archive_is_found_before_anything_is_paid_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    (workspace / "overlays").mkdir(exist_ok=True)
    (workspace / "overlays/archive.jsonl").write_text("{}\n")
    ran = evolve("generation")
    assert ran.code == 2
    assert "archive.jsonl:1" in ran.err
    assert not model.requests
    assert not (workspace / "results/generations").exists()


def test_a_candidate_of_before_that_is_measured_again_is_archived_again_under_its_first_name(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    def examples_help_a_little(system: str, user: str, seed: int) -> str:
        number = int(user.split()[-1])
        return f"<{number}>" if "## Examples" in system and number < 200 else "no"

    model.answer = examples_help_a_little
    for _ in range(3):
        assert evolve("generation", "--operator", "demonstrate", "--population", "1").code == 0
    entries = [entry for entry in read_archive(find_workspace(workspace)) if entry.overlay_sha256]
    again = [entry for entry in entries if entry.name.startswith("g0001-")]
    assert again and all(entry.train for entry in again)
    assert {entry.operator for entry in again} <= {"demonstrate", "merge"}
    assert not any(entry.name.count("g000") > 1 for entry in entries)


def test_a_model_is_not_asked_the_same_question_by_the_next_generation(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    def same_for_a_seed(system: str, user: str, seed: int) -> str:
        return (
            f"You give the number back in the way number {seed} does it." if "improve instruction" in system else "no"
        )

    model.answer = same_for_a_seed
    for _ in range(2):
        assert evolve("generation", "--operator", "reflect", "--population", "1").code == 0
    made = [one for one in newest(workspace).proposals if one.operator == "reflect"]
    assert [one.refused for one in made] == [None]


def test_a_command_whose_money_ends_before_a_proposal_goes_on_to_the_same_proposals(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    models = yaml.safe_load((workspace / "evolve.yaml").read_text())["models"]
    models["served"]["price"] = {"input_usd": 1.0, "output_usd": 1.0}
    set_up(workspace, models=models, proposer={"model": "served", "operators": ["reflect"]})
    ran = evolve("generation", "--population", "1", "--max-usd", "0.0011")
    assert ran.code == 3, ran.err
    assert "the next call of the proposer may cost" in ran.err
    assert newest(workspace).proposals == ()
    assert evolve("resume").code == 0
    assert newest(workspace).proposals[0].operator == "reflect"
