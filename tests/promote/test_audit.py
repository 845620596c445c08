from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from evolve.digest import canonical_json, sha256_bytes
from evolve.promote.attest import envelopes
from evolve.promote.audit import audit_all, open_audit
from evolve.promote.evidence import read_evidence
from evolve.promote.git import Repository
from evolve.records.base import jsonl_bytes
from evolve.records.kinds import ErrorKind
from evolve.records.row import Row
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.worlds import git


@pytest.fixture
def promoted(measured: Measured, evolve: CommandLine) -> Measured:
    assert evolve("promote", measured.overlay).code == 0
    return measured


def faults(measured: Measured) -> list[str]:
    context, chain = open_audit(find_workspace(measured.root), Repository(measured.root))
    findings = [chain, *audit_all(context)]
    return [f"{finding.file}: {finding.check}: {finding.detail}" for finding in findings if not finding.holds]


def test_all_holds_on_a_fresh_clone(
    promoted: Measured, evolve: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    git(promoted.root, "clone", "--quiet", str(promoted.root), str(clone))
    monkeypatch.chdir(clone)
    ran = evolve("audit", "--all", "-v")
    assert ran.code == 0, ran.out
    assert "all holds" in ran.out
    assert "decision recomputed from rows" in ran.out


def test_one_changed_byte_of_the_rows_is_found_and_its_row_is_named(promoted: Measured, evolve: CommandLine) -> None:
    path = promoted.folder / "rows.jsonl"
    lines = path.read_bytes().split(b"\n")
    row = json.loads(lines[16])
    lines[16] = lines[16].replace(b'"output_tokens":', b'"output_tokens":9', 1)
    path.write_bytes(b"\n".join(lines))
    ran = evolve("audit", "--all")
    assert ran.code == 4
    assert "rows.jsonl:17: row digest: expected " in ran.out
    assert f"({row['arm']}, {row['identity']['task']}, run {row['identity']['run']})" in ran.out


def mutants(data: bytes, rng: random.Random, count: int) -> Iterator[bytes]:
    for _ in range(count):
        position = rng.randrange(len(data))
        match rng.randrange(3):
            case 0:
                yield data[:position] + bytes([data[position] ^ (1 << rng.randrange(8))]) + data[position + 1 :]
            case 1:
                yield data[:position] + data[position + 1 :]
            case _:
                yield data[:position] + data[position : position + 1] + data[position:]


def test_any_changed_byte_of_any_file_is_found(promoted: Measured) -> None:
    rng = random.Random(20)
    files = [path for path in (promoted.root / "promotion").rglob("*") if path.is_file() and path.suffix != ".yaml"]
    assert len(files) == 6
    assert faults(promoted) == []
    tried = 0
    for path in files:
        original = path.read_bytes()
        for mutant in mutants(original, rng, 16):
            if mutant == original:
                continue
            path.write_bytes(mutant)
            assert faults(promoted), (path, mutant[:200])
            tried += 1
        path.write_bytes(original)
    assert tried >= 84
    assert faults(promoted) == []


@pytest.mark.parametrize(
    "name", ["promotion.json", "rows.jsonl", "attestation.json", "overlay/skills/bracket/SKILL.md"]
)
def test_a_missing_file_is_found(promoted: Measured, name: str) -> None:
    (promoted.folder / name).unlink()
    assert faults(promoted)


def test_an_extra_file_is_found(promoted: Measured) -> None:
    (promoted.folder / "notes.txt").write_text("hello")
    assert any("files" in fault for fault in faults(promoted))


def test_a_forged_outcome_is_found_even_when_every_digest_is_recomputed(promoted: Measured) -> None:
    evidence = read_evidence(promoted.folder)
    rows = tuple(
        row.model_copy(update={"resolved": True, "kind": None}) if row.arm == "candidate" else row
        for row in evidence.rows
    )
    rows = tuple(
        row.model_copy(update={"resolved": False, "kind": ErrorKind.ORACLE_FAILED}) if row.arm == "incumbent" else row
        for row in rows
    )
    forged = evidence.promotion.model_copy(
        update={
            "rows_sha256": sha256_bytes(jsonl_bytes(rows)),
            "row_sha256": tuple(row.digest() for row in rows),
            "expires_at": evidence.promotion.expires_at.replace(year=2099),
        }
    )
    data = forged.canonical() + b"\n"
    (promoted.folder / "promotion.json").write_bytes(data)
    (promoted.folder / "rows.jsonl").write_bytes(jsonl_bytes(rows))
    for name, envelope in envelopes(forged, sha256_bytes(data)).items():
        (promoted.folder / name).write_bytes(envelope.file_bytes())
    found = faults(promoted)
    assert any("decision of" in fault for fault in found)
    assert any("no commit carries it" in fault for fault in found)


def test_a_ledger_entry_that_was_taken_out_is_found(promoted: Measured) -> None:
    path = promoted.root / "promotion/ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[1:]))
    assert any("the chain is broken" in fault for fault in faults(promoted))


def test_a_commit_that_changed_something_else_is_found(measured: Measured, evolve: CommandLine) -> None:
    assert evolve("promote", measured.overlay).code == 0
    (measured.root / "smuggled.txt").write_text("x")
    git(measured.root, "add", "smuggled.txt")
    git(measured.root, "commit", "--quiet", "--amend", "--no-edit")
    assert any("smuggled.txt" in fault for fault in faults(measured))


def test_a_promotion_whose_commit_is_gone_is_found(promoted: Measured) -> None:
    git(promoted.root, "reset", "--quiet", "--soft", "HEAD^")
    git(promoted.root, "commit", "--quiet", "--message", "Squashed")
    git(promoted.root, "reflog", "expire", "--expire=now", "--all")
    assert any("no commit carries it" in fault for fault in faults(promoted))


@pytest.mark.parametrize("left", [0, 1])
def test_looks_that_were_committed_and_are_gone_are_found(measured: Measured, evolve: CommandLine, left: int) -> None:
    git(measured.root, "add", "promotion")
    git(measured.root, "commit", "--quiet", "--message", "A look that failed")
    assert evolve("audit", "--all").code == 0
    path = measured.root / "promotion/ledger.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:left]))
    shutil.rmtree(measured.folder)
    git(measured.root, "add", "--all")
    git(measured.root, "commit", "--quiet", "--message", "Begin anew")
    ran = evolve("audit", "--all")
    assert ran.code == 4
    assert "entries committed in" in ran.out
    path.unlink()
    assert evolve("audit", "--all").code == 4


def test_evidence_that_only_the_ledger_knows_of_is_found(promoted: Measured) -> None:
    folder = promoted.folder
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    assert any("no folder holds this evidence" in fault for fault in faults(promoted))


def test_a_workspace_without_promotions_holds(workspace: Path, evolve: CommandLine) -> None:
    ran = evolve("audit", "--all")
    assert ran.code == 0
    assert "2 checks: all holds" in ran.out


def test_findings_are_there_for_programs(promoted: Measured, evolve: CommandLine) -> None:
    value = evolve("audit", str(promoted.folder), "--json").json()
    assert len(value) > 20
    assert all(finding["holds"] for finding in value)


def test_a_promotion_that_is_not_there_is_a_usage_error(workspace: Path, evolve: CommandLine) -> None:
    assert evolve("audit", "promotion/none/here").code == 2
    assert evolve("audit", "promotion/none/here", "--all").code == 2


@pytest.mark.parametrize("path", ["src/bracket/evil.py", "tools/my-ledger.jsonl", "promotion/evil.py", "ledger.jsonl"])
def test_nothing_can_be_smuggled_into_a_promotion(measured: Measured, evolve: CommandLine, path: str) -> None:
    assert evolve("promote", measured.overlay).code == 0
    (measured.root / path).parent.mkdir(parents=True, exist_ok=True)
    (measured.root / path).write_text("x")
    git(measured.root, "add", path)
    git(measured.root, "commit", "--quiet", "--amend", "--no-edit")
    assert any(path in fault for fault in faults(measured))


def test_a_policy_of_the_commit_that_is_not_the_one_decided_under_is_found(
    measured: Measured, evolve: CommandLine
) -> None:
    assert evolve("promote", measured.overlay).code == 0
    (measured.root / "promotion/policy.yaml").write_text("schema: evolve/policy@1\nalpha: 0.5\n")
    git(measured.root, "commit", "--quiet", "--amend", "--all", "--no-edit")
    found = faults(measured)
    assert any("policy in force" in fault for fault in found)
    assert any("policy.yaml" in fault for fault in found)


def test_sealed_tasks_of_the_commit_that_are_not_those_decided_on_are_found(
    measured: Measured, evolve: CommandLine
) -> None:
    assert evolve("promote", measured.overlay).code == 0
    git(measured.root, "rm", "-r", "--quiet", "corpus/bracket-sealed-01")
    git(measured.root, "commit", "--quiet", "--amend", "--no-edit")
    assert any("sealed tasks" in fault for fault in faults(measured))


@pytest.mark.parametrize("depth", [1, 2])
def test_a_shallow_clone_is_told_that_history_is_cut_off(
    promoted: Measured, evolve: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    git(promoted.root, "commit", "--quiet", "--allow-empty", "--message", "Later") if depth == 2 else None
    clone = tmp_path / "clone"
    git(promoted.root, "clone", "--quiet", f"--depth={depth}", f"file://{promoted.root}", str(clone))
    monkeypatch.chdir(clone)
    ran = evolve("audit", "--all")
    assert ran.code == 4
    lines = [line for line in ran.out.splitlines() if line.startswith("FAULT")]
    assert len(lines) == 1
    assert "git fetch --unshallow" in lines[0]


def other_source(row: Row) -> dict[str, object]:
    assert row.reused is not None
    return {"reused": row.reused.model_copy(update={"row_sha256": "0" * 64})}


def other_outcome(row: Row) -> dict[str, object]:
    return {"resolved": True, "kind": None}


def other_cost(row: Row) -> dict[str, object]:
    return {"usage": row.usage.model_copy(update={"output_tokens": 1})}


def other_time(row: Row) -> dict[str, object]:
    return {"measured_at": row.measured_at - timedelta(seconds=1)}


def too_old(row: Row) -> dict[str, object]:
    return {"measured_at": row.measured_at - timedelta(days=31)}


def too_late(row: Row) -> dict[str, object]:
    return {"measured_at": row.measured_at + timedelta(hours=1)}


@pytest.mark.parametrize(
    ("change", "reused", "said"),
    [
        (other_source, True, "which it did not measure"),
        (other_outcome, True, "measured it: at "),
        (other_cost, True, "measured it: at usage.output_tokens: expected "),
        (other_time, True, "measured it: at measured_at: expected "),
        (too_old, True, "times of reused rows: expected all from "),
        (too_late, True, "times of reused rows: expected all from "),
        (too_late, False, "times of fresh rows: expected all from "),
        (too_old, False, "times of fresh rows: expected all from "),
    ],
)
def test_a_row_that_is_not_what_was_measured_when_it_was_is_found(
    measured: Measured, evolve: CommandLine, change: Callable[[Row], dict[str, object]], reused: bool, said: str
) -> None:
    """A reused row keeps its first time, and is the very row of its sweep; a fresh one is of this look."""
    folder = measured.root / "overlays/second/skills/bracket"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(measured.skill.read_text() + "\nUse angle brackets.\n")
    second = measured.root / evolve("benchmark", "overlays/second", "--json").json()["evidence"]
    assert faults(measured) == []
    rows = list(read_evidence(second).rows)
    index = next(i for i, row in enumerate(rows) if (row.reused is not None) is reused)
    rows[index] = rows[index].model_copy(update=change(rows[index]))
    (second / "rows.jsonl").write_bytes(jsonl_bytes(rows))
    found = faults(measured)
    assert any(said in fault for fault in found), found


@pytest.mark.parametrize("change", [{"spent": 0.01}, {"at": "2026-01-02T03:04:05Z"}, {"alpha": 0.04}, {"texts": 2}])
def test_a_change_of_the_last_entry_of_the_ledger_is_found(promoted: Measured, change: dict[str, object]) -> None:
    path = promoted.root / "promotion" / "ledger.jsonl"
    *before, last = path.read_bytes().splitlines(keepends=True)
    entry = json.loads(last)
    assert entry["entry"] == "promotion"
    path.write_bytes(b"".join(before) + canonical_json({**entry, **change}) + b"\n")
    assert faults(promoted)
