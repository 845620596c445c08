"""``generation.json``: how far a generation has come."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import FILE_FORMAT, Digest, Identifier, Record, Timestamp
from evolve.records.kinds import Outcome
from evolve.records.search import SearchSettings

GENERATION_SCHEMA: Final = "evolve/generation@1"


class Proposal(Record):
    """One candidate of a generation, or why an operator made none."""

    name: str = Field(description="The name that it goes by; its arm has it too.")
    operator: str = Field(description="What made it, or was asked to.")
    step: str = Field(description="The step of the search that asked for it.")
    parents: tuple[Digest, ...] = Field(
        default=(), description="What it was made from: digests of overlays, and the fingerprint of the incumbent."
    )
    overlay: str | None = Field(
        description="The overlay's folder, relative to the workspace; null where there is none."
    )
    overlay_sha256: Digest | None = Field(default=None, description="Digest of its overlay; null where there is none.")
    refused: str | None = Field(
        default=None, description="Why there is no candidate, redacted; null where there is one."
    )
    for_good: bool = Field(default=False, description="Whether asking again would be in vain.")
    resident_tokens: int | None = Field(
        default=None, description="Resident tokens more than the incumbent, about; null where there is no candidate."
    )
    cost_usd_micros: int | None = Field(
        default=None, description="What the proposer cost, in millionths of a USD; null is unknown."
    )
    train: str | None = Field(default=None, description="resolved/cells on train; null: it was not measured there.")
    selection: str | None = Field(
        default=None, description="resolved/cells on selection; null: it was not measured there."
    )


class Request(Record):
    """What the user asked for; a resumed generation asks for the same."""

    skill: Identifier | None = Field(
        default=None, description="The skill to improve; null: the one with most failing train rows."
    )
    operators: tuple[str, ...] = Field(default=(), description="The operators to try; none: those of evolve.yaml.")
    apply: bool = Field(default=False, description="Whether to commit what is found.")
    branch: str | None = Field(default=None, description="The branch to commit on; null: the one that is checked out.")
    stop_when_decided: bool = Field(
        default=False, description="Whether confirming stops once no outcome could change the decision."
    )
    seed: str | None = Field(
        default=None, description="The one sweep whose rows the evidence may begin with; null: any."
    )
    search: SearchSettings | None = Field(default=None, description="Without it: the search of evolve.yaml.")
    max_proposer_usd: float | None = Field(
        default=None, description="USD that proposing may cost; null: as evolve.yaml says."
    )


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

    policy_sha256: Digest = Field(description="Digest of the policy.")
    agent_sha256: Digest = Field(description="Digest of the agent's identity.")
    search_sha256: Digest = Field(description="Digest of the settings of the search.")
    tasks: dict[Identifier, dict[Identifier, Digest]] = Field(
        description="By skill: the digest of each task with its oracle and what it begins with."
    )
    bases: dict[Identifier, dict[str, Digest]] = Field(description="By skill: the SHA-256 of each of its files.")


class Confirmed(Record):
    """What the sealed tasks said of a finalist."""

    overlay_sha256: Digest = Field(description="Digest of the finalist's overlay.")
    evidence: str = Field(description="The folder of its evidence, relative to the workspace.")
    outcome: Outcome = Field(description="What the gate decided.")
    why: str = Field(default="", description="What kept it from passing the gate.")
    effect: str = Field(default="", description="The effect on the sealed tasks, with its interval and its size.")


class Generation(Record):
    """The state of a generation, rewritten after every step."""

    schema_id: Literal["evolve/generation@1"] = Field(
        default=GENERATION_SCHEMA, alias="schema", description=FILE_FORMAT
    )
    id: str = Field(description="Its name, which is that of its folder.")
    request: Request = Field(description="What was asked for.")
    started_at: Timestamp = Field(description="When it began.")
    finished_at: Timestamp | None = Field(default=None, description="When it ended; null: it has not.")
    head: str | None = Field(default=None, description="The commit that it began at; null: there was none.")
    skill: Identifier | None = Field(default=None, description="The skill to improve; null until it is chosen.")
    fingerprint: Digest | None = Field(
        default=None, description="Fingerprint of that skill as it was then; null until it is chosen."
    )
    chosen_because: str = Field(default="", description="Why that skill was chosen.")
    baseline: dict[Identifier, str] = Field(
        default_factory=dict, description="resolved/cells on train of each incumbent that was measured, by skill."
    )
    incumbent_train: str | None = Field(
        default=None, description="resolved/cells of the incumbent on train; null until the search is over."
    )
    incumbent_selection: str | None = Field(
        default=None, description="resolved/cells of the incumbent on selection; null where nothing came so far."
    )
    proposals: tuple[Proposal, ...] = Field(default=(), description="Every candidate that was asked for, in order.")
    finalist: Digest | None = Field(
        default=None, description="Digest of the overlay that went to the sealed tasks last; null: none did."
    )
    outcome: Outcome | None = Field(
        default=None, description="What was decided; null: nothing yet, or it was given up."
    )
    summary: str = Field(default="", description="How it ended, in a sentence.")
    evidence: str | None = Field(
        default=None,
        description="The folder of the last finalist's evidence, relative to the workspace; null: none was decided.",
    )
    commit: str | None = Field(default=None, description="The commit that was made of the evidence; null: none.")
    sweeps: tuple[str, ...] = Field(default=(), description="The sweeps that belong to it, in order.")
    confirmed: tuple[Confirmed, ...] = Field(
        default=(), description="Finalists in the order of their looks; the last is the one that outcome is about."
    )
    bound: Bound | None = Field(default=None, description="What it was begun under; null: that is not noted yet.")
    batches: dict[str, str] = Field(default_factory=dict, description="The sweep of each batch of the search.")
    strategy: str | None = Field(default=None, description="How it searched; null until the search begins.")
    evaluations: int = Field(default=0, description="Train cells of the search.")
    edits: tuple[EditEarned, ...] = Field(default=(), description="What edits earned, the clearest first.")
    search_ended: str | None = Field(default=None, description="Why the search was over; null: it is not.")
    proposer_usd_micros: int | None = Field(
        default=0, description="What proposing cost, in millionths of a USD; null is unknown."
    )
    notes_commit: str | None = Field(
        default=None, description="The commit of the archive and the learnings; null: none was made."
    )

    def confirmed_as(self, overlay_sha256: str | None) -> Confirmed | None:
        """Return what the sealed tasks said of a candidate, if it was a finalist."""
        return next((one for one in self.confirmed if one.overlay_sha256 == overlay_sha256), None)
