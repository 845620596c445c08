"""One line of ``promotion/ledger.jsonl``: a look at a sealed split, a further round, a decision, or a promotion."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Digest, Identifier, Record, Timestamp
from evolve.records.kinds import Outcome

LEDGER_SCHEMA: Final = "evolve/ledger@1"


class LedgerEntry(Record):
    """An entry; ``previous`` is the digest of the entry before it, so that none can be taken out."""

    schema_id: Literal["evolve/ledger@1"] = Field(default=LEDGER_SCHEMA, alias="schema")
    seq: int = Field(ge=0)
    at: Timestamp
    entry: Literal["look", "round", "decision", "promotion"] = Field(
        description="A round measures tasks of a look again; its sweep is its own."
    )
    skill: Identifier
    overlay_sha256: Digest
    sweep: str
    sealed_sha256: Digest = Field(description="Digest of the sealed tasks and oracles looked at.")
    sealed_tasks: tuple[Identifier, ...] = Field(description="Their ids; a look at any of them counts for the next.")
    policy_sha256: Digest = Field(description="The policy that the look was begun under.")
    texts: int = Field(default=1, ge=1, description="Texts of the skill that are seen: each counts as a look.")
    look: int = Field(ge=1, description="The how-manieth look of this skill at any of these sealed tasks.")
    alpha: float = Field(description="The level granted to this look.")
    of_alpha: float = Field(default=1.0, description="The policy's alpha, which all looks at these tasks share.")
    spent: float = Field(default=0.0, description="The levels granted to the looks before it, summed.")
    outcome: Outcome | None = None
    evidence_sha256: Digest | None = None
    previous: Digest | None = None
