"""The leak scan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.corpus.alike import near_duplicates
from evolve.corpus.leaks import find_leaks, reference_reply
from evolve.corpus.loading import LoadedTask
from evolve.records.kinds import Split
from evolve.records.policy import LeakLimits
from tests.builders import make_task

PROMPT = "Which colour has the sky over Lisbon?"
ANSWER = "The sky over Lisbon is blue."


def task_of(split: Split) -> LoadedTask:
    return make_task("sky-1", split=split, prompt=PROMPT, good={"answer.md": f"{ANSWER}\n"})


@pytest.mark.parametrize("split", Split)
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("see sky-1", "its id"),
        (f"User: {PROMPT}", "its prompt"),
        ("user:\nwhich  COLOUR has\n\tthe sky over lisbon?", "its prompt"),
        (f"Reply: {ANSWER}", "its expected answer"),
    ],
)
def test_passages_are_found_whatever_their_case_and_spacing(split: Split, text: str, what: str) -> None:
    leaks = [(leak.task, leak.split, leak.what) for leak in find_leaks(text, "", (task_of(split),), ())]
    answer_of_train = split is Split.TRAIN and what == "its expected answer"
    assert leaks == ([] if answer_of_train else [("sky-1", split, what)])


@pytest.mark.parametrize("split", Split)
def test_a_declared_worked_example_is_allowed_of_train_tasks_only(split: Split) -> None:
    leaks = find_leaks(f"{PROMPT} {ANSWER}", "", (task_of(split),), ("sky-1",))
    assert bool(leaks) == (split is not Split.TRAIN)


def test_what_stood_in_the_text_before_is_not_new() -> None:
    assert find_leaks(f"More. {PROMPT}", PROMPT.upper(), (task_of(Split.SEALED),), ()) == []


def test_short_prompts_and_answers_are_no_passages() -> None:
    task = make_task("t-1", split=Split.SEALED, prompt="Say the word.", good={"answer.md": "yes\n"})
    assert find_leaks("Say the word. yes", "", (task,), ()) == []


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_sealed_prompt_is_found_wherever_it_stands(before: str, after: str) -> None:
    leaks = find_leaks(f"{before} {PROMPT} {after}", "", (task_of(Split.SEALED),), ())
    assert "its prompt" in [leak.what for leak in leaks]


def test_the_reference_of_an_answer_task_is_its_answer() -> None:
    assert reference_reply(task_of(Split.TRAIN)) == ANSWER
    assert reference_reply(make_task(good={})) == ""


def test_the_reference_of_an_edit_task_is_a_reply_with_its_files() -> None:
    task = make_task(kind="edit", seed={"a.ini": "x = 1\n"}, good={"a.ini": "x = 2\n"})
    assert reference_reply(task) == "```ini\nx = 2\n```"


def test_a_reference_that_edits_one_of_two_files_names_it() -> None:
    task = make_task(kind="edit", seed={"a.ini": "x = 1\n", "b.ini": "y\n"}, good={"a.ini": "x = 2\n"})
    assert reference_reply(task) == "a.ini:\n```ini\nx = 2\n```"


WORDS = "When the harbour bell rings twice the ferry for the northern island leaves within nine minutes of it"


@pytest.mark.parametrize("split", [Split.SELECTION, Split.SEALED])
def test_a_run_of_words_is_found_wherever_it_stands_and_the_passage_is_shown(split: Split) -> None:
    task = make_task("ferry-1", split=split, prompt=f"{WORDS}. What leaves?")
    text = "Remember: the FERRY for the -- northern island leaves, within nine minutes of whatever."
    leak = find_leaks(text, "", (task,), ())[0]
    assert (leak.task, leak.what) == ("ferry-1", "words of its prompt")
    assert leak.passage == "the FERRY for the -- northern island leaves, within"
    assert find_leaks("the ferry for the northern island", "", (task,), ()) == []


def test_what_anybody_may_know_is_no_leak() -> None:
    sealed = make_task("ferry-1", split=Split.SEALED, prompt=f"{WORDS}. What leaves?")
    train = make_task("ferry-2", split=Split.TRAIN, prompt=f"{WORDS}. When?")
    assert find_leaks(WORDS, "", (sealed, train), ("ferry-2",)) == []
    assert find_leaks(WORDS, WORDS.upper(), (sealed,), ()) == []


@pytest.mark.parametrize(
    ("check", "value"),
    [
        ({"kind": "equals", "any_of": ["the-long-answer-7"]}, "the-long-answer-7"),
        ({"kind": "json-value", "key": "k", "any_of": ["another-long-value", 3]}, "another-long-value"),
        ({"kind": "ini-options", "file": "a.ini", "options": {"s.x": "some-long-setting"}}, "some-long-setting"),
        (
            {"kind": "python-calls", "function": "f", "calls": [{"args": [], "returns": "a returned sentence"}]},
            "a returned sentence",
        ),
    ],
)
def test_expected_values_of_tasks_that_decide_are_found(check: dict[str, Any], value: str) -> None:
    task = make_task("odd-1", split=Split.SEALED, checks=[{"id": "c", "rule": "Do it.", **check}])
    found = find_leaks(f"Write {value} when in doubt.", "", (task,), ())
    assert ("an expected value", value) in [(leak.what, leak.passage) for leak in found]
    assert find_leaks("Write what is right.", "", (task,), ()) == []


def test_oracle_files_and_seeds_are_scanned_too() -> None:
    task = make_task("odd-1", split=Split.SEALED, oracle_files={"check.py": WORDS}, seed={"in.txt": WORDS[::-1]})
    assert [leak.what for leak in find_leaks(WORDS, "", (task,), ())] == ["words of its oracle"]
    assert [leak.what for leak in find_leaks(WORDS[::-1], "", (task,), ())] == ["words of its seed"]


def test_the_policy_says_how_long_a_passage_is() -> None:
    task = make_task("ferry-1", split=Split.SEALED, prompt=WORDS)
    text = "the ferry for the northern"
    assert find_leaks(text, "", (task,), (), LeakLimits(words=5)) != []
    assert find_leaks(text, "", (task,), (), LeakLimits(words=6)) == []


def test_tasks_of_other_splits_that_are_nearly_the_same_are_named() -> None:
    tasks = (
        make_task("a-1", split=Split.TRAIN, prompt=f"{WORDS}. What leaves?"),
        make_task("a-2", split=Split.SEALED, prompt=f"{WORDS}. What leaves??"),
        make_task("a-3", split=Split.SEALED, prompt=f"{WORDS}. What leaves, then?"),
        make_task("a-4", split=Split.SEALED, prompt="Something else altogether, about bells."),
        make_task("a-5", split=Split.SELECTION, prompt=f"{WORDS}. What leaves?", skills=["other"]),
    )
    pairs = [(one.first.id, one.second.id) for one in near_duplicates(tasks, 0.85)]
    assert pairs == [("a-1", "a-2"), ("a-1", "a-3")]
    assert near_duplicates(tasks, 1.0)[0].likeness == 1.0
