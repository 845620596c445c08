"""Screening: which candidate, if any, may look at the sealed split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.records.kinds import Role
from evolve.records.policy import Policy
from evolve.records.row import Row

INCUMBENT = "incumbent"


@dataclass(frozen=True)
class Tally:
    """How many of an arm's cells resolved, out of how many."""

    resolved: int
    cells: int

    def __str__(self) -> str:
        return f"{self.resolved}/{self.cells}"


def tally(rows: Sequence[Row], arm: str) -> Tally:
    """Count an arm's resolved cells; a void cell counts as a cell that did not resolve."""
    own = [row for row in rows if row.arm == arm]
    return Tally(resolved=sum(row.resolved for row in own), cells=len(own))


@dataclass(frozen=True)
class Standing:
    """A candidate as it stands in the search.

    Args:
        arm: Its arm.
        resident_bytes: The length of its text, which breaks ties.
        train: What it resolved on the train tasks.
        selection: What it resolved on the selection tasks.
        cost: What it costs on the tasks of the last screen, as a ratio to the incumbent; ``None`` is unknown.

    """

    arm: str
    resident_bytes: int
    train: Tally
    selection: Tally | None = None
    cost: float | None = None


def survivors(standings: Sequence[Standing], incumbent: Tally, policy: Policy) -> list[Standing]:
    """Return the candidates that go on to the selection split: the best on train, none below the incumbent.

    Under a policy that puts cost first, the cheapest, none below the incumbent by more than the margin.
    """
    able = [standing for standing in standings if _holds(standing.train, incumbent, policy)]
    return sorted(able, key=lambda s: (*_rank(s, s.train, policy), s.resident_bytes, s.arm))[
        : policy.screening.survivors
    ]


def finalist(standings: Sequence[Standing], incumbent: Tally, policy: Policy) -> Standing | None:
    """Return the best candidate on the selection split, if it is above the incumbent measured beside it.

    Above is what the policy says: more cells resolved; as many at less of ``tie_break``; or, where cost is first, less
    of the cost with quality held to the margin.
    """
    measured = [(s, s.selection) for s in standings if s.selection is not None]
    better = [(s, found) for s, found in measured if _is_above(s, found, incumbent, policy)]
    if not better:
        return None
    return min(
        better,
        key=lambda pair: (
            *_rank(pair[0], pair[1], policy),
            -pair[0].train.resolved,
            pair[0].resident_bytes,
            pair[0].arm,
        ),
    )[0]


def _holds(found: Tally, incumbent: Tally, policy: Policy) -> bool:
    allowed = 0.0 if policy.of_quality else policy.noninferiority_margin * incumbent.cells
    return found.resolved >= incumbent.resolved - allowed


def _is_above(standing: Standing, found: Tally, incumbent: Tally, policy: Policy) -> bool:
    cheaper = standing.cost is not None and standing.cost < 1
    if not policy.of_quality:
        return cheaper and _holds(found, incumbent, policy)
    tied = policy.tie_break is not None and found.resolved == incumbent.resolved
    return found.resolved > incumbent.resolved or (tied and cheaper)


def _rank(standing: Standing, found: Tally, policy: Policy) -> tuple[float, float]:
    """Return what sorts the better first: quality then cost, or cost then quality; an unknown cost comes last."""
    cost = float("inf") if standing.cost is None else standing.cost
    if not policy.of_quality:
        return cost, -found.resolved
    return -found.resolved, cost if policy.tie_break is not None else 0.0


def cost_ratio(rows: Sequence[Row], arm: str, policy: Policy) -> float | None:
    """Return what an arm costs, as a ratio to the incumbent beside it; ``None`` when the policy asks for no cost.

    The geometric mean over tasks of the ratios of medians over runs, in the metric of the policy or its tie-break; also
    ``None`` where a figure is missing or the incumbent resolves nothing.
    """
    metric = policy.tie_break if policy.of_quality else policy.metric
    if metric is None:
        return None
    from evolve.gate.inputs import GateInput
    from evolve.gate.table import RowsByTask
    from evolve.stats.estimands import geometric_mean_ratio

    roles = {INCUMBENT: Role.INCUMBENT, arm: Role.CANDIDATE}
    pair = tuple(row.model_copy(update={"role": roles[row.arm]}) for row in rows if row.arm in roles)
    tasks = tuple(sorted({row.identity.task for row in pair}))
    runs = 1 + max((row.identity.run for row in pair), default=0)
    found = RowsByTask(GateInput(pair, tasks, runs, policy, policy.alpha)).cost_figures(metric)
    if found.missing or not found.tasks:
        return None
    before, after = ([float(getattr(task, side)) for task in found.tasks] for side in ("incumbent", "candidate"))
    return geometric_mean_ratio(before, after).value


@dataclass(frozen=True)
class Baseline:
    """A skill's train rows: how many failed, of how many, and the mean share of checks that passed."""

    skill: str
    failed: int
    cells: int
    mean_score: float


def baseline_of(skill: str, rows: Sequence[Row]) -> Baseline:
    """Summarise a skill's train rows."""
    scores = [score for row in rows for score in (_score(row),) if score is not None]
    return Baseline(
        skill=skill,
        failed=sum(not row.resolved for row in rows if not row.void),
        cells=len(rows),
        mean_score=sum(scores) / len(scores) if scores else 0.0,
    )


def _score(row: Row) -> float | None:
    parts = [outcome.score for outcome in (row.verify, row.oracle) if outcome is not None]
    return sum(parts) / len(parts) if parts else None


def most_failing(baselines: Sequence[Baseline]) -> Baseline:
    """Return the skill with most failing rows; ties go to the lower share of passed checks, then by name."""
    return min(baselines, key=lambda b: (-b.failed, b.mean_score, b.skill))
