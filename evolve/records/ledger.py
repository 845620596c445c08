"""One line of ``promotion/ledger.jsonl``: a look at a sealed split, a further round, a decision, or a promotion."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import LINE_FORMAT, Digest, Identifier, Record, Timestamp
from evolve.records.kinds import Outcome

LEDGER_SCHEMA: Final = "evolve/ledger@1"


class LedgerEntry(Record):
    """An entry; ``previous`` is the digest of the entry before it, so that none can be taken out."""

    schema_id: Literal["evolve/ledger@1"] = Field(default=LEDGER_SCHEMA, alias="schema", description=LINE_FORMAT)
    seq: int = Field(ge=0, description="The number of the entry, from 0.")
    at: Timestamp = Field(description="When it was entered.")
    entry: Literal["look", "round", "decision", "promotion"] = Field(
        description="A round measures tasks of a look again; its sweep is its own."
    )
    skill: Identifier = Field(description="The skill that is looked at.")
    overlay_sha256: Digest = Field(description="Digest of the candidate's overlay.")
    sweep: str = Field(description="The sweep that looks; of a round, its own.")
    sealed_sha256: Digest = Field(description="Digest of the sealed tasks and oracles looked at.")
    sealed_tasks: tuple[Identifier, ...] = Field(
        description="The ids of those tasks; a look at any of them counts for the next."
    )
    policy_sha256: Digest = Field(description="Digest of the policy that the look was begun under.")
    texts: int = Field(default=1, ge=1, description="Texts of the skill that are seen: each counts as a look.")
    look: int = Field(ge=1, description="The how-manieth look of this skill at any of these sealed tasks.")
    alpha: float = Field(description="The level granted to this look.")
    of_alpha: float = Field(default=1.0, description="The policy's alpha, which all looks at these tasks share.")
    spent: float = Field(default=0.0, description="The levels granted to the looks before it, summed.")
    outcome: Outcome | None = Field(
        default=None, description="What was decided, of a decision or promotion; else null."
    )
    evidence_sha256: Digest | None = Field(
        default=None, description="SHA-256 of promotion.json, of a decision or promotion; else null."
    )
    previous: Digest | None = Field(default=None, description="Digest of the entry before it; null: it is the first.")
