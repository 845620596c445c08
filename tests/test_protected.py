"""Protected passages stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import InputError
from evolve.overlays import validate_overlay
from evolve.protected import BEGIN, END, check_protected, protected_passages
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from tests.builders import make_corpus, make_skill, skill_text

ONE = f"Before.\n{BEGIN}\nNever delete data.\n{END}\nAfter.\n"
TWO = f"{ONE}{BEGIN}\nAsk first.\n{END}\n"


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ("nothing", ()),
        (ONE, ("\nNever delete data.\n",)),
        (TWO, ("\nNever delete data.\n", "\nAsk first.\n")),
        (f"a{BEGIN}to the end", ("to the end",)),
        (f"a{BEGIN}b{BEGIN}c{END}d", (f"b{BEGIN}c",)),
        (f"{END}a", ()),
        (f"{BEGIN}{END}", ("",)),
    ],
)
def test_passages_are_what_stands_between_the_marks(text: str, passages: tuple[str, ...]) -> None:
    assert protected_passages(text) == passages


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ONE, ONE),
        (ONE, ONE.replace("Before.", "Other words.").replace("After.", "")),
        (ONE, f"More.\n{TWO}"),
        ("nothing", ONE),
        (ONE, f"{BEGIN}a passage of its own{END}{ONE}"),
    ],
)
def test_everything_around_may_change_and_passages_may_be_added(before: str, after: str) -> None:
    check_protected(before, after, "here")


@pytest.mark.parametrize(
    "after",
    [
        "",
        ONE.replace("Never", "Always"),
        ONE.replace(BEGIN, "").replace(END, ""),
        ONE.replace(END, ""),
        ONE.replace("\nNever", "\n\nNever"),
    ],
)
def test_a_passage_that_is_changed_or_no_longer_protected_is_refused(after: str) -> None:
    with pytest.raises(InputError, match=r"begins with 'Never delete data\.'") as refused:
        check_protected(ONE, after, "here")
    assert refused.value.code == "protected"


def test_passages_keep_their_order_and_their_number() -> None:
    first, second = f"{BEGIN}1{END}", f"{BEGIN}2{END}"
    for after in (second + first, first, first + first):
        with pytest.raises(InputError):
            check_protected(first + second, after, "here")
    with pytest.raises(InputError):
        check_protected(first + first, first, "here")


def test_line_ends_tell_no_passages_apart() -> None:
    whole = f"a\r\n{BEGIN}\r\nb\r\n{END}\r\n"
    check_protected(whole, whole.replace("\r\n", "\n"), "here")
    with pytest.raises(InputError):
        check_protected(whole, whole.replace("b\r\n", "b"), "here")


@given(st.text("ab\n", max_size=8), st.text("ab\n", max_size=8), st.text("ab\n", max_size=8))
def test_text_around_a_passage_never_matters(before: str, passage: str, after: str) -> None:
    whole = f"{before}{BEGIN}{passage}{END}{after}"
    check_protected(whole, f"{after}{BEGIN}{passage}{END}{before}", "here")


def test_an_overlay_that_changes_a_protected_passage_is_refused() -> None:
    from evolve.overlays import single_file_overlay

    skill = make_skill(body=f"Say hello.\n{BEGIN}\nNever swear.\n{END}")
    spec = OverlaySpec(schema_id=OVERLAY_SCHEMA, skills=(skill.name,), operator="manual")

    def validate(body: str) -> None:
        overlay = single_file_overlay(skill, "SKILL.md", skill_text(body=body), spec)
        validate_overlay(overlay, skill, make_corpus(), "mine")

    validate(f"Say good day.\n{BEGIN}\nNever swear.\n{END}")
    with pytest.raises(InputError, match=r"mine: skills/greeter/SKILL\.md: changes a protected passage"):
        validate("Say good day. Never swear.")
