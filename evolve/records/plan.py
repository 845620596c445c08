"""``plan.json``: every cell of a sweep and what will happen to it."""

from __future__ import annotations

from typing import Any, Final, Literal, Self

from pydantic import Field, model_validator

from evolve.digest import sha256_json
from evolve.records.base import Digest, Identifier, Record, Timestamp, lean
from evolve.records.kinds import Role, Split
from evolve.records.policy import CachePolicy
from evolve.records.row import CellIdentity

PLAN_SCHEMA: Final = "evolve/plan@1"
PLAN_FILE: Final = "plan.json"

Action = Literal["fresh", "reuse", "canary"]
Purpose = Literal["baseline", "train", "selection", "sealed"]


class Arm(Record):
    """One arm of a sweep."""

    name: str
    role: Role
    skill: Identifier = Field(description="The skill that the comparison is about.")
    skills: dict[Identifier, Digest] = Field(description="The tree digest of every skill that it loads.")
    fingerprint: Digest
    overlay_sha256: Digest | None = None
    agent: dict[str, Any] | None = Field(default=None, description="Its agent's identity; null: that of the sweep.")

    @model_validator(mode="after")
    def _fingerprint_is_of_the_skills(self) -> Self:
        if self.fingerprint != sha256_json(self.skills):
            raise ValueError("the fingerprint is not that of the skills")
        return self


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
    first_run: int = Field(default=0, description="Above 0: runs beyond those of an earlier sweep.")
    drift_level: float = Field(default=0.05, description="How often a canary may see drift where there is none.")
    max_attempts: int
    outage_streak: int
    cache: CachePolicy
    agent: dict[str, Any]
    arms: tuple[Arm, ...]
    left_out: tuple[Identifier, ...] = Field(default=(), description="Tasks left out because they are expensive.")
    cells: tuple[PlannedCell, ...]

    def agent_of(self, arm: str) -> dict[str, Any]:
        """Return the identity of the agent that works in an arm."""
        return next((one.agent for one in self.arms if one.name == arm and one.agent is not None), self.agent)

    @model_validator(mode="after")
    def _lean(self) -> Self:
        for cell in self.cells:
            lean(cell)
            lean(cell.identity)
            if cell.source is not None:
                lean(cell.source)
        return self
