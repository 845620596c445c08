"""Screening: which candidate, if any, may look at the sealed split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.propose.search.knowledge import INCUMBENT
from evolve.records.kinds import Role
from evolve.records.policy import Policy
from evolve.records.row import Row


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
    """A candidate as it stands on the selection tasks.

    Args:
        arm: Its arm.
        operator: What made it.
        resident_tokens: How many more it has than the incumbent, about.
        selection: What it resolved on the selection tasks.
        cost: What it costs there, as a ratio to the incumbent; ``None`` is unknown.

    """

    arm: str
    operator: str
    resident_tokens: int
    selection: Tally
    cost: float | None = None


def finalist(standings: Sequence[Standing], incumbent: Tally, policy: Policy) -> Standing | None:
    """Return the best candidate on the selection split, if one is above the incumbent measured beside it."""
    return next(iter(finalists(standings, incumbent, policy)), None)


def finalists(standings: Sequence[Standing], incumbent: Tally, policy: Policy) -> list[Standing]:
    """Return the candidates that are above the incumbent measured beside them on the selection split, the best first.

    No more than the policy lets go on. Above is what the policy says: more cells resolved; as many at less of
    ``tie_break``; or, where cost is first, less of the cost with quality held to the margin. Of the choices of one
    operator, the one that earns most for its text stands for all of them.
    """
    better = [standing for standing in standings if _is_above(standing, incumbent, policy)]
    if policy.of_quality:
        better = one_choice_each(better, incumbent)
    ranked = sorted(better, key=lambda one: (*_rank(one, policy), one.resident_tokens, one.arm))
    return ranked[: policy.finalists]


OF_CHOICES = frozenset(("demonstrate", "lesson", "lesson+demonstrate"))
"""Operators that propose the same idea with more or fewer examples or rules."""


def one_choice_each(standings: Sequence[Standing], incumbent: Tally) -> list[Standing]:
    """Return standings, of each operator of choices only that with most cells gained for a resident token.

    One that resolves more than a cell less than the best choice of its operator is no cheaper way to the same.
    """
    found = [standing for standing in standings if standing.operator not in OF_CHOICES]
    for operator in sorted(OF_CHOICES):
        own = [standing for standing in standings if standing.operator == operator]
        most = max((standing.selection.resolved for standing in own), default=0)
        close = [standing for standing in own if standing.selection.resolved >= most - 1]
        if close:
            found.append(max(close, key=lambda one: (_gain_for_a_token(one, incumbent), one.arm)))
    return found


def _gain_for_a_token(standing: Standing, incumbent: Tally) -> float:
    return (standing.selection.resolved - incumbent.resolved) / max(1, standing.resident_tokens)


def _holds(found: Tally, incumbent: Tally, policy: Policy) -> bool:
    allowed = 0.0 if policy.of_quality else policy.noninferiority_margin * incumbent.cells
    return found.resolved >= incumbent.resolved - allowed


def _is_above(standing: Standing, incumbent: Tally, policy: Policy) -> bool:
    found = standing.selection
    cheaper = standing.cost is not None and standing.cost < 1
    if not policy.of_quality:
        return cheaper and _holds(found, incumbent, policy)
    tied = policy.tie_break is not None and found.resolved == incumbent.resolved
    return found.resolved > incumbent.resolved or (tied and cheaper)


def _rank(standing: Standing, policy: Policy) -> tuple[float, float]:
    """Return what sorts the better first: quality then cost, or cost then quality; an unknown cost comes last."""
    cost = float("inf") if standing.cost is None else standing.cost
    resolved = standing.selection.resolved
    if not policy.of_quality:
        return cost, -resolved
    return -resolved, cost if policy.tie_break is not None else 0.0


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
