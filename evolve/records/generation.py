"""``generation.json``: how far a generation has come."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Digest, Identifier, Record, Timestamp
from evolve.records.kinds import Outcome

GENERATION_SCHEMA: Final = "evolve/generation@1"


class Proposal(Record):
    """One candidate of a generation, or why an operator made none."""

    operator: str
    overlay: str | None = Field(description="The overlay's folder, relative to the workspace.")
    overlay_sha256: Digest | None = None
    refused: str | None = None
    train: str | None = Field(default=None, description="resolved/cells on train.")
    selection: str | None = Field(default=None, description="resolved/cells on selection.")


class Request(Record):
    """What the user asked for; a resumed generation asks for the same."""

    skill: Identifier | None = None
    operators: tuple[str, ...] = ()
    apply: bool = False
    branch: str | None = None
    stop_when_decided: bool = False


class Generation(Record):
    """The state of a generation, rewritten after every step."""

    schema_id: Literal["evolve/generation@1"] = Field(default=GENERATION_SCHEMA, alias="schema")
    id: str
    request: Request
    started_at: Timestamp
    finished_at: Timestamp | None = None
    head: str | None = None
    skill: Identifier | None = None
    fingerprint: Digest | None = None
    chosen_because: str = ""
    baseline: dict[Identifier, str] = Field(default_factory=dict)
    incumbent_train: str | None = None
    incumbent_selection: str | None = None
    proposals: tuple[Proposal, ...] = ()
    finalist: Digest | None = None
    outcome: Outcome | None = None
    summary: str = ""
    evidence: str | None = None
    commit: str | None = None
    sweeps: tuple[str, ...] = ()
