"""Tests of the tables."""

from term.tables import table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table([["a", "bb"], ["ccc", "d"]]) == "a    bb\nccc  d\n"
