"""A row: the settled record of a cell."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from evolve.records.base import Count, Digest, Identifier, Record, Timestamp, lean
from evolve.records.kinds import KIND_FACTS, ErrorKind, Role, Split

ROW_SCHEMA: Final = "evolve/row@1"


class CellIdentity(Record):
    """Everything that can influence a cell's outcome; its digest is the cell's key."""

    task: Identifier
    task_sha256: Digest
    oracle_sha256: Digest
    fingerprint: Digest
    agent_sha256: Digest
    sandbox: str
    runtime_sha256: Digest
    run: int = Field(ge=0)
    seed: int = Field(ge=0)
    beginning_sha256: Digest | None = Field(
        default=None, description="What the work begins with beside seed files: repository, setup, dependencies."
    )


class Usage(Record):
    """What an attempt used; a figure that nobody reported is null."""

    input_tokens: Count | None = Field(default=None, description="All input, cached and cache-written included.")
    cached_input_tokens: Count | None = None
    cache_write_5m_tokens: Count | None = None
    cache_write_1h_tokens: Count | None = None
    output_tokens: Count | None = None
    reasoning_tokens: Count | None = Field(default=None, description="Part of the output.")
    api_calls: Count | None = None
    turns: Count | None = None
    tool_calls: Count | None = None
    cost_usd_micros: Count | None = None
    session_ms: Count | None = None
    api_ms: Count | None = None

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

    matched: int
    precision: float | None
    recall: float | None
    f1: float | None
    blocker_recall: float | None
    severity_accuracy: float | None
    category_accuracy: float | None
    grounded: float | None
    clean_pass: bool | None


class CheckOutcome(Record):
    """What a set of checks said; which one failed is kept for train tasks only."""

    passed: bool
    score: float = Field(ge=0, le=1)
    failed_check: Identifier | None = None
    review: ReviewFigures | None = None


class Delivered(Record):
    """What an agent delivered, beside what tools wrote; tests are counted apart."""

    files: int = Field(description="Files that changed.")
    added: int = Field(description="Lines added.")
    removed: int = Field(description="Lines removed.")
    test_files: int
    test_added: int
    test_removed: int
    bytes_compressed: int = Field(description="The lines that are new, compressed.")
    code_lines: int = Field(description="Lines of code, neither blank nor comment, more than before.")
    statements: int | None = Field(description="Statements more than before; null where nothing parses them.")


class Reuse(Record):
    """Where a reused row was measured."""

    sweep: str
    row_sha256: Digest


class Row(Record):
    """One line of ``rows.jsonl``."""

    schema_id: Literal["evolve/row@1"] = Field(default=ROW_SCHEMA, alias="schema")
    key: Digest
    identity: CellIdentity
    arm: str
    role: Role
    split: Split
    attempt: int = Field(ge=1)
    kind: ErrorKind | None = None
    detail: str = ""
    resolved: bool
    verify: CheckOutcome | None = None
    oracle: CheckOutcome | None = None
    usage: Usage = Usage()
    reply_sha256: Digest | None = None
    transcript_sha256: Digest | None = None
    recording_sha256: Digest | None = None
    work_sha256: Digest | None = None
    delivered: Delivered | None = None
    measured_at: Timestamp = Field(description="When the row was first measured; reuse never changes it.")
    reused: Reuse | None = None

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
