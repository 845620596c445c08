"""The operators that need no model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import InputError
from evolve.overlays import FrozenOverlay, apply_overlay, validate_overlay
from evolve.propose.choosing import EXAMPLES, Choice, different, most_broken, spread
from evolve.propose.evidence import TrainEvidence, TrainFailure, worked_example
from evolve.propose.operators import (
    MAX_EXAMPLES,
    demonstrate,
    lesson,
    new_rules,
    overlay_of_body,
)
from evolve.propose.sections import RULES_HEADING, add_examples, section
from tests.builders import make_corpus, make_skill, make_task

SKILL = make_skill(body="Say hello. Always be kind.")
TASKS = tuple(make_task(f"t-{n}", good={"answer.md": f"yes {n}"}) for n in range(8))


def evidence_of(*failed: int, tasks: int = 8) -> TrainEvidence:
    failures = tuple(TrainFailure(f"t-{n}", "u", "wrong", "right", f"Rule {n}.") for n in failed)
    return TrainEvidence(tasks=TASKS[:tasks], failures=failures)


def body_of(overlay: FrozenOverlay) -> str:
    return apply_overlay(SKILL, overlay).body


def test_a_lesson_states_each_new_rule_once() -> None:
    overlay = lesson(SKILL, evidence_of(1, 2), ["Reply in one word.", "always be kind", "Reply in one word.", ""])
    assert section(body_of(overlay), RULES_HEADING) == "1. Reply in one word."
    assert (overlay.spec.operator, overlay.spec.skills) == ("lesson", ("greeter",))
    assert overlay.spec.parents == (SKILL.fingerprint,)
    assert overlay.spec.evidence_sha256 == evidence_of(1, 2).digest()
    assert overlay.spec.worked_examples == ()
    assert list(overlay.spec.bases) == ["skills/greeter/SKILL.md"]


@pytest.mark.parametrize("rules", [[], [""], ["Always be kind."]])
def test_a_lesson_without_a_new_rule_is_refused(rules: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        lesson(SKILL, evidence_of(1), rules)
    assert caught.value.code == "nothing-to-add"


def test_a_demonstration_quotes_failed_train_tasks_and_declares_them() -> None:
    overlay = demonstrate(SKILL, evidence_of(1, 3), SKILL.body, "demonstrate")
    assert overlay.spec.worked_examples == ("t-1", "t-3")
    assert body_of(overlay).endswith(
        "## Examples\n\nUser: Please answer the question number t-1.\nReply: yes 1\n\n"
        "User: Please answer the question number t-3.\nReply: yes 3"
    )
    validate_overlay(overlay, SKILL, make_corpus(*TASKS), "overlay")


def test_a_demonstration_spreads_over_the_failures() -> None:
    overlay = demonstrate(SKILL, evidence_of(*range(8)), SKILL.body, "demonstrate")
    assert len(overlay.spec.worked_examples) == EXAMPLES[0].count
    assert overlay.spec.worked_examples == ("t-0", "t-2", "t-5")


def test_examples_never_grow_beyond_their_room() -> None:
    shown = add_examples(SKILL.body, [worked_example(task) for task in TASKS[:5]])
    overlay = demonstrate(SKILL, evidence_of(*range(8)), shown, "demonstrate")
    assert len(overlay.spec.worked_examples) == MAX_EXAMPLES - 5
    assert overlay.spec.worked_examples == ("t-5",)
    full = add_examples(SKILL.body, [worked_example(task) for task in TASKS[:6]])
    with pytest.raises(InputError) as caught:
        demonstrate(SKILL, evidence_of(*range(8)), full, "demonstrate")
    assert caught.value.code == "nothing-to-add"


def test_nothing_failed_means_nothing_to_show() -> None:
    with pytest.raises(InputError, match="no failed train task"):
        demonstrate(SKILL, evidence_of(), SKILL.body, "demonstrate")


def test_rules_and_examples_go_together() -> None:
    evidence = evidence_of(1)
    with_rules = body_of(lesson(SKILL, evidence, ["Reply in one word."]))
    overlay = demonstrate(SKILL, evidence, with_rules, "lesson+demonstrate")
    assert "1. Reply in one word." in body_of(overlay) and "Reply: yes 1" in body_of(overlay)
    assert overlay.spec.operator == "lesson+demonstrate"


def test_a_body_that_is_the_incumbents_is_no_proposal() -> None:
    spec = lesson(SKILL, evidence_of(1), ["New."]).spec
    with pytest.raises(InputError) as caught:
        overlay_of_body(SKILL, f"\n{SKILL.body}\n\n", spec)
    assert caught.value.code == "no-change"


def test_new_rules_keep_their_order() -> None:
    assert new_rules("b", ["c", "b", "a", "c"]) == ["c", "a"]


@given(st.lists(st.integers(), unique=True, max_size=12), st.integers(-2, 15))
def test_spreading_takes_distinct_items_in_order(items: list[int], count: int) -> None:
    taken = spread(items, count)
    assert len(taken) == max(0, min(count, len(items)))
    assert [item for item in items if item in taken] == taken


def test_examples_that_differ_most_are_taken_in_their_order() -> None:
    items = ["a b c", "a b d", "x y z", "a b c d"]
    assert different(items, 2, str) == ["a b c", "x y z"]
    assert different(items, 3, str) == ["a b c", "a b d", "x y z"]
    assert different(items, 9, str) == items
    assert different([], 2, str) == []


def test_a_choice_says_how_many_examples_and_which() -> None:
    overlay = demonstrate(SKILL, evidence_of(*range(8)), SKILL.body, "demonstrate", Choice(1, "difference"))
    assert overlay.spec.worked_examples == ("t-0",)
    assert overlay.spec.rationale == "Shows 1 train task with the right reply."


def test_the_rules_that_most_tasks_broke_come_first() -> None:
    assert most_broken(["a", "b", "b", "c"], 2) == ["b", "a"]
    assert most_broken(["a", "b", "b", "c"], None) == ["b", "a", "c"]
