"""What the searches came to: a row each, and the demands that must hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev

from benchmarks.head_to_head.contenders import GEPA, OURS, Outcomes
from benchmarks.head_to_head.resume import Resumed, ResumedGepa
from benchmarks.head_to_head.world import Outcome, Sizes, rules_of
from evolve.stats.paired import clopper_pearson_interval

HEADER = [
    "search",
    "budget",
    "seeds",
    "true",
    "reported",
    "optimism",
    "evaluations",
    "proposals",
    "helpful/neutral/harmful rules",
    "harness s per 1,000",
    "of GEPA's",
]
NULL_HEADER = ["search", "seeds", "claims a gain", "mean gain reported", "evaluations"]
RESUMED_HEADER = ["GEPA, seed", "candidates", "if resumed", "the same up to", "evaluations counted", "made"]
MOST_OPTIMISM = 0.02
MOST_FALSE_CLAIMS = 0.05
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Demand:
    """Something that must come out."""

    text: str
    figure: str
    holds: bool


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and its standard error; infinite for one seed."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Return the estimate of some values."""
        return cls(mean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf)

    def text(self, sign: str = "") -> str:
        """Return both as text."""
        return f"{self.mean:{sign}.3f} ± {self.error:.3f}"


def harness_s(outcomes: Sequence[Outcome]) -> float:
    """Return the median of a search's own seconds per 1,000 evaluations."""
    return median(one.harness_s_per_thousand for one in outcomes)


def rows(found: Outcomes, sizes: Sizes) -> list[list[str]]:
    """Return a row for each search in the world of rules."""
    gepa = found.get(GEPA)
    made = []
    for name, outcomes in found.items():
        rules = [rules_of(one.winner) for one in outcomes]
        kinds = [mean(sum(rule.startswith(kind) for rule in held) for held in rules) for kind in "rdh"]
        seconds = harness_s(outcomes)
        made.append(
            [
                name,
                f"{sizes.budget:,}",
                str(len(outcomes)),
                Estimate.of([one.true for one in outcomes]).text(),
                Estimate.of([one.reported for one in outcomes]).text(),
                Estimate.of([one.optimism for one in outcomes]).text("+"),
                f"{mean(one.evaluations for one in outcomes):,.0f}",
                f"{mean(one.proposals for one in outcomes):,.0f}",
                "/".join(f"{count:.1f}" for count in kinds),
                f"{seconds:.4f}",
                f"{seconds / harness_s(gepa):.2f}" if gepa else NOT_MEASURED,
            ]
        )
    return made


def null_rows(found: Outcomes) -> list[list[str]]:
    """Return a row for each search where nothing helps."""
    return [
        [
            name,
            str(len(outcomes)),
            f"{sum(one.claims for one in outcomes)}",
            Estimate.of([one.reported - one.seed_reported for one in outcomes]).text("+"),
            f"{mean(one.evaluations for one in outcomes):,.0f}",
        ]
        for name, outcomes in found.items()
    ]


def demands(found: Outcomes, sizes: Sizes) -> Iterator[Demand]:
    """Yield what must come out in the world of rules at one budget."""
    ours, at = found[OURS], f"budget {sizes.budget:,}"
    for name, theirs in found.items():
        if name == OURS:
            continue
        gain = Estimate.of([one.true - other.true for one, other in zip(ours, theirs, strict=True)])
        yield Demand(f"{at}: a higher true score than {name}", gain.text("+"), gain.mean > 0)
    optimism = Estimate.of([one.optimism for one in ours])
    held = abs(optimism.mean) <= MOST_OPTIMISM
    yield Demand(f"{at}: optimism of at most {MOST_OPTIMISM}", optimism.text("+"), held)
    most = max(one.evaluations for one in ours)
    yield Demand(f"{at}: no evaluation beyond the budget", f"at most {most:,}", most <= sizes.budget)
    if gepa := found.get(GEPA):
        ratio = harness_s(ours) / harness_s(gepa)
        yield Demand(f"{at}: less time of its own per evaluation than GEPA", f"{ratio:.2f} of GEPA's", ratio < 1)


def null_demand(outcomes: Sequence[Outcome]) -> Demand:
    """Return how often our search may claim a gain where there is none."""
    claims = sum(one.claims for one in outcomes)
    interval = clopper_pearson_interval(claims, len(outcomes))
    figure = f"{claims} of {len(outcomes)}: {interval.estimate:.1%} ({interval.low:.1%} to {interval.high:.1%})"
    return Demand("null: a gain is claimed in at most 5 %", figure, claims <= MOST_FALSE_CLAIMS * len(outcomes))


def resumed_rows(found: Sequence[ResumedGepa]) -> list[list[str]]:
    """Return a row for each run of GEPA that was resumed."""
    return [
        [
            str(number)
            for number in (one.seed, one.candidates_alone, one.candidates, one.same_prefix, one.counted, one.made)
        ]
        for one in found
    ]


def resume_demand(found: Sequence[Resumed]) -> Demand:
    """Return that a killed search goes on as if nothing had happened."""
    same, kills = sum(one.identical for one in found), sum(one.kills for one in found)
    figure = f"{same} of {len(found)}, killed {kills} times"
    text = "killed and restored: the same candidates, evaluations and end"
    return Demand(text, figure, same == len(found) and kills > 0)


def missing_demand(name: str, missing: str) -> Demand:
    """Return that a peer has to be measured."""
    return Demand(f"{name} is measured", missing, holds=False)
