"""One line of ``journal.jsonl``."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Digest, Record, Timestamp
from evolve.records.row import Row

EVENT_SCHEMA: Final = "evolve/event@1"


class Event(Record):
    """Something that happened to a sweep; the checksum covers the rest of the line."""

    schema_id: Literal["evolve/event@1"] = Field(default=EVENT_SCHEMA, alias="schema")
    seq: int = Field(ge=0)
    at: Timestamp
    event: Literal[
        "planned", "leased", "settled", "voided", "cancelled", "spent", "reuse-dropped", "outage", "finished"
    ]
    cell: int | None = None
    attempt: int | None = None
    token: int | None = Field(default=None, description="Fencing token: grows with every lease.")
    reserved_micros: int | None = Field(default=None, description="The most that this lease can cost; null: unknown.")
    row: Row | None = None
    cost_usd_micros: int | None = Field(default=None, description="What was spent beside all rows; null: unknown.")
    arm: str | None = None
    plan_sha256: Digest | None = None
    reason: str | None = None
    rows_sha256: Digest | None = Field(default=None, description="Of rows.jsonl, when the sweep finished.")
    checksum: Digest | None = None
