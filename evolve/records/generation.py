"""``generation.json``: how far a generation has come."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Digest, Identifier, Record, Timestamp
from evolve.records.kinds import Outcome
from evolve.records.search import SearchSettings

GENERATION_SCHEMA: Final = "evolve/generation@1"


class Proposal(Record):
    """One candidate of a generation, or why an operator made none."""

    name: str = Field(description="The name that it goes by; its arm has it too.")
    operator: str
    step: str = Field(description="The step of the search that asked for it.")
    parents: tuple[Digest, ...] = ()
    overlay: str | None = Field(description="The overlay's folder, relative to the workspace.")
    overlay_sha256: Digest | None = None
    refused: str | None = None
    for_good: bool = Field(default=False, description="Whether asking again would be in vain.")
    resident_tokens: int | None = Field(default=None, description="About how many more than the incumbent.")
    cost_usd_micros: int | None = Field(default=None, description="What the proposer cost; null is unknown.")
    train: str | None = Field(default=None, description="resolved/cells on train.")
    selection: str | None = Field(default=None, description="resolved/cells on selection.")


class Request(Record):
    """What the user asked for; a resumed generation asks for the same."""

    skill: Identifier | None = None
    operators: tuple[str, ...] = ()
    apply: bool = False
    branch: str | None = None
    stop_when_decided: bool = False
    seed: str | None = Field(default=None, description="The one sweep whose rows the evidence may begin with.")
    search: SearchSettings | None = Field(default=None, description="Without it: the search of evolve.yaml.")
    max_proposer_usd: float | None = None


class EditEarned(Record):
    """What the search reckons that an edit adds on train; a guide to the next idea, and no result."""

    text: str = Field(description="How the edit begins.")
    tokens: int = Field(description="Resident tokens that it adds, about.")
    points: float = Field(description="Expected effect, in points of 100.")
    chance: float = Field(ge=0, le=1, description="Chance that it helps at all.")
    candidates: int = Field(description="Candidates that held it and were measured.")
    cells: int = Field(description="Cells of those candidates.")


class Bound(Record):
    """What a generation was begun under, before its first cell; when any of it changes, it is given up."""

    policy_sha256: Digest
    agent_sha256: Digest
    search_sha256: Digest = Field(description="Digest of the settings of the search.")
    tasks: dict[Identifier, dict[Identifier, Digest]] = Field(
        description="By skill: the digest of each task with its oracle and what it begins with."
    )
    bases: dict[Identifier, dict[str, Digest]] = Field(description="By skill: the SHA-256 of each of its files.")


class Confirmed(Record):
    """What the sealed tasks said of a finalist."""

    overlay_sha256: Digest
    evidence: str = Field(description="The folder of its evidence, relative to the workspace.")
    outcome: Outcome
    why: str = Field(default="", description="What kept it from passing the gate.")
    effect: str = Field(default="", description="The effect on the sealed tasks, with its interval and its size.")


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
    finalist: Digest | None = Field(default=None, description="The last that went to the sealed tasks.")
    outcome: Outcome | None = None
    summary: str = ""
    evidence: str | None = None
    commit: str | None = None
    sweeps: tuple[str, ...] = ()
    confirmed: tuple[Confirmed, ...] = Field(
        default=(), description="Finalists in the order of their looks; the last is the one that outcome is about."
    )
    bound: Bound | None = None
    batches: dict[str, str] = Field(default_factory=dict, description="The sweep of each batch of the search.")
    strategy: str | None = None
    evaluations: int = Field(default=0, description="Train cells of the search.")
    edits: tuple[EditEarned, ...] = Field(default=(), description="What edits earned, the clearest first.")
    search_ended: str | None = Field(default=None, description="Why the search was over.")
    proposer_usd_micros: int | None = Field(default=0, description="What proposing cost; null is unknown.")
    notes_commit: str | None = Field(default=None, description="The commit of the archive and the learnings.")

    def confirmed_as(self, overlay_sha256: str | None) -> Confirmed | None:
        """Return what the sealed tasks said of a candidate, if it was a finalist."""
        return next((one for one in self.confirmed if one.overlay_sha256 == overlay_sha256), None)
