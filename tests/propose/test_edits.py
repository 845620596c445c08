from __future__ import annotations

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from evolve.propose.edits import FRONTMATTER, _changes, edits_of, with_edits
from evolve.skills import SKILL_FILE, Skill
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


LINES = st.lists(st.sampled_from(["- a", "- b", "- c", "1. x", "1. y", "## H", "## K", "P one.", "P two."]), max_size=9)


def body(lines: list[str]) -> str:
    return "Begin.\n\n" + "\n\n".join(dict.fromkeys(lines))


@given(LINES, LINES)
def test_all_edits_together_hold_every_passage_of_the_candidate_and_no_other(old: list[str], new: list[str]) -> None:
    from evolve.propose.passages import passages_of

    before, after = skill(body(old)), skill(body(new))
    edits = edits_of(before, after)
    made = with_edits(before, edits).get(SKILL_FILE, before.text)
    assert {p.key for p in passages_of(made.split("---\n")[-1])} >= {
        p.key for p in passages_of(after.body) if p.level == 0
    }


KEYS = st.lists(st.sampled_from("abc"), max_size=5)


@given(KEYS, KEYS)
def test_what_is_added_at_the_end_changes_what_the_search_for_runs_says_it_does(
    old: list[str], more: list[str]
) -> None:
    wanted = SequenceMatcher(None, old, [*old, *more], autojunk=False).get_opcodes()
    changes = [change for change in _changes(old, [*old, *more]) if change[3] < change[4]]
    assert changes == [change for change in wanted if change[0] != "equal"]
