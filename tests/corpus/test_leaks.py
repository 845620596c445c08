"""The leak scan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.corpus.leaks import find_leaks, reference_reply
from evolve.corpus.loading import LoadedTask
from evolve.records.kinds import Split
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
