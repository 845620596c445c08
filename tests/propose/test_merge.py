"""Merging two candidates: their edits together, and who prevails where they are in conflict."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import InputError
from evolve.overlays import FrozenOverlay, apply_overlay, single_file_overlay, validate_overlay
from evolve.propose.ask import Ask, Parent, rebased
from evolve.propose.edits import edits_of
from evolve.propose.evidence import TrainEvidence, TrainFailure, worked_example
from evolve.propose.merge import composed, distinct, merge, merged, touched
from evolve.propose.sections import add_examples
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from evolve.skills import SKILL_FILE, with_body
from tests.builders import make_corpus, make_skill, make_task

SKILL = make_skill(body="You do X.\n\n## Rules\n\n1. One.\n2. Two.")
TASKS = tuple(make_task(f"t-{n}", good={"answer.md": f"yes {n}"}) for n in range(3))
FAILURES = tuple(TrainFailure(f"t-{n}", "u", "wrong", "right", f"Rule {n}.") for n in range(3))
EVIDENCE = TrainEvidence(tasks=TASKS, failures=FAILURES)
CORPUS = make_corpus(*TASKS)


def parent(body: str, *quoted: str) -> Parent:
    spec = OverlaySpec(schema_id=OVERLAY_SCHEMA, skills=(SKILL.name,), worked_examples=quoted)
    overlay = single_file_overlay(SKILL, SKILL_FILE, with_body(SKILL.text, body), spec)
    text = apply_overlay(SKILL, overlay)
    return Parent(overlay.digest, text, EVIDENCE, overlay, edits_of(SKILL, text))


def merge_of(one: Parent, two: Parent, scores: Mapping[str, Mapping[str, float]] | None = None) -> FrozenOverlay:
    known = scores or {}
    overlay = merge(SKILL, Ask("merge", (one, two), scores=lambda digest: known.get(digest, {})))
    validate_overlay(overlay, SKILL, CORPUS, "merge")
    return overlay


def body_of(overlay: FrozenOverlay) -> str:
    return apply_overlay(SKILL, overlay).body


def test_edits_of_both_stand_together_and_both_lineages_are_told() -> None:
    shown = add_examples(SKILL.body, [worked_example(TASKS[1])])
    one, two = parent(shown, "t-1"), parent(f"{SKILL.body}\n3. Three.", "t-2", "t-1")
    overlay = merge_of(one, two)
    assert body_of(overlay) == shown.replace("2. Two.", "2. Two.\n3. Three.")
    assert overlay.spec.parents == (one.digest, two.digest) and overlay.spec.operator == "merge"
    assert overlay.spec.worked_examples == ("t-1", "t-2")
    assert list(overlay.spec.bases) == ["skills/greeter/SKILL.md"]


REWORDED = [SKILL.body.replace("One.", "First."), SKILL.body.replace("One.", "Uno.").replace("Two.", "Due.")]


@pytest.mark.parametrize(
    ("ones", "twos", "wins"),
    [
        ({"t-0": 1.0}, {"t-0": 0.0}, "First."),
        ({"t-0": 0.0}, {"t-0": 1.0}, "Uno."),
        ({"t-0": 0.5}, {"t-0": 0.5}, "First."),
        ({}, {}, "First."),
        ({}, {"t-0": 1.0}, "First."),
        ({"t-0": 0.1}, {}, "First."),
        ({"t-0": 0.9}, {"t-1": 1.0}, "First."),
        ({"t-0": 0.9, "t-1": 0.0}, {"t-1": 0.1}, "Uno."),
    ],
)
def test_a_conflict_goes_to_the_one_that_does_better_where_both_were_measured_and_else_to_the_first(
    ones: dict[str, float], twos: dict[str, float], wins: str
) -> None:
    one, two = parent(REWORDED[0]), parent(REWORDED[1])
    overlay = merge_of(one, two, {one.digest: ones, two.digest: twos}) if wins == "First." else None
    edits = merged(one, two, ones, twos, EVIDENCE)
    assert [edit.adds[0].text for edit in edits] == [wins, "Due."]
    assert overlay is None or "Due." in body_of(overlay)


def test_only_the_tasks_that_a_conflict_touches_decide_on_it() -> None:
    one = parent(SKILL.body.replace("One.", "Rule 1."))
    two = parent(SKILL.body.replace("One.", "Uno."))
    ones, twos = {"t-0": 0.0, "t-1": 0.6, "t-2": 0.0}, {"t-0": 1.0, "t-1": 0.5, "t-2": 1.0}
    assert touched([*one.edits, *two.edits], EVIDENCE) == {"t-1"}
    assert [edit.adds[0].text for edit in merged(one, two, ones, twos, EVIDENCE)] == ["Rule 1."]
    assert touched(two.edits, EVIDENCE) == {"t-0", "t-1", "t-2"}
    assert touched(parent(add_examples("You do X.", [worked_example(TASKS[2])])).edits, EVIDENCE) == {"t-2"}


def test_what_one_rewords_and_the_other_leaves_out_is_a_conflict() -> None:
    out, in_other_words = parent("You do X.\n\n## Rules\n\n1. Two."), parent(SKILL.body.replace("One.", "First."))
    assert [edit.removes and edit.adds for edit in merged(out, in_other_words, {}, {}, EVIDENCE)] == [()]
    edits = merged(out, in_other_words, {"t-0": 0.0}, {"t-0": 1.0}, EVIDENCE)
    assert [edit.adds[0].text for edit in edits] == ["First."]


@pytest.mark.parametrize(
    "bodies",
    [
        (f"{SKILL.body}\n3. Three.", f"{SKILL.body}\n3. Three.\n4. Four."),
        (f"{SKILL.body}\n3. Three.\n4. Four.", f"{SKILL.body}\n3. Three."),
        (f"{SKILL.body}\n3. Three.", f"{SKILL.body}\n3. THREE."),
        (SKILL.body.replace("One.", "First."), SKILL.body.replace("One.", "Uno.")),
    ],
)
def test_where_one_has_all_there_is_nothing_to_merge(bodies: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="has all that the other has") as caught:
        merge_of(parent(bodies[0]), parent(bodies[1]))
    assert caught.value.code == "nothing-to-merge"


def test_two_candidates_are_needed() -> None:
    one, incumbent = parent(f"{SKILL.body}\n3. Three."), Parent(SKILL.fingerprint, SKILL, EVIDENCE)
    for parents in ((one,), (one, incumbent), (incumbent, one)):
        with pytest.raises(InputError, match="no two candidates") as caught:
            merge(SKILL, Ask("merge", parents))
        assert caught.value.code == "nothing-to-merge"


def test_edits_that_change_nothing_make_no_overlay() -> None:
    with pytest.raises(InputError) as caught:
        composed(SKILL, [], [], "Nothing.")
    assert caught.value.code == "no-change"


def test_what_a_larger_edit_adds_too_is_added_once() -> None:
    small = parent(f"{SKILL.body}\n\nNew.").edits
    large = parent("You do X.\n\n## Other\n\nNew.\n\nMore.").edits
    assert [len(edit.adds) for edit in (*small, *large)] == [1, 3]
    for edits in ([*small, *large], [*large, *small]):
        assert body_of(composed(SKILL, edits, [], "Both.")) == "You do X.\n\n## Other\n\nNew.\n\nMore."
    assert distinct([*small, *small]) == [*small, *small]


def test_of_many_parents_eight_are_named_and_all_worked_examples_declared() -> None:
    parents = [parent(f"{SKILL.body}\n3. Number {n}.", f"t-{n}") for n in range(12)]
    overlay = composed(SKILL, [p.edits[0] for p in parents], parents, "Together.")
    assert len(overlay.spec.parents) == 8 and len(overlay.spec.worked_examples) == 12


def test_a_proposal_from_a_candidate_is_one_against_the_incumbent_and_keeps_what_the_candidate_changes() -> None:
    quoted = parent(add_examples(SKILL.body, [worked_example(TASKS[1])]), "t-1")
    spec = OverlaySpec(schema_id=OVERLAY_SCHEMA, skills=(SKILL.name,), worked_examples=("t-2", "t-1"))
    new = single_file_overlay(quoted.skill, "more.md", "More.", spec)
    moved = rebased(SKILL, quoted, new)
    candidate = validate_overlay(moved, SKILL, CORPUS, "moved")
    assert candidate.body == quoted.skill.body and candidate.files.text("more.md") == "More."
    assert moved.spec.worked_examples == ("t-1", "t-2") and moved.spec.parents == (quoted.digest,)


PIECES = st.lists(
    st.sampled_from(["You do X.", "One more.", "## Rules", "1. One.", "2. Two.", "1. Three.", "## New", "- four"]),
    unique=True,
    min_size=1,
)


@given(PIECES, PIECES)
def test_a_merge_has_no_edits_but_those_of_its_parents(ones: list[str], twos: list[str]) -> None:
    one, two = parent("\n\n".join(ones)), parent("\n\n".join(twos))
    edits = merged(one, two, {}, {}, EVIDENCE)
    assert {edit.id for edit in edits} <= {edit.id for edit in (*one.edits, *two.edits)}
    assert {edit.id for edit in one.edits} <= {edit.id for edit in edits}
    taken = [slot for edit in edits for slot in edit.slots]
    assert len(taken) == len(set(taken))
