"""A row: the settled record of a cell."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from evolve.records.base import LINE_FORMAT, Count, Digest, Identifier, Record, Timestamp, lean
from evolve.records.kinds import KIND_FACTS, ErrorKind, Role, Split

ROW_SCHEMA: Final = "evolve/row@1"


class CellIdentity(Record):
    """Everything that can influence a cell's outcome; its digest is the cell's key."""

    task: Identifier = Field(description="The task's id.")
    task_sha256: Digest = Field(description="Digest of task.yaml as it was read, seed and patch.")
    oracle_sha256: Digest = Field(description="Digest of the oracle's folder.")
    fingerprint: Digest = Field(description="Digest of every file of the skills that are installed.")
    agent_sha256: Digest = Field(description="Digest of the agent's identity.")
    sandbox: str = Field(description="What contains the agent and, where what it wrote is run, the grading.")
    runtime_sha256: Digest = Field(description="Digest of the part of evolve that runs and grades cells.")
    run: int = Field(ge=0, description="The number of the run, from 0.")
    seed: int = Field(ge=0, description="The random seed, of task and run alone: all arms have the same.")
    beginning_sha256: Digest | None = Field(
        default=None, description="What the work begins with beside seed files: repository, setup, dependencies."
    )


class Usage(Record):
    """What an attempt used; a figure that nobody reported is null."""

    input_tokens: Count | None = Field(default=None, description="All input, cached and cache-written included.")
    cached_input_tokens: Count | None = Field(default=None, description="Part of the input that was read from a cache.")
    cache_write_5m_tokens: Count | None = Field(
        default=None, description="Part of the input that was written to a cache for five minutes."
    )
    cache_write_1h_tokens: Count | None = Field(
        default=None, description="Part of the input that was written to a cache for an hour."
    )
    output_tokens: Count | None = Field(default=None, description="All output, reasoning included.")
    reasoning_tokens: Count | None = Field(default=None, description="Part of the output that is reasoning.")
    api_calls: Count | None = Field(default=None, description="Calls of the model that were answered.")
    turns: Count | None = Field(default=None, description="Turns of the conversation.")
    tool_calls: Count | None = Field(default=None, description="Tools that were called.")
    cost_usd_micros: Count | None = Field(default=None, description="Cost, in millionths of a USD.")
    session_ms: Count | None = Field(default=None, description="Milliseconds that the session took.")
    api_ms: Count | None = Field(default=None, description="Milliseconds that it waited for the model.")

    @property
    def uncached_input_tokens(self) -> int | None:
        """The input that was neither read from a cache nor written to one."""
        if self.input_tokens is None or self.cached_input_tokens is None:
            return None
        return self.input_tokens - self.cached_input_tokens - self.cache_write_tokens

    @property
    def cache_write_tokens(self) -> int:
        """The input that was written to a cache, of either lifetime."""
        return (self.cache_write_5m_tokens or 0) + (self.cache_write_1h_tokens or 0)

    @model_validator(mode="after")
    def _parts_are_within_the_whole(self) -> Self:
        parts = (self.cached_input_tokens, self.cache_write_5m_tokens, self.cache_write_1h_tokens)
        if self.input_tokens is not None and sum(part or 0 for part in parts) > self.input_tokens:
            raise ValueError("more input was cached than there was input")
        return self


class ReviewFigures(Record):
    """How a review did against its labels, weighted by severity; a share of nothing is null."""

    matched: int = Field(description="Findings that match a label.")
    precision: float | None = Field(description="Weight of the matches, as a share of that of all findings.")
    recall: float | None = Field(description="Weight of the matches, as a share of that of all labels.")
    f1: float | None = Field(description="The weighted F1; null without labels.")
    blocker_recall: float | None = Field(description="Share of the blocking labels that were found.")
    severity_accuracy: float | None = Field(description="Share of the matches whose severity is right.")
    category_accuracy: float | None = Field(description="Share of the matches whose category is right.")
    grounded: float | None = Field(description="Share of the findings whose evidence stands in the file.")
    clean_pass: bool | None = Field(
        description="Whether the review lets a change without fault go in; null where there are labels."
    )


class CheckOutcome(Record):
    """What a set of checks said; which one failed is kept for train tasks only."""

    passed: bool = Field(description="Whether all of them passed.")
    score: float = Field(ge=0, le=1, description="Mean score of the checks.")
    failed_check: Identifier | None = Field(
        default=None, description="The first that failed; null: none, or the task is not of train."
    )
    review: ReviewFigures | None = Field(
        default=None, description="The figures of a review; null where none was scored."
    )


class Delivered(Record):
    """What an agent delivered, beside what tools wrote; tests are counted apart."""

    files: int = Field(description="Files that changed.")
    added: int = Field(description="Lines added.")
    removed: int = Field(description="Lines removed.")
    test_files: int = Field(description="Files of tests that changed.")
    test_added: int = Field(description="Lines added to tests.")
    test_removed: int = Field(description="Lines removed from tests.")
    bytes_compressed: int = Field(description="Bytes that the new lines take, compressed.")
    code_lines: int = Field(description="Lines of code, neither blank nor comment, more than before.")
    statements: int | None = Field(description="Statements more than before; null where nothing parses them.")


class Reuse(Record):
    """Where a reused row was measured."""

    sweep: str = Field(description="The sweep that measured it.")
    row_sha256: Digest = Field(description="Digest of the row there.")


class Row(Record):
    """One line of ``rows.jsonl``."""

    schema_id: Literal["evolve/row@1"] = Field(default=ROW_SCHEMA, alias="schema", description=LINE_FORMAT)
    key: Digest = Field(description="Digest of the identity.")
    identity: CellIdentity = Field(description="Everything that can influence the outcome.")
    arm: str = Field(description="The arm's name.")
    role: Role = Field(description="What the arm is in the comparison.")
    split: Split = Field(description="The task's split.")
    attempt: int = Field(ge=1, description="Which attempt at the cell, from 1.")
    kind: ErrorKind | None = Field(default=None, description="Why it did not resolve; null: it did.")
    detail: str = Field(
        default="", description="What went wrong, in words, redacted; empty where nothing is to be said."
    )
    resolved: bool = Field(description="Whether every check passed; exactly when kind is null.")
    verify: CheckOutcome | None = Field(
        default=None, description="What the public checks said; null: they were not run."
    )
    oracle: CheckOutcome | None = Field(
        default=None, description="What the hidden checks said; null: they were not run."
    )
    usage: Usage = Field(default=Usage(), description="What the attempt used.")
    reply_sha256: Digest | None = Field(default=None, description="SHA-256 of the reply; null: there was none.")
    transcript_sha256: Digest | None = Field(
        default=None, description="SHA-256 of the transcript; null: there is none."
    )
    recording_sha256: Digest | None = Field(
        default=None, description="SHA-256 of the recording of the model's answers; null: there is none."
    )
    work_sha256: Digest | None = Field(
        default=None, description="Digest of the folder as the agent left it; null: it was not graded."
    )
    delivered: Delivered | None = Field(
        default=None, description="How much was delivered; null: a reply is graded, or nothing was."
    )
    measured_at: Timestamp = Field(description="When the row was first measured; reuse never changes it.")
    reused: Reuse | None = Field(default=None, description="Where it was measured, if elsewhere; null: in this sweep.")

    @model_validator(mode="after")
    def _resolved_agrees_with_kind(self) -> Self:
        if self.resolved == (self.kind is not None):
            raise ValueError("a row is resolved exactly when it has no error kind")
        if self.key != self.identity.digest():
            raise ValueError("the key is not the digest of the identity")
        for part in (self.identity, self.usage, self.verify, self.oracle, self.delivered, self.reused):
            if part is not None:
                lean(part)
        return lean(self)

    @property
    def void(self) -> bool:
        """Whether the row says nothing about its arm."""
        return self.kind is not None and KIND_FACTS[self.kind].voids_row
