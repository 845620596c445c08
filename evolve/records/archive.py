"""``overlays/archive.jsonl`` and ``overlays/learnings.jsonl``: every candidate, and what was learnt from each idea."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from evolve.records.base import LINE_FORMAT, Digest, Identifier, Record, Timestamp

ARCHIVE_FILE, LEARNINGS_FILE = "archive.jsonl", "learnings.jsonl"
ARCHIVE_SCHEMA: Final = "evolve/archive@1"
LEARNING_SCHEMA: Final = "evolve/learning@1"

Fate = Literal["refused", "screened-out", "not-selected", "unproven", "proven"]
ShortText = Annotated[str, StringConstraints(max_length=2000)]


class ArchiveEntry(Record):
    """A candidate of a generation: where it comes from, what it scored, and what became of it."""

    schema_id: Literal["evolve/archive@1"] = Field(default=ARCHIVE_SCHEMA, alias="schema", description=LINE_FORMAT)
    at: Timestamp = Field(description="When the line was written.")
    generation: str = Field(description="The generation that asked for it, or measured it again.")
    name: str = Field(description="The name that it went by in its generation.")
    skill: Identifier = Field(description="The skill that it is a candidate for.")
    incumbent: Digest = Field(description="Fingerprint of the skill that it was written against.")
    agent_sha256: Digest = Field(description="Digest of the identity of the agent that it was measured with.")
    operator: str = Field(
        description="What made it; incumbent: the line of the incumbent, with which the others compare."
    )
    parents: tuple[Digest, ...] = Field(
        default=(), description="What it was made from: digests of overlays, and the fingerprint of the incumbent."
    )
    overlay: str | None = Field(description="Its folder, relative to the workspace; null where there was no text.")
    overlay_sha256: Digest | None = Field(description="Digest of its overlay; null where there was no text.")
    resident_tokens: int | None = Field(
        default=None, description="Resident tokens more than the incumbent, about; null where there was no text."
    )
    train: dict[Identifier, tuple[float, int]] = Field(
        default={}, description="Mean score and number of valid cells of each train task."
    )
    selection: str | None = Field(
        default=None, description="resolved/cells on selection; null: it did not come so far."
    )
    cost_usd_micros: int | None = Field(
        default=None, description="Cost of its train cells, in millionths of a USD; null where one is unknown."
    )
    proposer_usd_micros: int | None = Field(
        default=None, description="Cost of its making, in millionths of a USD; null: unknown, or the incumbent."
    )
    earned: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Chance that it is better than its parent; null: not measured, or the incumbent.",
    )
    fate: Fate = Field(description="What became of it.")
    reason: ShortText = Field(default="", description="Why that became of it, redacted.")
    evidence: str | None = Field(
        default=None, description="The folder of the evidence that decided on it; null: it did not come so far."
    )


class Learning(Record):
    """An idea and what was learnt from it, for whoever proposes next."""

    schema_id: Literal["evolve/learning@1"] = Field(default=LEARNING_SCHEMA, alias="schema", description=LINE_FORMAT)
    at: Timestamp = Field(description="When the line was written.")
    generation: str = Field(description="The generation that tried it.")
    skill: Identifier = Field(description="The skill that it was an idea for.")
    incumbent: Digest = Field(description="Fingerprint of the skill that it was written against.")
    operator: str = Field(description="What made the candidate.")
    idea: ShortText = Field(
        description="The idea in words, redacted: a rationale, else what was edited, else the operator."
    )
    fate: Fate = Field(description="What became of the candidate.")
    reason: ShortText = Field(default="", description="Why that became of it, redacted.")
    numbers: ShortText = Field(
        default="", description="What was measured of it, the incumbent beside it; empty where nothing was."
    )
