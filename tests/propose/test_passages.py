from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.propose.passages import Kind, _blocks, _blocks_of, body_of, passages_of, placed, resident_tokens
from evolve.protected import check_protected

BODY = """\
You do X.

## Rules

1. One.
   - nested
2. Run this:

   ```
   1. no item
   ```
3. Three.

Look at:

```sh
# no heading
```

## Examples

User: a
Reply: b

more of it

User: c
Reply: d

<!-- evolve:keep -->
# kept

- together
<!-- evolve:end -->

Last."""


def test_a_body_is_split_into_what_can_be_taken_or_left() -> None:
    found = [(passage.kind, passage.text.splitlines()[0]) for passage in passages_of(BODY)]
    assert found == [
        (Kind.TEXT, "You do X."),
        (Kind.HEADING, "## Rules"),
        (Kind.NUMBERED, "One."),
        (Kind.NUMBERED, "Run this:"),
        (Kind.NUMBERED, "Three."),
        (Kind.TEXT, "Look at:"),
        (Kind.HEADING, "## Examples"),
        (Kind.TEXT, "User: a"),
        (Kind.TEXT, "User: c"),
        (Kind.TEXT, "<!-- evolve:keep -->"),
        (Kind.TEXT, "Last."),
    ]


def test_a_body_that_is_split_and_joined_is_the_same() -> None:
    assert body_of(passages_of(BODY)) == BODY


def test_items_are_numbered_anew_when_one_is_left_out() -> None:
    first, second, third = passages_of("1. One.\n2. Two.\n3. Three.")
    assert body_of([first, third]) == "1. One.\n2. Three."
    assert second.key == "numbered item: two."


def test_number_spacing_and_case_tell_no_passages_apart() -> None:
    assert passages_of("1. Be  brief.")[0].key == passages_of("7. be brief.")[0].key
    assert passages_of("- Be brief.")[0].key != passages_of("1. Be brief.")[0].key


def test_passages_stand_under_the_headings_above_their_level() -> None:
    under = [[h.text for h in place.under] for place in placed(passages_of("# A\n\na\n\n## B\n\nb\n\n# C\n\nc"))]
    assert under == [[], ["# A"], ["# A"], ["# A", "## B"], [], ["# C"]]


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("four", 1), ("a b c d e", 5), ("x" * 400, 100)])
def test_resident_tokens_are_about_a_quarter_of_the_bytes(text: str, tokens: int) -> None:
    assert resident_tokens(text) == tokens


PIECES = st.sampled_from(
    ["# H", "## Rules", "1. one", "2. two", "- dot", "  - sub", "Text.", "Say:", "```", "User: a", "Reply: b", "", ""]
)


@given(st.lists(PIECES | st.text(alphabet=st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=20)))
def test_splitting_what_was_joined_changes_nothing_more(lines: list[str]) -> None:
    once = body_of(passages_of("\n".join(lines)))
    assert body_of(passages_of(once)) == once


@pytest.mark.parametrize(
    "body",
    [
        "See [a].\n\n[a]: http://example.org\n\nMore.",
        "[a]: http://example.org\n[b]: <http://example.org/b> 'B'",
        "Title\n=====\n\nText.\n\nSub\n---\nMore.",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\nMore.",
        "> quoted\n> more\n\n> another",
        "- a\n\t- nested\n- b",
        "1. One.\n\n```sh\nrun\n```\n\n2. Two.\n3. Three.",
        "Text.\n\n    code by its indentation\n\nText.",
        "<div>\n\n# H\n\n</div>",
        "<!-- a comment -->\n\n<!--\nanother\n\none -->",
        "1. One.\n   <!-- evolve:keep -->\n   kept\n\n   more\n   <!-- evolve:end -->\n2. Two.",
        "```\n<!-- evolve:keep -->\n```\n\nNot ended.\n\n- x",
        "One.\n\n<!-- evolve:end -->\n\nTwo.",
        "-\n- empty before",
        "Only one.",
        "",
    ],
)
def test_nothing_is_lost_or_moved_by_splitting_and_joining(body: str) -> None:
    assert body_of(passages_of(body)) == body


def test_carriage_returns_are_line_ends_like_others() -> None:
    assert passages_of("One.\r\n\r\n- two\r\n- three\r\n") == passages_of("One.\n\n- two\n- three\n")


def test_the_marks_of_one_protected_passage_are_never_parted() -> None:
    texts = [p.text for p in passages_of("- a\n- b <!-- evolve:keep -->\n- c\n\n# H\n\nd <!-- evolve:end --> e\n\nf")]
    assert texts == ["a", "b <!-- evolve:keep -->\n- c\n\n# H\n\nd <!-- evolve:end --> e", "f"]
    assert len(passages_of("One.\n\n<!-- evolve:keep -->\n\nTwo.\n\n# Never ended\n\n- x")) == 2


def test_a_passage_that_is_protected_again_in_the_same_block_goes_on() -> None:
    first = "a <!-- evolve:keep -->b<!-- evolve:end --> <!-- evolve:keep --> c\n\nd <!-- evolve:end --> e"
    assert [p.text for p in passages_of(f"{first}\n\nf")] == [first, "f"]


def test_an_underlined_heading_never_takes_in_what_stands_before_it() -> None:
    under_another = passages_of("# H\nSub\n---\n\nText.")[1]
    before = passages_of("- item")[0]
    assert body_of([before, under_another]) == "- item\n\nSub\n---"


def test_a_list_that_goes_on_after_a_code_block_keeps_its_numbers() -> None:
    one, code, two, three = passages_of("1. One.\n\n```\nx\n```\n\n2. Two.\n3. Three.")
    assert body_of([one, code, three]) == "1. One.\n\n```\nx\n```\n\n2. Three."
    assert body_of([one, two]) == "1. One.\n\n2. Two."


def test_what_stands_in_an_item_stays_in_it_when_its_number_gets_wider() -> None:
    items = passages_of("\n".join(f"{n}. Item {n}.\n   - nested\n\n   ```\n   code\n   ```" for n in range(1, 10)))
    assert len(items) == 9
    joined = body_of([*items, items[0]])
    assert "\n10. Item 1.\n    - nested\n\n    ```\n    code\n    ```" in joined
    assert [p.text.split("\n")[0] for p in passages_of(joined)] == [f"Item {n}." for n in (*range(1, 10), 1)]


def test_protected_text_in_an_item_is_never_indented() -> None:
    kept = "Item.\n   <!-- evolve:keep -->\n   x\n   <!-- evolve:end -->"
    item = passages_of(f"1. {kept}")[0]
    assert body_of([item] * 10).endswith(f"\n10. {kept}")


BLOCKS = st.sampled_from(
    [
        *("# H", "## K", "Title\n=====", "Sub\n---", "One.", "Two\nlines.", "1. one", "2. two", "7. seven", "3) paren"),
        *(
            "- dot",
            "* star",
            "- dot\n  - sub\n    more",
            "1. x\n   - nested\n\n   para",
            "10. ten\n    ```\n    c\n    ```",
        ),
        *("```sh\n# no\n\n- no\n```", "~~~\nx\n~~~", "> quote\n> more", "| a | b |\n|---|---|\n| 1 | 2 |", "***", "-"),
        *("[a]: http://x", "<!-- note -->", "<div>\n</div>"),
    ]
)
MORE_BLOCKS = BLOCKS | st.sampled_from(
    [
        *("Look:", "User: a\nReply: b", "    code", "<!-- evolve:keep -->\nkept\n\n- k\n<!-- evolve:end -->"),
        *("- <!-- evolve:keep -->in item<!-- evolve:end -->", "a <!-- evolve:keep --> b", "<!-- evolve:end -->"),
    ]
)


def spaced(draw: st.DataObject, blocks: list[str]) -> str:
    return "".join(block + draw.draw(st.sampled_from(["\n", "\n\n", "\n\n\n"])) for block in blocks).strip()


@given(st.data(), st.lists(MORE_BLOCKS, max_size=7))
def test_a_joined_body_has_the_passages_that_it_was_joined_from(draw: st.DataObject, blocks: list[str]) -> None:
    passages = passages_of(spaced(draw, blocks))
    assert [p.key for p in passages_of(body_of(passages))] == [p.key for p in passages]


@given(st.data(), st.lists(BLOCKS, max_size=7))
def test_passages_that_are_left_never_run_into_one_another(draw: st.DataObject, blocks: list[str]) -> None:
    left = [p for p in passages_of(spaced(draw, blocks)) if draw.draw(st.booleans())]
    assert [p.key for p in passages_of(body_of(left))] == [p.key for p in left]


@given(st.data(), st.lists(MORE_BLOCKS, max_size=7))
def test_protected_text_is_never_changed_by_splitting_and_joining(draw: st.DataObject, blocks: list[str]) -> None:
    body = spaced(draw, blocks)
    check_protected(body, body_of(passages_of(body)), "the body")


LINES = (
    "- ab c",
    "* s t",
    "1. one",
    "10) ten",
    "# Head er",
    "para graph",
    "Input: x y",
    "  - in dented",
    "      deep er",
    "\tt ab",
    "> quo te",
    "- > in side",
    "---",
    "- - -",
    "===",
    "a | b c",
    "--|--",
    "```py thon",
    "~~~",
    "<div>",
    "<!-- no",
    "[la bel]: target",
    "a1. b",
    "1a. b",
    "&amp; b",
    "",
)


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=8))
def test_blocks_do_not_depend_on_the_words_in_them(lines: list[str]) -> None:
    body = "\n".join(lines)
    assert _blocks(body) == _blocks_of.__wrapped__(body)
