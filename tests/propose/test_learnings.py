"""What earlier ideas taught, as later proposals are told."""

from __future__ import annotations

from typing import Any

import pytest

from evolve.propose.edits import Edit, edits_of
from evolve.propose.learnings import IDEA_CHARS, OUTCOMES, TOLD, idea_of, relevant
from evolve.records.archive import Learning
from tests.builders import make_skill
from tests.propose.test_archive import learning


def told(*learnings: Learning) -> list[tuple[str, str]]:
    return [(one.idea, one.outcome) for one in relevant(learnings, "greeter")]


@pytest.mark.parametrize(
    ("fate", "outcome"),
    [
        ("screened-out", "refused"),
        ("not-selected", "refused"),
        ("unproven", "kept"),
        ("proven", "promoted"),
        ("refused", None),
    ],
)
def test_what_was_tried_is_told_with_what_became_of_it(fate: Any, outcome: str | None) -> None:
    found = relevant([learning(fate=fate, reason="Why.", numbers="train 1/2")], "greeter")
    assert [(one.outcome, one.operator, one.reason, one.numbers) for one in found] == (
        [] if outcome is None else [(outcome, "lesson", "Why.", "train 1/2")]
    )
    assert fate in OUTCOMES


def test_the_latest_are_told_the_oldest_first() -> None:
    learnings = [learning(idea=f"Idea {number}.") for number in range(TOLD + 3)]
    assert told(*learnings) == [(f"Idea {number}.", "kept") for number in range(3, TOLD + 3)]
    assert told() == []


def test_each_idea_is_told_once_where_it_was_tried_last() -> None:
    again = learning("g0002", "One.", fate="proven")
    assert told(learning(idea="One."), learning(idea="Two."), again) == [("Two.", "kept"), ("One.", "promoted")]
    of_another_operator = learning(idea="One.", operator="reflect")
    assert len(told(learning(idea="One."), of_another_operator)) == 2


def test_an_idea_that_was_never_made_does_not_hide_one_that_was() -> None:
    assert told(learning(idea="One."), learning(idea="One.", fate="refused")) == [("One.", "kept")]


def test_nothing_is_told_of_another_skill() -> None:
    assert told(learning(skill="other")) == []


def edits(before: str, after: str) -> tuple[Edit, ...]:
    return edits_of(make_skill(body=before), make_skill(body=after))


@pytest.mark.parametrize(
    ("rationale", "changes", "idea"),
    [
        (" Why. ", edits("A.", "A.\n\nB\nc."), "Why. Adds: B c."),
        ("", edits("A.", "A.\n\nB.\n\nC."), "Adds: B. / C."),
        ("", edits("A.\n\nB.\n\nC.", "C."), "Takes out 2 passages."),
        ("", edits("A.\n\nB.", "B."), "Takes out 1 passage."),
        ("Why.", edits("A.\n\nB.", "B."), "Why. Takes out 1 passage."),
        ("", edits("A.", "B."), "Adds: B."),
        ("", (Edit("more.md", whole="x"),), "A change of other files."),
        ("Why.", (), "Why."),
    ],
)
def test_an_idea_is_why_it_was_made_and_how_what_it_adds_begins(
    rationale: str, changes: tuple[Edit, ...], idea: str
) -> None:
    assert idea_of(rationale, changes) == idea


@pytest.mark.parametrize("length", [IDEA_CHARS, IDEA_CHARS + 1, 4000])
def test_a_long_idea_is_cut_to_a_line(length: int) -> None:
    idea = idea_of("x" * length, ())
    assert len(idea) == IDEA_CHARS and idea.endswith("…") == (length > IDEA_CHARS)


def test_an_idea_is_one_line_whatever_the_rationale_holds() -> None:
    assert idea_of("One.\n\n# Two\r\n", edits("A.", "A.\n\n- x\n  y")) == "One. # Two Adds: x y"
