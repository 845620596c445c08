"""``plan.json``: every cell of a sweep and what will happen to it."""

from __future__ import annotations

from typing import Any, Final, Literal, Self

from pydantic import Field, model_validator

from evolve.digest import sha256_json
from evolve.records.base import FILE_FORMAT, Digest, Identifier, Record, Timestamp, lean
from evolve.records.kinds import Role, Split
from evolve.records.policy import CachePolicy
from evolve.records.row import CellIdentity

PLAN_SCHEMA: Final = "evolve/plan@1"
PLAN_FILE: Final = "plan.json"

Action = Literal["fresh", "reuse", "canary"]
Purpose = Literal["baseline", "train", "selection", "sealed"]


class Arm(Record):
    """One arm of a sweep."""

    name: str = Field(description="Its name in the sweep.")
    role: Role = Field(description="What it is in the comparison.")
    skill: Identifier = Field(description="The skill that the comparison is about.")
    skills: dict[Identifier, Digest] = Field(description="The tree digest of every skill that it loads.")
    fingerprint: Digest = Field(description="Digest of skills: of every file that it loads.")
    overlay_sha256: Digest | None = Field(
        default=None, description="Digest of the overlay that makes it a candidate; null: none."
    )
    agent: dict[str, Any] | None = Field(default=None, description="Its agent's identity; null: that of the sweep.")

    @model_validator(mode="after")
    def _fingerprint_is_of_the_skills(self) -> Self:
        if self.fingerprint != sha256_json(self.skills):
            raise ValueError("the fingerprint is not that of the skills")
        return self


class Source(Record):
    """The row that a reused cell takes, or that a canary vouches for."""

    sweep: str = Field(description="The sweep that measured it.")
    row_sha256: Digest = Field(description="Digest of the row there.")
    measured_at: Timestamp = Field(description="When it was measured.")


class PlannedCell(Record):
    """One cell, in the order in which it runs."""

    index: int = Field(ge=0, description="Its place in the order, from 0.")
    arm: str = Field(description="The arm's name.")
    role: Role = Field(description="What the arm is in the comparison.")
    split: Split = Field(description="The task's split.")
    identity: CellIdentity = Field(description="Everything that can influence its outcome.")
    action: Action = Field(
        description="fresh: it is run; reuse: a row is taken; canary: it is run beside a row, to vouch for it."
    )
    reason: str = Field(description="Why, in words.")
    source: Source | None = Field(default=None, description="The row that it takes or vouches for; null: fresh.")


class Plan(Record):
    """A whole sweep, written before its first cell."""

    schema_id: Literal["evolve/plan@1"] = Field(default=PLAN_SCHEMA, alias="schema", description=FILE_FORMAT)
    sweep: str = Field(description="The sweep's name, which is that of its folder.")
    purpose: Purpose = Field(description="What it is for: the baseline, or a comparison on a split.")
    context: str = Field(description="What the sweep belongs to: a generation, or a benchmark by hand.")
    created_at: Timestamp = Field(description="When it was planned.")
    runs: int = Field(description="Runs of a task and arm.")
    first_run: int = Field(
        default=0, description="The number of the first run; above 0: beyond the runs of an earlier sweep."
    )
    drift_level: float = Field(default=0.05, description="How often a canary may see drift where there is none.")
    max_attempts: int = Field(description="Attempts at a cell that voids.")
    outage_streak: int = Field(description="Systemic failures in a row that stop it.")
    cache: CachePolicy = Field(description="warm: one throw-away session an arm before its first cell; cold: none.")
    agent: dict[str, Any] = Field(description="The identity of the agent of every arm that has none of its own.")
    arms: tuple[Arm, ...] = Field(description="What is compared.")
    left_out: tuple[Identifier, ...] = Field(default=(), description="Tasks left out because they are expensive.")
    cells: tuple[PlannedCell, ...] = Field(description="Every cell, in the order in which they run.")

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
