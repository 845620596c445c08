"""Testing the instruments."""

from __future__ import annotations

from typing import Any

import pytest

from evolve.corpus.loading import LoadedTask
from evolve.corpus.selftest import check_corpus, check_task, split_counts
from evolve.records.kinds import Split
from evolve.sandbox.host import Host
from tests.builders import equals_check, make_corpus, make_task

SANDBOX = Host()
INI: dict[str, Any] = {"id": "i", "rule": "r", "kind": "ini-options", "file": "a.ini", "options": {"s.x": "2"}}


def codes(task: LoadedTask) -> list[str]:
    return [fault.code for fault in check_task(task, SANDBOX)]


def edit_task(**fields: Any) -> LoadedTask:
    return make_task(
        kind="edit",
        **{
            "checks": [INI],
            "seed": {"a.ini": "[s]\nx = 1\n"},
            "good": {"a.ini": "[s]\nx = 2\n"},
            "bad": {"a.ini": "[s]\nx = 3\n"},
            **fields,
        },
    )


def test_a_sound_task_has_no_fault() -> None:
    assert codes(make_task()) == []
    assert codes(edit_task()) == []


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (make_task(good={"answer.md": "maybe"}), ["good-fails"]),
        (make_task(bad={"answer.md": "yes"}), ["bad-passes"]),
        (
            make_task(checks=[{"id": "c", "rule": "r", "kind": "command", "argv": ["/bin/true"]}]),
            ["bad-passes", "idle-passes", "empty-passes", "nonsense-passes"],
        ),
        (make_task(checks=[equals_check("yes", "")]), ["idle-passes", "empty-passes"]),
        (make_task(verify=[equals_check("other")]), ["good-fails"]),
        (make_task(good={}), ["no-reference"]),
        (make_task(bad={"notes.md": "no"}), ["no-reference"]),
        (edit_task(seed={"a.ini": "[s]\nx = 2\n"}), ["idle-passes"]),
        (edit_task(bad={"a.ini": "[s]\nx=2\n"}), ["bad-passes"]),
        (edit_task(good={"a.ini": "[s]\nx = 1\n"}), ["good-fails"]),
        (edit_task(good={}), ["no-reference"]),
    ],
)
def test_a_task_whose_checks_cannot_be_trusted_is_found(task: LoadedTask, expected: list[str]) -> None:
    assert codes(task) == expected


def test_an_edit_reference_may_hold_the_reply_beside_its_files() -> None:
    task = edit_task(
        verify=[equals_check("done")],
        good={"a.ini": "[s]\nx = 2\n", "answer.md": "done\n"},
        bad={"a.ini": "[s]\nx = 2\n", "answer.md": "no\n"},
    )
    assert codes(task) == []


def test_the_corpus_is_checked_for_doubles_and_for_its_skills() -> None:
    twin = make_task("b", split=Split.SEALED, prompt="Please  answer THE question number a!")
    corpus = make_corpus(make_task("a"), twin, make_task("c", skills=["nobody"]))
    faults = [(fault.task, fault.code) for fault in check_corpus(corpus, ["greeter"], SANDBOX)]
    assert faults == [("b", "duplicate"), ("c", "no-skill")]


def test_equal_prompts_over_different_seeds_are_no_doubles() -> None:
    tasks = [edit_task(identifier=name, prompt="Do it.", seed={"a.ini": f"[s]\nx = {name}\n"}) for name in ("a", "b")]
    assert check_corpus(make_corpus(*tasks), ["greeter"], SANDBOX) == []


def test_the_tasks_of_a_skill_are_counted_by_split() -> None:
    corpus = make_corpus(make_task("a"), make_task("b"), make_task("c", split=Split.SEALED))
    assert split_counts(corpus, "greeter") == {"train": 2, "selection": 0, "sealed": 1}
