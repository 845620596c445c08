"""What the promotion gate decided, and the numbers it decided on."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Identifier, Record
from evolve.records.kinds import Outcome

DECISION_SCHEMA: Final = "evolve/decision@1"


class Reason(Record):
    """One reason, for machines (code, numbers, tasks) and for people (text)."""

    code: str
    text: str
    blocking: bool
    numbers: dict[str, float | int | None] = Field(default_factory=dict)
    tasks: tuple[Identifier, ...] = ()


class TaskResult(Record):
    """One task: runs, and how many of them each arm resolved."""

    task: Identifier
    runs: int
    incumbent_resolved: int
    candidate_resolved: int


class Estimate(Record):
    """An estimate that never travels alone."""

    estimand: str
    value: float
    low: float
    high: float
    confidence: float
    interval: str
    unit: str
    tasks: int
    runs: int


class TestResult(Record):
    """A significance test and the level it was held against."""

    __test__ = False

    name: str
    alternative: Literal["greater"]
    p_value: float
    alpha: float
    wins: int
    losses: int
    ties: int


class Decision(Record):
    """The outcome with its reasons; the same rows in any order give the same bytes."""

    schema_id: Literal["evolve/decision@1"] = Field(default=DECISION_SCHEMA, alias="schema")
    outcome: Outcome
    reasons: tuple[Reason, ...]
    estimates: tuple[Estimate, ...] = ()
    test: TestResult | None = None
    tasks: tuple[TaskResult, ...] = ()
