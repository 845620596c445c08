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

    code: str = Field(description="What it is, for programs.")
    text: str = Field(description="What it is, for people.")
    blocking: bool = Field(description="Whether it keeps the candidate from being promoted.")
    numbers: Numbers = Field(
        default_factory=dict, description="The figures that it rests on, by name; null is unknown."
    )
    tasks: tuple[Identifier, ...] = Field(
        default=(), description="The tasks that it is about; none where it is about all."
    )


class TaskResult(Record):
    """One task: its planned runs, how many of them each arm resolved, and the metric where it is another."""

    task: Identifier = Field(description="The task's id.")
    tier: str = Field(description="The task's tier: tight or open.")
    runs: int = Field(description="Planned runs that both arms have.")
    incumbent_resolved: int = Field(description="Runs that the incumbent resolved.")
    candidate_resolved: int = Field(description="Runs that the candidate resolved.")
    incumbent: float | None = Field(
        default=None, description="The incumbent's metric; null where that is the resolve rate."
    )
    candidate: float | None = Field(
        default=None, description="The candidate's metric; null where that is the resolve rate."
    )
    counted: bool = Field(default=True, description="False: no arm to compare, as the incumbent never resolves it.")
    extra_runs: int = Field(default=0, description="Runs of each arm beyond the plan, for its regression alone.")


class Estimate(Record):
    """An estimate that never travels alone; without a value it is not comparable, and the reason is given."""

    estimand: str = Field(description="What is estimated, in words.")
    decides: bool = Field(default=True, description="Whether it is of what is decided on; else it is shown beside.")
    value: float | None = Field(description="The estimate; null: not comparable.")
    low: float | None = Field(description="Lower end of the interval; null where there is none.")
    high: float | None = Field(description="Upper end of the interval; null where there is none.")
    confidence: float = Field(description="Confidence of the interval, from 0 to 1.")
    interval: str = Field(description="How the interval is made; none: there is none.")
    unit: str = Field(description="What value, low and high are in.")
    tasks: int = Field(description="Tasks that it is over.")
    runs: int = Field(description="Planned runs of a task and arm.")
    not_comparable: str | None = Field(default=None, description="Why there is no value; null where there is one.")


class TestResult(Record):
    """A significance test and the level it was held against."""

    __test__ = False

    name: str = Field(description="The test, in words.")
    alternative: Literal["greater", "two-sided"] = Field(
        description="What it looks for: a gain alone, or any difference."
    )
    p_value: float = Field(description="Its p-value.")
    alpha: float = Field(description="The level that the p-value was held against.")
    wins: int = Field(description="Tasks in which the candidate is better.")
    losses: int = Field(description="Tasks in which the candidate is worse.")
    ties: int = Field(description="Tasks in which both are alike.")


class Level(Record):
    """The error level of a look: what it was granted, and what looks before it were."""

    account: AlphaAccount = Field(description="How the policy's alpha is shared among looks.")
    granted: float = Field(description="The level of this look.")
    spent_before: float = Field(description="The levels granted to the looks before it, summed.")


class ArmDecision(Record):
    """What the rows of one required arm say."""

    arm: str = Field(description="The name of the candidate's arm.")
    outcome: Outcome = Field(description="What the rows of this arm alone decide.")
    reasons: tuple[Reason, ...] = Field(description="Why that is so.")
    estimates: tuple[Estimate, ...] = Field(default=(), description="Estimates of the effect in this arm.")
    test: TestResult | None = Field(
        default=None, description="The test of the gain in this arm; null where none was made."
    )
    tasks: tuple[TaskResult, ...] = Field(default=(), description="The tasks, one by one, in this arm.")


class Decision(Record):
    """The outcome with its reasons; the same rows in any order give the same bytes."""

    schema_id: Literal["evolve/decision@1"] = Field(
        default=DECISION_SCHEMA, alias="schema", description="The format of this record and its version."
    )
    outcome: Outcome = Field(description="What was decided.")
    reasons: tuple[Reason, ...] = Field(
        description="Why, with one reason for each of the other arms that it must win in."
    )
    estimates: tuple[Estimate, ...] = Field(
        default=(), description="Estimates of the effect: those of what is decided on, and those beside it."
    )
    test: TestResult | None = Field(default=None, description="The test of the gain; null where none was made.")
    tasks: tuple[TaskResult, ...] = Field(default=(), description="The tasks, one by one.")
    level: Level | None = Field(default=None, description="The level of the look; null in evidence of before.")
    required: tuple[ArmDecision, ...] = Field(default=(), description="The other arms that it must win in as well.")
