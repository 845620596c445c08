"""Looking at the corpus and adding tasks to it, by the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.corpus.loading import load_task
from evolve.corpus.selftest import check_task
from evolve.records.task import RepositorySpec
from evolve.sandbox.host import Host
from tests.conftest import CommandLine
from tests.worlds import git

KINDS = ("answer", "edit", "review", "repository")


def test_the_list_is_of_all_tasks_or_of_a_skill_and_split(workspace: Path, evolve: CommandLine) -> None:
    assert len(evolve("corpus", "list", "--json").json()) == 14
    ran = evolve("corpus", "list", "--skill", "bracket", "--split", "train")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["id", "split", "kind", "class", "tier", "skills", "expensive", "checks"]
    assert lines[1].split() == ["bracket-train-01", "train", "answer", "general", "tight", "bracket", "line,", "equals"]
    assert len(lines) == 4
    assert evolve("corpus", "list", "--skill", "nobody").code == 2


def test_a_train_task_is_shown_with_its_oracle_and_a_sealed_one_without(workspace: Path, evolve: CommandLine) -> None:
    assert "<101>" in evolve("corpus", "show", "bracket-train-01").out
    for split, value in (("selection", "<201>"), ("sealed", "<301>")):
        for more in ((), ("--json",)):
            hidden = evolve("corpus", "show", f"bracket-{split}-01", *more)
            assert hidden.code == 0 and value not in hidden.out and "angle brackets" in hidden.out
        assert value in evolve("corpus", "show", f"bracket-{split}-01", "--reveal").out
    assert evolve("corpus", "show", "bracket-none-01").code == 2


def test_the_stats_count_each_skill_and_split(workspace: Path, evolve: CommandLine) -> None:
    rows = evolve("corpus", "stats", "--json").json()
    assert [(row["split"], row["tasks"], row["kinds"]) for row in rows] == [
        ("train", 3, {"answer": 3}),
        ("selection", 3, {"answer": 3}),
        ("sealed", 8, {"answer": 8}),
    ]
    assert evolve("corpus", "stats").out.splitlines()[3].split()[:3] == ["bracket", "sealed", "8"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_task_of_every_kind_passes_the_check_as_it_stands(
    workspace: Path, evolve: CommandLine, kind: str
) -> None:
    ran = evolve("corpus", "new", kind, "fresh-one", "--skill", "bracket", "--split", "sealed")
    assert ran.code == 0, ran.err
    task = load_task(workspace / "corpus" / "fresh-one")
    assert (task.task.split, task.task.skills) == ("sealed", ("bracket",))
    assert check_task(task, Host()) == []
    assert evolve("check").code == 0
    assert "ill in" in (workspace / "corpus/fresh-one/task.yaml").read_text()
    if kind == "repository":
        assert task.task.repository == RepositorySpec(path=".", commit=git(workspace, "rev-parse", "HEAD"))


def test_two_new_tasks_do_not_ask_the_same(workspace: Path, evolve: CommandLine) -> None:
    for kind in KINDS:
        for number in (1, 2):
            assert evolve("corpus", "new", kind, f"{kind}-{number}", "--skill", "bracket").code == 0
    assert evolve("check").code == 0


@pytest.mark.parametrize(
    ("identifier", "skill", "code"),
    [
        ("bracket-train-01", "bracket", "task-exists"),
        ("../up", "bracket", "task-id"),
        ("Upper", "bracket", "task-id"),
        ("a" * 65, "bracket", "task-id"),
        ("fresh", "nobody", "no-skill"),
    ],
)
def test_a_new_task_that_cannot_be_is_refused_and_nothing_is_written(
    workspace: Path, evolve: CommandLine, identifier: str, skill: str, code: str
) -> None:
    before = sorted(path.name for path in (workspace / "corpus").iterdir())
    ran = evolve("corpus", "new", "answer", identifier, "--skill", skill, "--json")
    assert (ran.code, ran.json()["error"]["code"]) == (2, code)
    assert sorted(path.name for path in (workspace / "corpus").iterdir()) == before


def test_a_repository_task_needs_a_commit_to_begin_with(workspace: Path, evolve: CommandLine) -> None:
    (workspace / ".git").rename(workspace / "elsewhere")
    ran = evolve("corpus", "new", "repository", "fresh", "--skill", "bracket")
    assert ran.code == 2 and "no git repository with a commit" in ran.err


def test_tasks_are_written_whole_or_not_at_all(
    workspace: Path, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("evolve.snapshot.write_atomic", full)
    assert evolve("corpus", "new", "answer", "fresh", "--skill", "bracket").code == 1
    assert not (workspace / "corpus/fresh").exists()
