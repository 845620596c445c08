"""A review: what an agent writes of a change, and the hidden labels that it is scored against."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from evolve.records.base import Identifier, Record

MAX_FINDINGS = 100
Severity = Literal["critical", "high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")
WEIGHTS: dict[Severity, int] = {"critical": 8, "high": 5, "medium": 2, "low": 1}
Category = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=400)]
Prose = Annotated[str, StringConstraints(max_length=8_000)]


class _Span(Record):
    path: Path = Field(description="A file of the work.")
    line: int = Field(ge=1, le=10_000_000, description="The first line, from 1.")
    end_line: int | None = Field(default=None, ge=1, le=10_000_000, description="The last line; without it: the first.")
    severity: Severity = Field(description="How bad it is.")
    category: Category = Field(description="What kind of fault it is, in one word.")

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if self.end_line is not None and self.end_line < self.line:
            raise ValueError("end_line lies before line")
        return self

    @property
    def last(self) -> int:
        """The last line."""
        return self.line if self.end_line is None else self.end_line


class Finding(_Span):
    """One thing that a review says."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=80)] = Field(description="A name for the finding.")
    scenario: Prose = Field(description="What goes wrong, and when.")
    evidence: Prose = Field(description="The code that shows it, quoted.")
    recommendation: Prose = Field(description="What should be done.")
    blocking: bool = Field(description="Whether the change must not go in as it is.")


class Review(Record):
    """The one document of a review."""

    verdict: Literal["approve", "comment", "request_changes"] = Field(description="What should become of the change.")
    summary: Prose = Field(default="", description="The review in a few sentences.")
    findings: tuple[Finding, ...] = Field(max_length=MAX_FINDINGS, description="The faults that were found.")

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        for identifier, count in Counter(finding.id for finding in self.findings).items():
            if count > 1:
                raise ValueError(f"two findings have the id {identifier!r}")
        return self


class Label(_Span):
    """One thing that a good review says."""

    id: Identifier = Field(description="A name: lower-case letters, digits and single hyphens.")
    blocking: bool = Field(default=False, description="Whether the change must not go in as it is.")
