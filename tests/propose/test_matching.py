from __future__ import annotations

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from evolve.propose.matching import gaps, names_of, text_of_name
from evolve.propose.passages import passages_of

NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(NAMES, NAMES)
def test_making_the_gaps_leads_from_one_sequence_to_the_other(old: list[str], new: list[str]) -> None:
    found: list[str] = []
    at = 0
    for gap in gaps(old, new):
        found += old[at : gap.start] + new[gap.first : gap.last]
        at = gap.end
    assert found + old[at:] == new


@given(NAMES, NAMES)
def test_no_longer_sequence_is_shared(old: list[str], new: list[str]) -> None:
    shared = len(old) - sum(gap.end - gap.start for gap in gaps(old, new))
    by_difflib = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    assert shared >= sum(block.size for block in by_difflib)


def test_passages_that_stand_there_again_have_names_of_their_own() -> None:
    names = names_of(passages_of("A: b.\n\nC.\n\na: B.\n\nA: b."))
    assert names == ["text: a: b.", "text: c.", "text: a: b.\n2", "text: a: b.\n3"]
    assert [text_of_name(name) for name in names] == ["a: b.", "c.", "a: b.", "a: b."]
