"""``promotion.json``: the evidence of one decided candidate."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from evolve.records.base import Count, Digest, Identifier, Record, Timestamp, is_empty
from evolve.records.checks import RelativePath
from evolve.records.decision import Decision
from evolve.records.overlay import OverlaySpec
from evolve.records.plan import Arm
from evolve.records.policy import Policy
from evolve.records.row import Usage

PROMOTION_SCHEMA: Final = "evolve/promotion@1"


class SealedTask(Record):
    """A sealed task as it was measured."""

    task: Identifier
    task_sha256: Digest
    oracle_sha256: Digest
    tier: str = "tight"


class ExtraRound(Record):
    """A round of further runs for tasks whose regression may have been noise."""

    sweep: str
    tasks: tuple[Identifier, ...]
    first_run: int
    runs: int
    plan_sha256: Digest
    journal_sha256: Digest


class CanaryRecord(Record):
    """A canary beside the row it vouches for."""

    arm: str
    task: Identifier
    run: int
    source: str = Field(description="The sweep that measured the row it vouches for.")
    reused_resolved: bool
    reused_usage: Usage
    canary_resolved: bool


class ReuseRecord(Record):
    """What was reused, and what vouches for it."""

    reused_rows: int
    dropped_arms: tuple[str, ...]
    canaries: tuple[CanaryRecord, ...]


class Spend(Record):
    """Attempts and money; null money is unknown, never free."""

    fresh_rows: Count
    reused_rows: Count
    voided_attempts: Count
    input_tokens: Count | None
    output_tokens: Count | None
    cost_usd_micros: Count | None
    saved_cells: Count = Field(default=0, description="Planned cells that were not needed for the decision.")
    surplus_rows: Count = Field(default=0, description="Cells under way when the rest was not needed any more.")
    lost_attempts: Count = Field(default=0, description="Attempts that a killed or interrupted process left open.")
    warm_ups: Count = 0
    overhead_usd_micros: Count | None = Field(
        default=0, description="What lost attempts and warm-ups cost at the most, beside the cells."
    )


class ArmHealthRecord(Record):
    """How an arm fared, from its fresh rows alone."""

    arm: str
    health: Literal["unknown", "ok", "degraded", "unusable"]
    fresh: int
    void: int


class LedgerPosition(Record):
    """Which look this was and what level it had."""

    look: int
    alpha: float
    spent: float = Field(default=0.0, description="The levels of earlier looks at these tasks, summed.")
    entry_sha256: Digest


class Promotion(Record):
    """Everything that the decision rests on, by digest; the rows lie beside it."""

    schema_id: Literal["evolve/promotion@1"] = Field(default=PROMOTION_SCHEMA, alias="schema")
    evolve_version: str
    generated_at: Timestamp
    expires_at: Timestamp
    skill: Identifier
    sweep: str
    runs: int
    decision: Decision
    stopped_early: bool = False
    policy: Policy
    policy_sha256: Digest
    overlay_sha256: Digest
    overlay_files: dict[RelativePath, Digest]
    base_files: dict[RelativePath, Digest | None] = Field(
        description="What the overlay replaces or deletes; null: a new file."
    )
    # left out where it is empty, so that evidence of before stays canonical
    folders: tuple[RelativePath, ...] = Field(
        default=(),
        exclude_if=is_empty,
        description="Where the skill stands: the overlay's paths lie in the first; the others are kept identical.",
    )
    lineage: OverlaySpec
    arms: tuple[Arm, ...]
    sealed_sha256: Digest
    sealed: tuple[SealedTask, ...]
    left_out: tuple[Identifier, ...] = Field(
        default=(), description="Sealed tasks left out because they are expensive."
    )
    agent: dict[str, Any]
    runtime_sha256: Digest
    plan_sha256: Digest
    rows_sha256: Digest
    row_sha256: tuple[Digest, ...] = Field(description="One digest a line of rows.jsonl, so that a fault has a place.")
    surplus_sha256: tuple[Digest, ...] = Field(default=(), description="Rows that were measured and did not count.")
    journal_sha256: Digest
    extra: tuple[ExtraRound, ...] = ()
    reuse: ReuseRecord
    spend: Spend
    health: tuple[ArmHealthRecord, ...]
    position_effect: float | None = Field(description="Spearman correlation of session time with position.")
    cost_position_effect: float | None = Field(default=None, description="Spearman correlation of cost with position.")
    ledger: LedgerPosition

    def agent_of(self, arm: str) -> dict[str, Any]:
        """Return the identity of the agent that worked in an arm."""
        return next((one.agent for one in self.arms if one.name == arm and one.agent is not None), self.agent)
