"""Several finalists: one look after the other, until one passes or the level is spent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evolve.records.archive import ArchiveEntry
from evolve.records.base import read_json, read_jsonl
from evolve.records.generation import Generation
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, git

FIRST_SEALED = 300


def needs_both(system: str, user: str, seed: int) -> str:
    """Answer right when told or shown; on the sealed tasks when told and shown."""
    del seed
    number = int((re.findall(r"\d+", user) or ["0"])[-1])
    told, shown = "angle brackets" in system, "## Examples" in system
    return f"<{number}>" if (told and shown) or (number < FIRST_SEALED and (told or shown)) else str(number)


def fooled(system: str, user: str, seed: int) -> str:
    """Answer right on train and selection alone, whatever it was told."""
    del seed
    number = int((re.findall(r"\d+", user) or ["0"])[-1])
    told = "angle brackets" in system or "## Examples" in system
    return f"<{number}>" if told and number < FIRST_SEALED else str(number)


def allow(workspace: Path, finalists: int) -> None:
    policy = workspace / "promotion/policy.yaml"
    policy.write_text(policy.read_text() + f"finalists: {finalists}\n")
    git(workspace, "commit", "--quiet", "--all", "--message", "Finalists")


def generation(workspace: Path) -> Generation:
    return read_json(Generation, next((workspace / "results/generations").iterdir()) / "generation.json")


def looks(workspace: Path) -> int:
    return (workspace / "promotion/ledger.jsonl").read_text().count('"entry":"look"')


ARGUMENTS = ("generation", "--skill", "bracket", "--operator", "lesson", "--operator", "demonstrate", "--apply")


def assert_second_was_promoted(workspace: Path, evolve: CommandLine) -> None:
    record = generation(workspace)
    assert [one.outcome.value for one in record.confirmed] == ["keep_incumbent", "promote"]
    assert record.finalist == record.confirmed[1].overlay_sha256
    fates = {
        one.overlay_sha256: (one.fate, one.evidence)
        for one in read_jsonl(ArchiveEntry, workspace / "overlays/archive.jsonl")
    }
    assert [fates[one.overlay_sha256] for one in record.confirmed] == [
        ("unproven", record.confirmed[0].evidence),
        ("proven", record.confirmed[1].evidence),
    ]
    subjects = git(workspace, "log", "--format=%s").splitlines()
    assert sum(subject.startswith("Record look 1 at the sealed tasks of bracket") for subject in subjects) == 1
    assert sum(subject.startswith("Promote ") for subject in subjects) == 1
    assert looks(workspace) == 2
    ran = evolve("audit", "--all")
    assert ran.code == 0, ran.out


def test_where_the_first_finalist_fails_the_second_is_confirmed_and_promoted(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    allow(workspace, 2)
    model.answer = needs_both
    ran = evolve(*ARGUMENTS)
    assert ran.code == 0, ran.err
    assert_second_was_promoted(workspace, evolve)
    table = [line.split() for line in ran.out.splitlines()]
    assert ["finalist,", "not", "proven"] in [line[-3:] for line in table]
    assert ["finalist"] in [line[-1:] for line in table]
    report = next((workspace / "results/generations").iterdir()) / "report.md"
    assert "finalist, not proven: " in report.read_text()


def test_by_default_one_finalist_goes_to_the_sealed_tasks(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.answer = fooled
    assert evolve(*ARGUMENTS).code == 0
    record = generation(workspace)
    assert [one.outcome.value for one in record.confirmed] == ["keep_incumbent"]
    assert looks(workspace) == 1


@pytest.mark.parametrize("purpose", ["first", "second"])
def test_interrupted_in_a_look_it_goes_on_and_no_look_is_taken_twice(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, purpose: str
) -> None:
    allow(workspace, 2)
    cells = 0

    def answer(system: str, user: str, seed: int) -> str:
        nonlocal cells
        sealed = any(int(found) >= FIRST_SEALED for found in re.findall(r"\d+", user))
        cells += sealed
        if sealed and cells == {"first": 20, "second": 55}[purpose]:
            raise KeyboardInterrupt
        return needs_both(system, user, seed)

    model.answer = answer
    assert evolve(*ARGUMENTS).code == 130
    assert len(generation(workspace).confirmed) == (purpose == "second")
    ran = evolve("resume")
    assert ran.code == 0, ran.err
    assert_second_was_promoted(workspace, evolve)


def test_a_look_that_could_prove_nothing_any_more_is_not_taken(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    allow(workspace, 16)
    model.answer = fooled
    ran = evolve(*ARGUMENTS, "--operator", "lesson+demonstrate", "--population", "6")
    assert ran.code == 0, ran.err
    record = generation(workspace)
    assert {one.outcome.value for one in record.confirmed} == {"keep_incumbent"}
    assert len(record.confirmed) == looks(workspace) == 2, "8 tasks afford two looks"
    assert "does not go to the sealed tasks: 8 sealed tasks cannot prove a gain" in ran.err
    assert evolve("audit", "--all").code == 0
