"""What is believed after wins and losses."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.stats.bayes import probability_better
from tests.stats.reference import REFERENCE, digits


@pytest.mark.parametrize(("wins", "losses", "probability"), REFERENCE["beta_posterior_p_gt_half"])
def test_the_posterior_gives_the_reference_values(wins: int, losses: int, probability: float) -> None:
    result = probability_better(wins, losses)
    assert float(result) == result.probability == pytest.approx(probability, abs=digits(probability))
    assert (result.wins, result.losses) == (wins, losses)


@given(st.integers(0, 40), st.integers(0, 40))
@settings(deadline=None)
def test_wins_and_losses_mirror_each_other(wins: int, losses: int) -> None:
    both = probability_better(wins, losses).probability + probability_better(losses, wins).probability
    assert both == pytest.approx(1)
    assert probability_better(wins + 1, losses).probability > probability_better(wins, losses).probability


def test_without_discordant_pairs_either_is_as_likely() -> None:
    assert probability_better(0, 0).probability == pytest.approx(0.5)


@pytest.mark.parametrize(("wins", "losses"), [(-1, 0), (0, -1)])
def test_negative_counts_are_refused(wins: int, losses: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        probability_better(wins, losses)
