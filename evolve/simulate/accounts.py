"""A year of weekly looks under either account of the level: false promotions, and gains that are found."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evolve.records.policy import AlphaAccount, Policy
from evolve.simulate.rules import by_gate
from evolve.simulate.run import measure
from evolve.simulate.worlds import WORLDS, Design, draw_truth
from evolve.stats.intervals import Interval, clopper_pearson_interval
from evolve.stats.multiplicity import level_of_look

LOOKS = 52


@dataclass(frozen=True)
class Year:
    """What an account of the level does over many years of looks.

    Args:
        account: The account.
        better_share: How often a look is at a candidate that is better.
        years: How many were run.
        looks: Looks a year.
        with_false: Years with one false promotion or more.
        false_share: Mean share of a year's promotions that are false: the false discovery rate.
        found: Better candidates that were promoted.
        better: Better candidates that were looked at.

    """

    account: AlphaAccount
    better_share: float
    years: int
    looks: int
    with_false: int
    false_share: float
    found: int
    better: int

    @property
    def any_false(self) -> Interval:
        """The share of years with a false promotion, with an exact interval."""
        return clopper_pearson_interval(self.with_false, self.years)

    @property
    def power(self) -> float | None:
        """The share of better candidates that were promoted."""
        return self.found / self.better if self.better else None


def year_of_looks(
    account: AlphaAccount,
    policy: Policy,
    design: Design,
    years: int,
    seed: int,
    better_share: float = 0.0,
    looks: int = LOOKS,
) -> Year:
    """Run years of weekly looks at one sealed split, each at a candidate of its own.

    Args:
        account: How the level is spent.
        policy: The thresholds.
        design: Sealed tasks and runs.
        years: How many to run.
        seed: Seeds everything.
        better_share: How often a candidate is better; the others are the incumbent in other words.
        looks: Looks a year.

    """
    import numpy

    world = replace(WORLDS["gain"], better=1)
    alone = replace(design, candidates=1)
    decide = by_gate(policy)
    with_false = found = better = 0
    shares = 0.0
    for number in range(years):
        rng = numpy.random.default_rng([seed, number])
        promotions: list[int] = []
        false = 0
        for look in range(1, looks + 1):
            real = bool(rng.random() < better_share)
            here = world if real else WORLDS["null"]
            alpha = level_of_look(account, look, policy.alpha, promotions)
            verdict = decide(measure(here, draw_truth(here, alone, rng), 0, alone, alpha, rng))
            better += real
            if verdict.promoted:
                promotions.append(look)
                found += real
                false += not real
        with_false += false > 0
        shares += false / len(promotions) if promotions else 0.0
    return Year(account, better_share, years, looks, with_false, shares / years, found, better)
