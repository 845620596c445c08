"""``plan.json``: every cell of a sweep and what will happen to it."""

from __future__ import annotations

from typing import Any, Final, Literal, Self

from pydantic import Field, model_validator

from evolve.records.base import Digest, Identifier, Record, Timestamp, lean
from evolve.records.kinds import Role, Split
from evolve.records.policy import CachePolicy
from evolve.records.row import CellIdentity

PLAN_SCHEMA: Final = "evolve/plan@1"

Action = Literal["fresh", "reuse", "canary"]
Purpose = Literal["baseline", "train", "selection", "sealed"]


class Arm(Record):
    """One arm of a sweep."""

    name: str
    role: Role
    skill: Identifier
    fingerprint: Digest
    overlay_sha256: Digest | None = None


class Source(Record):
    """The row that a reused cell takes, or that a canary vouches for."""

    sweep: str
    row_sha256: Digest
    measured_at: Timestamp


class PlannedCell(Record):
    """One cell, in the order in which it runs."""

    index: int = Field(ge=0)
    arm: str
    role: Role
    split: Split
    identity: CellIdentity
    action: Action
    reason: str
    source: Source | None = None


class Plan(Record):
    """A whole sweep, written before its first cell."""

    schema_id: Literal["evolve/plan@1"] = Field(default=PLAN_SCHEMA, alias="schema")
    sweep: str
    purpose: Purpose
    context: str = Field(description="What the sweep belongs to: a generation, or a benchmark by hand.")
    created_at: Timestamp
    runs: int
    max_attempts: int
    outage_streak: int
    cache: CachePolicy
    agent: dict[str, Any]
    arms: tuple[Arm, ...]
    cells: tuple[PlannedCell, ...]

    @model_validator(mode="after")
    def _lean(self) -> Self:
        for cell in self.cells:
            lean(cell)
            lean(cell.identity)
            if cell.source is not None:
                lean(cell.source)
        return self
