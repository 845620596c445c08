from __future__ import annotations

import time
from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evolve.errors import InputError
from evolve.propose.edits import FRONTMATTER, Edit, edits_of, with_edits
from evolve.propose.passages import passages_of
from evolve.protected import BEGIN, check_protected, protected_passages
from evolve.skills import SKILL_FILE, Skill, split_frontmatter
from evolve.snapshot import Snapshot

FRONT = "---\nname: x\ndescription: Does x.\n---\n\n"


def skill(body: str, front: str = FRONT, **files: str) -> Skill:
    return Skill("x", "skills/x", Snapshot.of_texts({SKILL_FILE: f"{front}{body}\n", **files}))


BEFORE = "You do X.\n\n## Rules\n\n1. One.\n2. Two."


def texts(*bodies: str) -> list[list[str]]:
    return [[p.text for e in edits_of(skill(BEFORE), skill(body)) for p in e.adds] for body in bodies]


def test_each_added_passage_is_an_edit_and_brings_its_new_headings() -> None:
    after = skill(f"{BEFORE}\n3. Three.\n\n## Examples\n\nUser: a\nReply: b\n\nUser: c\nReply: d")
    edits = edits_of(skill(BEFORE), after)
    assert [[p.text for p in edit.adds] for edit in edits] == [["Three."], ["User: a\nReply: b"], ["User: c\nReply: d"]]
    assert [[h.text for h in edit.under] for edit in edits] == [[], ["## Examples"], ["## Examples"]]
    one_example = with_edits(skill(BEFORE), edits[2:])[SKILL_FILE]
    assert one_example == f"{FRONT}{BEFORE}\n\n## Examples\n\nUser: c\nReply: d\n"


def test_edits_of_two_candidates_stand_together_with_examples_last() -> None:
    one = edits_of(skill(BEFORE), skill(f"{BEFORE}\n\n## Examples\n\nUser: a\nReply: b"))
    two = edits_of(skill(BEFORE), skill(f"{BEFORE}\n3. Three.\n\n## Notes\n\nBe kind."))
    both = with_edits(skill(BEFORE), [*one, *two])[SKILL_FILE]
    assert both == f"{FRONT}{BEFORE}\n3. Three.\n\n## Notes\n\nBe kind.\n\n## Examples\n\nUser: a\nReply: b\n"


def test_items_that_are_reworded_are_one_edit_each() -> None:
    edits = edits_of(skill(BEFORE), skill("You do X.\n\n## Rules\n\n1. Do one.\n2. Do two."))
    assert [(len(edit.removes), [p.text for p in edit.adds]) for edit in edits] == [(1, ["Do one."]), (1, ["Do two."])]


def test_of_two_edits_of_one_passage_the_earlier_stays() -> None:
    one = edits_of(skill(BEFORE), skill(BEFORE.replace("One.", "First.")))
    two = edits_of(skill(BEFORE), skill(BEFORE.replace("One.", "Uno.")))
    assert with_edits(skill(BEFORE), [*one, *two])[SKILL_FILE] == f"{FRONT}{BEFORE.replace('One.', 'First.')}\n"


def test_the_same_rule_is_the_same_edit_wherever_it_stands() -> None:
    one = edits_of(skill("A.\n\n- a\n- b"), skill("A.\n\n- a\n- new\n- b"))
    two = edits_of(skill("A.\n\n- a\n- b"), skill("A.\n\n- a\n- b\n- NEW"))
    assert one[0].id == two[0].id


def test_frontmatter_and_other_files_are_edits_of_their_own() -> None:
    after = skill("You do X.", FRONT.replace("Does", "Really does"), **{"more.md": "new"})
    edits = edits_of(skill("You do X.", **{"more.md": "old"}), after)
    assert [edit.file for edit in edits] == [FRONTMATTER, "more.md"]
    assert with_edits(skill("You do X.", **{"more.md": "old"}), edits) == dict(after.files.texts())


def test_a_change_of_spacing_numbers_or_case_alone_is_no_edit() -> None:
    assert edits_of(skill(BEFORE), skill(BEFORE.replace("1. One.", "1.  ONE.").replace("2. Two", "3. two"))) == ()


PIECES = (
    *("# H", "## K", "### Deep", "Title\n=====", "## Rules", "One.", "Two\nlines.", "Three.", "1. one", "2. two"),
    *(
        "- dot",
        "- dash",
        "- dot\n  - sub",
        "```sh\n# no\n\n- no\n```",
        "> quote",
        "| a |\n|---|\n| 1 |",
        "[a]: http://x",
    ),
    *(
        "<!-- note -->",
        "User: a\nReply: b",
        "User: c\nReply: d",
        "***",
        "<!-- evolve:keep -->\nkept\n<!-- evolve:end -->",
    ),
)


@st.composite
def two_bodies(draw: st.DrawFn) -> tuple[str, str]:
    old = draw(st.lists(st.sampled_from(PIECES), max_size=8))
    new = list(old)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(new)))
        new[place : place + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(PIECES), max_size=2))
    return "\n\n".join(old), "\n\n".join(new)


def keys(text: str) -> list[str]:
    return [passage.key for passage in passages_of(split_frontmatter(text)[1])]


def words(keys: list[str]) -> list[str]:
    """Return the words of passages, without the marks of lists that stand in worked examples."""
    found = " ".join(key.partition(": ")[2] for key in keys).split()
    return [word for word in found if word != "-" and not word.rstrip(".").isdigit()]


def made(before: Skill, edits: Iterable[Edit]) -> str:
    return with_edits(before, edits).get(SKILL_FILE) or before.text


@given(two_bodies())
def test_all_edits_together_give_the_passages_of_the_candidate_in_their_order(bodies: tuple[str, str]) -> None:
    before, after = skill(bodies[0]), skill(bodies[1])
    assume(protected_passages(after.text)[: before.text.count(BEGIN)] == protected_passages(before.text))
    wanted, found = keys(after.text), keys(made(before, edits_of(before, after)))
    new_headings = [key for key in wanted if key.startswith("heading") and wanted.count(key) > 1]
    if new_headings:  # a heading that is added twice is one section
        assert set(words(found)) == set(words(wanted))
    else:
        assert found == wanted


@given(two_bodies(), st.randoms(use_true_random=False))
def test_the_order_of_edits_decides_the_order_of_what_is_added_and_nothing_else(
    bodies: tuple[str, str], random: Random
) -> None:
    before = skill(bodies[0])
    edits = list(edits_of(before, skill(bodies[1])))
    one = keys(made(before, edits))
    random.shuffle(edits)
    assert sorted(words(keys(made(before, edits)))) == sorted(words(one))


def test_a_protected_passage_that_was_moved_is_taken_out_with_the_edit_that_puts_it_in() -> None:
    kept = "<!-- evolve:keep -->K<!-- evolve:end -->"
    before, after = skill(f"{kept}\n\nA.\n\nB."), skill(f"A.\n\nB.\n\n{kept}")
    out, into = edits_of(before, after)
    assert made(before, [out]) == before.text
    assert made(before, [out, into]) == after.text


@given(two_bodies(), st.data())
def test_any_choice_of_edits_leaves_protected_passages_as_they_are(
    bodies: tuple[str, str], data: st.DataObject
) -> None:
    before, after = skill(bodies[0]), skill(bodies[1])
    try:
        check_protected(before.text, after.text, "the candidate")
    except InputError:
        return
    chosen = [edit for edit in edits_of(before, after) if data.draw(st.booleans())]
    check_protected(before.text, made(before, chosen), "the choice")


@given(two_bodies())
def test_no_edit_changes_no_byte_and_no_skill_differs_from_itself(bodies: tuple[str, str]) -> None:
    before = skill(bodies[0])
    assert with_edits(before, ()) == {} and edits_of(before, before) == ()


@given(two_bodies())
def test_the_tokens_of_edits_are_those_of_the_passages_that_they_change(bodies: tuple[str, str]) -> None:
    before, after = skill(bodies[0]), skill(bodies[1])
    edits = edits_of(before, after)
    headings = sum(heading.tokens for edit in edits for heading in edit.under)
    grown = sum(p.tokens for p in passages_of(after.body)) - sum(p.tokens for p in passages_of(before.body))
    assert abs(sum(edit.tokens for edit in edits) - grown) <= headings + 5 * len(edits)


def test_of_a_passage_that_stands_there_twice_one_can_be_taken_out_or_added() -> None:
    twice = skill("A.\n\nB.\n\nA.")
    (out,) = edits_of(twice, skill("A.\n\nB."))
    assert made(twice, [out]) == f"{FRONT}A.\n\nB.\n"
    (back,) = edits_of(skill("A.\n\nB."), twice)
    assert made(skill("A.\n\nB."), [back]) == twice.text
    (first,) = edits_of(skill("A.\n\nA.\n\nA."), skill("A.\n\nA."))
    assert first.id == out.id or first.removes != out.removes


def test_an_edit_behind_a_passage_that_stands_there_twice_stands_behind_that_one() -> None:
    before, after = skill("A.\n\nB.\n\nA.\n\nC."), skill("A.\n\nB.\n\nA.\n\nNew.\n\nC.")
    assert made(before, edits_of(before, after)) == after.text


def test_a_reworded_item_stands_where_the_old_one_stood_though_others_stay() -> None:
    edits = edits_of(skill(BEFORE), skill("You do X.\n\n## Rules\n\n1. Do one.\n2. Do two."))
    assert made(skill(BEFORE), edits[1:]) == f"{FRONT}{BEFORE.replace('Two.', 'Do two.')}\n"


def test_a_new_section_is_the_same_edits_though_what_stood_before_it_was_taken_out() -> None:
    section = "## Rules\n\n1. New.\n2. Newer."
    plain = edits_of(skill("A.\n\nB."), skill(f"A.\n\nB.\n\n{section}"))
    pruned = edits_of(skill("A.\n\nB."), skill(f"A.\n\n{section}"))
    assert [edit.id for edit in pruned[1:]] == [edit.id for edit in plain]
    assert made(skill("A.\n\nB."), [*plain, *pruned[:1]]) == f"{FRONT}A.\n\n{section}\n"
    both = edits_of(skill("A.\n\nB."), skill(section))
    assert [edit.removes for edit in both if edit.removes] == [("text: a.",), ("text: b.",)]


def test_a_renamed_heading_comes_once() -> None:
    before, after = skill(BEFORE), skill(f"{BEFORE.replace('## Rules', '## House rules')}\n3. Three.")
    edits = edits_of(before, after)
    assert made(before, edits) == after.text
    assert made(before, edits[1:]) == f"{FRONT}{BEFORE}\n3. Three.\n"


def test_new_sections_keep_their_levels() -> None:
    after = skill(f"{BEFORE}\n\n## A\n\n### S\n\nx\n\n## B\n\n### S\n\ny\n\n## Bare")
    assert made(skill(BEFORE), edits_of(skill(BEFORE), after)) == after.text


def test_an_edit_whose_place_is_gone_is_added_at_the_end() -> None:
    (edit,) = edits_of(skill("A.\n\nB."), skill("A.\n\nNew.\n\nB."))
    (reworded,) = edits_of(skill("A.\n\nB."), skill("A!\n\nB."))
    assert made(skill("Other."), [edit, reworded]) == f"{FRONT}A!\n\nOther.\n\nNew.\n"


def test_an_edit_behind_a_passage_that_another_takes_out_stays_in_its_place() -> None:
    (out,) = edits_of(skill("A.\n\nB."), skill("B."))
    (new,) = edits_of(skill("A.\n\nB."), skill("A.\n\nNew.\n\nB."))
    assert made(skill("A.\n\nB."), [new, out]) == made(skill("A.\n\nB."), [out, new]) == f"{FRONT}New.\n\nB.\n"


@pytest.mark.parametrize(
    ("one", "two", "wanted"),
    [
        ("A!\n\nB.", "A?\n\nB.", "A!\n\nB."),
        ("A!\n\nB.", "B.", "A!\n\nB."),
        ("B.", "A!\n\nB.", "B."),
        ("A. B. C.", "A?\n\nB.", "A. B. C."),
        ("A?\n\nB.", "A. B. C.", "A?\n\nB."),
        ("A!\n\nB.", "A.\n\nB!", "A!\n\nB!"),
        ("A!\n\nB.", "A!\n\nB.", "A!\n\nB."),
    ],
)
def test_of_edits_in_conflict_the_earlier_is_made_whole_and_the_later_not_at_all(
    one: str, two: str, wanted: str
) -> None:
    before = skill("A.\n\nB.")
    assert made(before, [*edits_of(before, skill(one)), *edits_of(before, skill(two))]) == f"{FRONT}{wanted}\n"


def test_of_two_whole_files_and_of_two_frontmatters_the_earlier_stays_beside_edits_of_the_body() -> None:
    before = skill("A.", **{"more.md": "old"})
    one = edits_of(before, skill("A.", FRONT.replace("Does", "Did"), **{"more.md": "one"}))
    two = edits_of(before, skill("A.\n\nB.", FRONT.replace("Does", "Will do"), **{"more.md": "two"}))
    texts = with_edits(before, [*one, *two])
    assert texts == {"more.md": "one", SKILL_FILE: f"{FRONT.replace('Does', 'Did')}A.\n\nB.\n"}


def test_frontmatter_with_odd_spacing_is_kept_where_the_body_alone_is_edited() -> None:
    front = "---  \nname:   x\n\ndescription: >\n   Does\n   x.\n# a note\n---\t\n\n\n\n"
    texts = with_edits(skill("A.", front), edits_of(skill("A.", front), skill("A.\n\nB.", front)))
    assert texts == {SKILL_FILE: f"{front.rstrip()}\n\nA.\n\nB.\n"}


def test_thousands_of_passages_take_no_time() -> None:
    many = [f"Passage {number} of the skill." for number in range(5000)]
    every_second = [text if number % 2 else f"Reworded {number}." for number, text in enumerate(many)]
    cases = [(many, every_second), (many, many[::-1]), (["- same"] * 5000, ["- x", *["- same"] * 5000, "- y"])]
    for old, new in cases:
        before, after = skill("\n\n".join(old)), skill("\n\n".join(new))
        began = time.process_time()
        edits = edits_of(before, after)
        assert len(keys(made(before, edits))) == len(new)
        assert len({edit.id for edit in edits}) >= 2
        assert time.process_time() - began < 2


def test_the_id_of_an_edit_is_the_same_in_every_process() -> None:
    (edit,) = edits_of(skill("A."), skill("A.\n\nB."))
    assert edit.id == "c8dc05dbb426d537"
