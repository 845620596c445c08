"""What is believed of a candidate after its wins and losses."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.stats.signs import require_counts


@dataclass(frozen=True)
class ProbabilityBetter:
    """The posterior probability that a discordant pair is more often won than lost."""

    probability: float
    wins: int
    losses: int

    def __float__(self) -> float:
        return self.probability


def probability_better(wins: int, losses: int) -> ProbabilityBetter:
    """Return the posterior probability that the candidate wins more than half of the discordant pairs.

    P(theta > 1/2) under Beta(1 + wins, 1 + losses), the posterior of a uniform prior (Bayes 1763). It is a degree of
    belief and controls no error rate; without discordant pairs it is one half.

    Args:
        wins: Pairs in which the candidate alone succeeded.
        losses: Pairs in which the incumbent alone succeeded.

    Raises:
        ValueError: A count is negative.

    """
    require_counts(wins, losses)
    from scipy.stats import beta

    return ProbabilityBetter(float(beta.sf(0.5, 1 + wins, 1 + losses)), wins, losses)
