"""The two sections that operators write."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.propose.sections import (
    EXAMPLES_HEADING,
    RULES_HEADING,
    Example,
    add_examples,
    add_rules,
    section,
    stated,
    with_section,
)

CODE_EXAMPLE = Example("Write f.", "```python\n# a comment\ndef f(): ...\n```")
plain_lines = st.lists(
    st.sampled_from(["Text.", "# Title", "### Examples of x", "", "- item", "#no heading"]), max_size=6
)


@pytest.mark.parametrize(
    ("reply", "rendered"),
    [("+44", "User: Call me\nReply: +44"), ("a\nb\n", "User: Call me\nReply:\na\nb")],
)
def test_an_example_is_shown_as_user_and_reply(reply: str, rendered: str) -> None:
    assert Example(" Call me\n", reply).render() == rendered


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ("## Rules\n\n1. a\n2. b\n\n## Examples\n\nx", "1. a\n2. b"),
        ("Intro\n## Rules  \n1. a\n### Part\n2. b\n# Next", "1. a\n### Part\n2. b"),
        ("## Rules", ""),
        ("### Rules\n1. a", None),
        ("## Rules of x\n1. a", None),
        ("Intro", None),
        ("## Rules\n```sh\n# comment\n```\nend\n## Next", "```sh\n# comment\n```\nend"),
    ],
)
def test_a_section_ends_at_the_next_heading_of_its_level(body: str, content: str | None) -> None:
    assert section(body, RULES_HEADING) == content


def test_a_section_is_replaced_in_place_or_added_at_the_end() -> None:
    body = "Intro\n\n## Rules\n\nold\n\n## More\n\nkept"
    assert with_section(body, RULES_HEADING, " new \n") == "Intro\n\n## Rules\n\nnew\n\n## More\n\nkept"
    assert with_section("Intro\n", RULES_HEADING, "new") == "Intro\n\n## Rules\n\nnew"


def test_rules_are_numbered_after_those_there_are_and_examples_stay_last() -> None:
    body = "Intro\n\n## Examples\n\nUser: a\nReply: b"
    once = add_rules(body, ["First.", "Second."])
    assert once == "Intro\n\n## Rules\n\n1. First.\n2. Second.\n\n## Examples\n\nUser: a\nReply: b"
    twice = add_rules(once, ["Third."])
    assert section(twice, RULES_HEADING) == "1. First.\n2. Second.\n3. Third."
    assert twice.endswith(body[5:])
    assert add_rules("## Rules\n- a\n* b\n7) c", ["d"]) == "## Rules\n\n1. a\n2. b\n3. c\n4. d"


def test_a_heading_that_only_looks_like_examples_is_left_whole() -> None:
    body = "Intro\n\n### Examples of bad style\n\nnone\n\n## Examples\n\nUser: a\nReply: b"
    after = add_rules(body, ["First."])
    assert after == (
        "Intro\n\n### Examples of bad style\n\nnone\n\n## Rules\n\n1. First.\n\n## Examples\n\nUser: a\nReply: b"
    )


def test_examples_are_added_after_those_there_are() -> None:
    once = add_examples("Intro", [Example("a", "b")])
    assert add_examples(once, [Example("c", "d"), Example("e", "f")]) == (
        "Intro\n\n## Examples\n\nUser: a\nReply: b\n\nUser: c\nReply: d\n\nUser: e\nReply: f"
    )


def test_a_comment_inside_a_code_block_is_no_heading() -> None:
    once = add_examples("Intro", [CODE_EXAMPLE])
    twice = add_examples(once, [Example("c", "d")])
    assert twice == f"Intro\n\n## Examples\n\n{CODE_EXAMPLE.render()}\n\nUser: c\nReply: d"
    assert add_rules(twice, ["First."]).endswith(twice.removeprefix("Intro\n\n"))


@given(
    plain_lines,
    plain_lines,
    st.lists(st.sampled_from(["Do a.", "Do b.", "Do c."]), min_size=1, max_size=3, unique=True),
)
def test_adding_rules_and_examples_loses_no_line(before: list[str], after: list[str], rules: list[str]) -> None:
    body = "\n".join([*before, EXAMPLES_HEADING, "", CODE_EXAMPLE.render(), *after])
    changed = add_examples(add_rules(body, rules), [Example("new", "one")])
    lines = changed.splitlines()
    for line in filter(str.strip, body.splitlines()):
        assert lines.count(line) >= body.splitlines().count(line)
    for rule in rules:
        assert stated(section(changed, RULES_HEADING) or "", rule)
    assert "User: new\nReply: one" in (section(changed, EXAMPLES_HEADING) or "")
    assert len(re.findall(r"^## Rules$", changed, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    ("body", "rule", "found"),
    [
        ("1. Reply with  the\nnumber ONLY.", "reply with the number only", True),
        ("Reply with the number.", "Reply with the word.", False),
        ("", "A rule.", False),
    ],
)
def test_a_rule_is_stated_whatever_its_spacing_and_case(body: str, rule: str, found: bool) -> None:
    assert stated(body, rule) is found
