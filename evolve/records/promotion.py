"""``promotion.json``: the evidence of one decided candidate."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from evolve.records.base import FILE_FORMAT, Count, Digest, Identifier, Record, Timestamp, is_empty
from evolve.records.checks import RelativePath
from evolve.records.decision import Decision
from evolve.records.overlay import OverlaySpec
from evolve.records.plan import Arm
from evolve.records.policy import Policy
from evolve.records.row import Usage

PROMOTION_SCHEMA: Final = "evolve/promotion@1"


class SealedTask(Record):
    """A sealed task as it was measured."""

    task: Identifier = Field(description="The task's id.")
    task_sha256: Digest = Field(description="Digest of task.yaml as it was read, seed and patch.")
    oracle_sha256: Digest = Field(description="Digest of the oracle's folder.")
    tier: str = Field(default="tight", description="The task's tier: tight or open.")


class ExtraRound(Record):
    """A round of further runs for tasks whose regression may have been noise."""

    sweep: str = Field(description="The sweep of the round.")
    tasks: tuple[Identifier, ...] = Field(description="The tasks that were measured again.")
    first_run: int = Field(description="The number of its first run.")
    runs: int = Field(description="Runs of a task and arm.")
    plan_sha256: Digest = Field(description="Digest of its plan.")
    journal_sha256: Digest = Field(description="SHA-256 of its journal.jsonl.")


class CanaryRecord(Record):
    """A canary beside the row it vouches for."""

    arm: str = Field(description="The arm's name.")
    task: Identifier = Field(description="The task's id.")
    run: int = Field(description="The number of the run.")
    source: str = Field(description="The sweep that measured the row it vouches for.")
    reused_resolved: bool = Field(description="Whether the row that it vouches for resolved.")
    reused_usage: Usage = Field(description="What that row used.")
    canary_resolved: bool = Field(description="Whether the canary resolved.")


class ReuseRecord(Record):
    """What was reused, and what vouches for it."""

    reused_rows: int = Field(description="Rows of the sweep that were taken from earlier ones.")
    dropped_arms: tuple[str, ...] = Field(
        description="Arms whose reused rows were dropped, as their canaries did not vouch for them."
    )
    canaries: tuple[CanaryRecord, ...] = Field(description="The canaries, each beside the row that it vouches for.")


class Spend(Record):
    """Attempts and money; null money is unknown, never free."""

    fresh_rows: Count = Field(description="Valid rows that were measured for this decision and count.")
    reused_rows: Count = Field(description="Rows that were taken from earlier sweeps and cost nothing again.")
    voided_attempts: Count = Field(description="Attempts that say nothing about their arm.")
    input_tokens: Count | None = Field(
        description="Tokens of input of all rows that were paid for; null: of one it is unknown."
    )
    output_tokens: Count | None = Field(
        description="Tokens of output of all rows that were paid for; null: of one it is unknown."
    )
    cost_usd_micros: Count | None = Field(
        description="Cost of all rows that were paid for, in millionths of a USD; null: of one it is unknown."
    )
    saved_cells: Count = Field(default=0, description="Planned cells that were not needed for the decision.")
    surplus_rows: Count = Field(default=0, description="Cells under way when the rest was not needed any more.")
    lost_attempts: Count = Field(default=0, description="Attempts that a killed or interrupted process left open.")
    warm_ups: Count = Field(default=0, description="Throw-away sessions before the first cell of an arm.")
    overhead_usd_micros: Count | None = Field(
        default=0,
        description="What lost attempts and warm-ups cost at the most, in millionths of a USD; null is unknown.",
    )


class ArmHealthRecord(Record):
    """How an arm fared, from its fresh rows alone."""

    arm: str = Field(description="The arm's name.")
    health: Literal["unknown", "ok", "degraded", "unusable"] = Field(
        description="unknown: no fresh row; ok: no attempt voided; degraded: some did; unusable: most rows are void."
    )
    fresh: int = Field(description="Its rows that were not reused.")
    void: int = Field(description="How many of those are void.")


class LedgerPosition(Record):
    """Which look this was and what level it had."""

    look: int = Field(description="The how-manieth look of this skill at any of these sealed tasks.")
    alpha: float = Field(description="The level granted to this look.")
    spent: float = Field(default=0.0, description="The levels of earlier looks at these tasks, summed.")
    entry_sha256: Digest = Field(description="Digest of the entry of this look in the ledger.")


class Promotion(Record):
    """Everything that the decision rests on, by digest; the rows lie beside it."""

    schema_id: Literal["evolve/promotion@1"] = Field(default=PROMOTION_SCHEMA, alias="schema", description=FILE_FORMAT)
    evolve_version: str = Field(description="The version of evolve that wrote it.")
    generated_at: Timestamp = Field(description="When it was written.")
    expires_at: Timestamp = Field(description="After this it is not promoted any more.")
    skill: Identifier = Field(description="The skill that the candidate is of.")
    sweep: str = Field(description="The sealed sweep that it rests on.")
    runs: int = Field(description="Planned runs of a task and arm.")
    decision: Decision = Field(description="What the gate decided, and why.")
    stopped_early: bool = Field(
        default=False, description="Whether the sweep ended before its last cell, as it was decided."
    )
    policy: Policy = Field(description="The policy that was decided under.")
    policy_sha256: Digest = Field(description="Digest of that policy.")
    overlay_sha256: Digest = Field(description="Digest of the candidate's overlay, which lies beside this file.")
    overlay_files: dict[RelativePath, Digest] = Field(description="SHA-256 of each file of the overlay, by path.")
    base_files: dict[RelativePath, Digest | None] = Field(
        description="SHA-256 of each file that the overlay replaces or deletes, by path; null: a new file."
    )
    # left out where it is empty, so that evidence of before stays canonical
    folders: tuple[RelativePath, ...] = Field(
        default=(),
        exclude_if=is_empty,
        description="Where the skill stands: the overlay's paths lie in the first; the others are kept identical.",
    )
    lineage: OverlaySpec = Field(description="Where the overlay comes from.")
    arms: tuple[Arm, ...] = Field(description="What was compared.")
    sealed_sha256: Digest = Field(description="Digest of the sealed tasks and their oracles.")
    sealed: tuple[SealedTask, ...] = Field(description="The sealed tasks.")
    left_out: tuple[Identifier, ...] = Field(
        default=(), description="Sealed tasks left out because they are expensive."
    )
    agent: dict[str, Any] = Field(description="The identity of the agent of every arm that has none of its own.")
    runtime_sha256: Digest = Field(description="Digest of the part of evolve that runs and grades cells.")
    plan_sha256: Digest = Field(description="Digest of the sweep's plan.")
    rows_sha256: Digest = Field(description="SHA-256 of rows.jsonl, which lies beside this file.")
    row_sha256: tuple[Digest, ...] = Field(description="One digest a line of rows.jsonl, so that a fault has a place.")
    surplus_sha256: tuple[Digest, ...] = Field(
        default=(), description="Digests of rows that were measured and did not count."
    )
    journal_sha256: Digest = Field(description="SHA-256 of the sweep's journal.jsonl.")
    extra: tuple[ExtraRound, ...] = Field(
        default=(), description="Further rounds for tasks whose regression may have been noise."
    )
    reuse: ReuseRecord = Field(
        description="The rows that were taken from earlier sweeps, and the canaries beside them."
    )
    spend: Spend = Field(description="What was paid for.")
    health: tuple[ArmHealthRecord, ...] = Field(description="How each arm fared.")
    position_effect: float | None = Field(
        description="Spearman correlation of session time with position; null: it says nothing."
    )
    cost_position_effect: float | None = Field(
        default=None, description="Spearman correlation of cost with position; null: it says nothing."
    )
    ledger: LedgerPosition = Field(description="Where in the ledger the look stands.")

    def agent_of(self, arm: str) -> dict[str, Any]:
        """Return the identity of the agent that worked in an arm."""
        return next((one.agent for one in self.arms if one.name == arm and one.agent is not None), self.agent)
