"""Whether canaries vouch for the rows that are reused."""

from __future__ import annotations

import pytest

from evolve.stats.drift import canaries_disagree


@pytest.mark.parametrize(
    ("pairs", "disagree"),
    [
        ([], False),
        ([(True, True), (False, False)], False),
        ([(True, True), (True, False)], True),
        ([(False, True)], True),
    ],
)
def test_a_single_different_outcome_is_drift(pairs: list[tuple[bool, bool]], disagree: bool) -> None:
    assert canaries_disagree(pairs) is disagree
