"""``overlays/archive.jsonl`` and ``overlays/learnings.jsonl``: every candidate, and what was learnt from each idea."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from evolve.records.base import Digest, Identifier, Record, Timestamp

ARCHIVE_FILE, LEARNINGS_FILE = "archive.jsonl", "learnings.jsonl"
ARCHIVE_SCHEMA: Final = "evolve/archive@1"
LEARNING_SCHEMA: Final = "evolve/learning@1"

Fate = Literal["refused", "screened-out", "not-selected", "unproven", "proven"]
ShortText = Annotated[str, StringConstraints(max_length=2000)]


class ArchiveEntry(Record):
    """A candidate of a generation: where it comes from, what it scored, and what became of it."""

    schema_id: Literal["evolve/archive@1"] = Field(default=ARCHIVE_SCHEMA, alias="schema")
    at: Timestamp
    generation: str
    name: str = Field(description="The name that it went by in its generation.")
    skill: Identifier
    incumbent: Digest = Field(description="Fingerprint of the skill that it was written against.")
    agent_sha256: Digest
    operator: str
    parents: tuple[Digest, ...] = ()
    overlay: str | None = Field(description="Its folder, relative to the workspace; null where there was no text.")
    overlay_sha256: Digest | None
    resident_tokens: int | None = Field(default=None, description="About how many more than the incumbent.")
    train: dict[Identifier, tuple[float, int]] = Field(
        default={}, description="Mean score and number of cells of each train task."
    )
    selection: str | None = Field(default=None, description="resolved/cells on selection.")
    cost_usd_micros: int | None = Field(default=None, description="Of its cells; null where one is unknown.")
    proposer_usd_micros: int | None = Field(default=None, description="Of its making; null where it is unknown.")
    earned: float | None = Field(default=None, ge=0, le=1, description="Chance that it is better than its parent.")
    fate: Fate
    reason: ShortText = ""
    evidence: str | None = Field(default=None, description="The evidence that decided on it, if it came so far.")


class Learning(Record):
    """An idea and what was learnt from it, for whoever proposes next."""

    schema_id: Literal["evolve/learning@1"] = Field(default=LEARNING_SCHEMA, alias="schema")
    at: Timestamp
    generation: str
    skill: Identifier
    incumbent: Digest
    operator: str
    idea: ShortText
    fate: Fate
    reason: ShortText = ""
    numbers: ShortText = ""
