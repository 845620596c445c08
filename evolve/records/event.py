"""One line of ``journal.jsonl``."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import LINE_FORMAT, Digest, Record, Timestamp
from evolve.records.row import Row

EVENT_SCHEMA: Final = "evolve/event@1"


class Event(Record):
    """Something that happened to a sweep; the checksum covers the rest of the line."""

    schema_id: Literal["evolve/event@1"] = Field(default=EVENT_SCHEMA, alias="schema", description=LINE_FORMAT)
    seq: int = Field(ge=0, description="The number of the line, from 0.")
    at: Timestamp = Field(description="When it happened.")
    event: Literal[
        "planned", "leased", "settled", "voided", "cancelled", "spent", "reuse-dropped", "outage", "finished"
    ] = Field(description="What happened.")
    cell: int | None = Field(
        default=None,
        description="The cell's index in the plan; of finished, the one behind which it stopped early; null: none.",
    )
    attempt: int | None = Field(default=None, description="Which attempt at the cell, from 1; null: of no attempt.")
    token: int | None = Field(
        default=None, description="Fencing token, which grows with every lease; null: of no lease."
    )
    reserved_micros: int | None = Field(
        default=None, description="The most that a lease can cost, in millionths of a USD; null: unknown, or no lease."
    )
    row: Row | None = Field(default=None, description="What was measured, when a cell settled or voided; else null.")
    cost_usd_micros: int | None = Field(
        default=None, description="What was spent beside all rows, in millionths of a USD; null: unknown, or nothing."
    )
    arm: str | None = Field(
        default=None, description="The arm that warms up, or whose reused rows are dropped; else null."
    )
    plan_sha256: Digest | None = Field(default=None, description="Digest of the plan, when it was planned; else null.")
    reason: str | None = Field(
        default=None,
        description="Why; of spent, for what: lost, cancelled or warm-up; null where nothing is to be said.",
    )
    rows_sha256: Digest | None = Field(
        default=None, description="SHA-256 of rows.jsonl, when the sweep finished; else null."
    )
    checksum: Digest | None = Field(default=None, description="SHA-256 of the canonical line with null in this place.")
