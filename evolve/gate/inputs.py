"""What the gate decides on: rows, the tasks and runs that were planned, the policy, and the level of the look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evolve.records.kinds import Role
from evolve.records.policy import Policy
from evolve.records.row import Row


@dataclass(frozen=True)
class Pair:
    """The two arms of one comparison, by name."""

    incumbent: str
    candidate: str


@dataclass(frozen=True)
class GateInput:
    """Everything that a decision depends on.

    Args:
        rows: The rows, in any order.
        tasks: The sealed tasks.
        runs: Planned runs a task and arm.
        policy: The thresholds.
        alpha: The level that this look was granted, one-sided.
        stopped_early: Whether measuring ended because the rest could not change the decision, or was not worth it; the
            rows must then show that by themselves.
        spent: The levels that earlier looks at these tasks were granted, summed.
        tiers: The tier of each task; a task that is not in it is tight.
        required: Further pairs of arms, in each of which the candidate must win too. The first pair is that of the
            arms named after their roles.

    """

    rows: tuple[Row, ...]
    tasks: tuple[str, ...]
    runs: int
    policy: Policy
    alpha: float
    stopped_early: bool = False
    spent: float = 0.0
    tiers: Mapping[str, str] = field(default_factory=dict)
    required: tuple[Pair, ...] = ()

    def main_pair(self) -> GateInput:
        """Return the same with the rows of the main pair and its control alone."""
        beside = {name for pair in self.required for name in (pair.incumbent, pair.candidate)}
        rows = tuple(row for row in self.rows if row.role is not Role.COMPARATOR and row.arm not in beside)
        return replace(self, rows=rows, required=())

    def pair(self, pair: Pair) -> GateInput:
        """Return the same with the rows of a required pair alone; the control stands beside the main pair."""
        rows = tuple(row for row in self.rows if row.arm in (pair.incumbent, pair.candidate))
        return replace(self, rows=rows, required=(), policy=self.policy.model_copy(update={"control": False}))
