"""What the promotion gate decided, and the numbers it decided on."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Identifier, Record
from evolve.records.kinds import Outcome
from evolve.records.policy import AlphaAccount

DECISION_SCHEMA: Final = "evolve/decision@1"

Numbers = dict[str, float | int | None]


class Reason(Record):
    """One reason, for machines (code, numbers, tasks) and for people (text)."""

    code: str
    text: str
    blocking: bool
    numbers: Numbers = Field(default_factory=dict)
    tasks: tuple[Identifier, ...] = ()


class TaskResult(Record):
    """One task: its planned runs, how many of them each arm resolved, and the metric where it is another."""

    task: Identifier
    tier: str
    runs: int
    incumbent_resolved: int
    candidate_resolved: int
    incumbent: float | None = Field(default=None, description="The metric, when it is not the resolve rate.")
    candidate: float | None = None
    counted: bool = Field(default=True, description="False: no arm to compare, as the incumbent never resolves it.")
    extra_runs: int = Field(default=0, description="Runs of each arm beyond the plan, for its regression alone.")


class Estimate(Record):
    """An estimate that never travels alone; without a value it is not comparable, and the reason is given."""

    estimand: str
    decides: bool = True
    value: float | None
    low: float | None
    high: float | None
    confidence: float
    interval: str
    unit: str
    tasks: int
    runs: int
    not_comparable: str | None = None


class TestResult(Record):
    """A significance test and the level it was held against."""

    __test__ = False

    name: str
    alternative: Literal["greater", "two-sided"]
    p_value: float
    alpha: float
    wins: int
    losses: int
    ties: int


class Level(Record):
    """The error level of a look: what it was granted, and what looks before it were."""

    account: AlphaAccount
    granted: float
    spent_before: float


class ArmDecision(Record):
    """What the rows of one required arm say."""

    arm: str
    outcome: Outcome
    reasons: tuple[Reason, ...]
    estimates: tuple[Estimate, ...] = ()
    test: TestResult | None = None
    tasks: tuple[TaskResult, ...] = ()


class Decision(Record):
    """The outcome with its reasons; the same rows in any order give the same bytes."""

    schema_id: Literal["evolve/decision@1"] = Field(default=DECISION_SCHEMA, alias="schema")
    outcome: Outcome
    reasons: tuple[Reason, ...]
    estimates: tuple[Estimate, ...] = ()
    test: TestResult | None = None
    tasks: tuple[TaskResult, ...] = ()
    level: Level | None = None
    required: tuple[ArmDecision, ...] = Field(default=(), description="The other arms that it must win in as well.")
