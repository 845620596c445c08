"""Leaving out a passage: which, in which order, and what goes with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import InputError
from evolve.overlays import apply_overlay, validate_overlay
from evolve.propose.ask import Ask, Parent
from evolve.propose.evidence import TrainEvidence
from evolve.propose.passages import body_of, passages_of
from evolve.propose.prune import prunable, prune, without
from evolve.protected import check_protected
from tests.builders import make_corpus, make_skill

BODY = (
    "You do X.\n\n## Rules\n\n1. A rule of several words.\n2. Two.\n\n## Notes\n\nThe longest of all passages is this."
)


def pruned(body: str, variant: int = 0) -> str:
    skill = make_skill(body=body)
    overlay = prune(Ask("prune", (Parent(skill.fingerprint, skill, TrainEvidence((), ())),), variant))
    assert overlay.spec.operator == "prune" and overlay.spec.parents == (skill.fingerprint,)
    return validate_overlay(overlay, skill, make_corpus(), "overlay").body


def test_the_longest_goes_first_and_a_heading_with_nothing_below_it_goes_with_it() -> None:
    rules = "## Rules\n\n1. A rule of several words.\n2. Two."
    notes = "## Notes\n\nThe longest of all passages is this."
    assert pruned(BODY, 0) == f"You do X.\n\n{rules}"
    assert pruned(BODY, 1) == f"You do X.\n\n## Rules\n\n1. Two.\n\n{notes}"
    assert pruned(BODY, 2) == f"{rules}\n\n{notes}"
    assert pruned(BODY, 3) == f"You do X.\n\n## Rules\n\n1. A rule of several words.\n\n{notes}"


@pytest.mark.parametrize(
    ("body", "variant"),
    [(BODY, 4), ("One passage alone.", 0), ("# H\n\nOne.", 0), ("# A\n\n# B", 0), ("<!-- evolve:keep -->\nA\n\nB", 0)],
)
def test_where_nothing_can_be_left_out_it_says_so(body: str, variant: int) -> None:
    with pytest.raises(InputError, match="no passage is left that could be left out") as caught:
        pruned(body, variant)
    assert caught.value.code == "nothing-to-prune"


@pytest.mark.parametrize(
    ("body", "place", "left"),
    [
        ("# A\n\n## B\n\nx", 2, ""),
        ("# A\n\n## B\n\nx\n\n## C\n\ny", 2, "# A\n\n## C\n\ny"),
        ("# A\n\nx\n\n## C\n\ny", 1, "# A\n\n## C\n\ny"),
        ("## A\n\nx\n\n# C\n\ny", 1, "# C\n\ny"),
        ("A\n=\n\nx\n\nC\n=\n\ny", 1, "C\n=\n\ny"),
        ("# Empty before\n\n# A\n\nx\n\ny", 2, "# Empty before\n\n# A\n\ny"),
        ("# A <!-- evolve:keep -->\n<!-- evolve:end -->\n\nx", 1, "# A <!-- evolve:keep -->\n<!-- evolve:end -->"),
        ("1. a\n2. b\n3. c", 0, "1. b\n2. c"),
    ],
)
def test_what_is_left_has_no_empty_section(body: str, place: int, left: str) -> None:
    assert body_of(without(passages_of(body), place)) == left


def test_equal_lengths_keep_their_order() -> None:
    assert prunable(passages_of("aaaa\n\nbbbb\n\ncccccccc")) == [2, 0, 1]


KEPT = (
    "<!-- evolve:keep -->K<!-- evolve:end -->",
    "- <!-- evolve:keep --> k\n- l <!-- evolve:end -->",
    "```\n<!-- evolve:keep -->\n```",
)
BLOCKS = st.lists(st.sampled_from(["# H", "## K", "One.", "- two", "1. three", "```\nx\n```", *KEPT]), max_size=8)


@given(BLOCKS)
def test_nothing_protected_is_ever_left_out(blocks: list[str]) -> None:
    body = "\n\n".join(blocks)
    passages = passages_of(body)
    for place in prunable(passages):
        left = without(passages, place)
        check_protected(body, body_of(left), "what is left")


def test_a_candidate_is_pruned_as_it_is() -> None:
    skill = make_skill(body="A.\n\nB.")
    parent = Parent("a" * 64, make_skill(body="A.\n\nB.\n\nA much longer passage."), TrainEvidence((), ()))
    assert apply_overlay(skill, prune(Ask("prune", (parent,), 1))).body == "B.\n\nA much longer passage."
