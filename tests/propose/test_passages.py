from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.propose.passages import Kind, _blocks, _blocks_of, body_of, passages_of, placed, resident_tokens

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
