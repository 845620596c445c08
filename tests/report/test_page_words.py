"""Diffs at the level of words, and text that hides or is endless."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.report.page.visible import shown, visible
from evolve.report.page.words import MOST_BLOCK_WORDS, MOST_LINES, LineKind, WordDiff, word_diff

TEXTS = st.lists(st.text(alphabet="ab -+@.\t", max_size=12), max_size=12)


def unified(old: list[str], new: list[str]) -> str:
    return "\n".join(difflib.unified_diff(old, new, "a/x", "b/x", lineterm=""))


def side(diff: WordDiff, *kinds: LineKind) -> list[str]:
    return [line.text for line in diff.lines if line.kind in kinds]


@given(TEXTS, TEXTS)
def test_what_goes_and_what_comes_is_all_there(old: list[str], new: list[str]) -> None:
    found = word_diff(unified(old, new))
    lines = [line for line in unified(old, new).split("\n")[2:] if not line.startswith("@@ ")]
    assert side(found, "context", "del") == [line[1:] for line in lines if line[:1] in (" ", "-")]
    assert side(found, "context", "ins") == [line[1:] for line in lines if line[:1] in (" ", "+")]
    assert (found.removed, found.added) == tuple(sum(line[:1] == sign for line in lines) for sign in "-+")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("You give the number back.", "You give the word back.", [("del", "number"), ("ins", "word")]),
        ("Be clear.", "Be clear and brief.", [("ins", " and brief")]),
        ("one two three", "quite another line", [("del", "one two three"), ("ins", "quite another line")]),
        ("-- a", "-- b", [("del", "a"), ("ins", "b")]),
    ],
)
def test_words_that_change_are_marked(old: str, new: str, expected: list[tuple[str, str]]) -> None:
    found = [piece for line in word_diff(unified([old], [new])).lines[3:] for piece in line.pieces]
    assert [(piece.kind, piece.text) for piece in found if piece.kind != "same"] == expected


def test_a_long_block_is_marked_by_lines_and_a_long_diff_is_cut_and_counted() -> None:
    old, new = ["a b c d " * MOST_BLOCK_WORDS], ["a b c e " * MOST_BLOCK_WORDS]
    found = word_diff(unified([*old, *old], [*new, *new]))
    assert all(len(line.pieces) == 1 for line in found.lines)
    many = word_diff(unified([], [str(number) for number in range(MOST_LINES + 7)]))
    assert (len(many.lines), many.left_out, many.added) == (MOST_LINES, 10, MOST_LINES + 7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x00\x1b[0m\x7f", "\\x00\\x1b[0m\\x7f"),
        ("a\u202eb\u200fc\u2066", "a\\u202eb\\u200fc\\u2066"),
        ("a\u200bb\ufeff\U000e0041", "a\\u200bb\\ufeff\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\u00e9\u4e2d\u0639", "\u00e9\u4e2d\u0639"),
    ],
)
def test_what_hides_is_seen(text: str, expected: str) -> None:
    assert visible(text) == expected
    assert visible(visible(text)) == expected
    visible(text).encode()


def test_what_is_cut_is_counted() -> None:
    assert shown("x" * 10, 10) == "x" * 10
    assert shown("x" * 1_234_567, 3) == "xxx \u2026 (1,234,564 more characters)"
