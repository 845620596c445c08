"""Words of a reply and the density of what they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.scorecard.words import WINDOW, distinct_in_windows, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" -- ... \n", []),
        ("It's done: 2 files, x_1 and Änderung.", ["it's", "done", "2", "files", "x_1", "and", "änderung"]),
        ("`a.py`", ["a", "py"]),
        ("the The THE", ["the", "the", "the"]),
    ],
)
def test_words_are_letters_digits_and_inner_apostrophes_without_case(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_the_windows_of_a_text_computed_by_hand() -> None:
    # windows of 3 in a b a a c: (a b a) has 2, (b a a) has 2, (a a c) has 2
    assert distinct_in_windows(list("abaac"), 3) == (6, 9)
    # (a b c) has 3, (b c a) has 3
    assert distinct_in_windows(list("abca"), 3) == (6, 6)


def test_a_text_one_word_short_of_a_window_has_no_density() -> None:
    assert distinct_in_windows(["a"] * (WINDOW - 1)) is None
    assert distinct_in_windows(["a"] * WINDOW) == (1, WINDOW)


def test_the_density_does_not_fall_with_length() -> None:
    once = [str(number) for number in range(WINDOW)]
    for words in (once, once * 9):
        distinct, inside = distinct_in_windows(words) or (0, 1)
        assert distinct == inside


@given(st.lists(st.sampled_from("abcde"), max_size=40), st.integers(1, 12))
def test_it_is_the_mean_over_all_windows(words: list[str], window: int) -> None:
    windows = [words[start : start + window] for start in range(len(words) - window + 1)]
    expected = (sum(len(set(one)) for one in windows), sum(len(one) for one in windows)) if windows else None
    assert distinct_in_windows(words, window) == expected
