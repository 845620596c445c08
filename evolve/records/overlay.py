"""``overlay.yaml``: where a candidate overlay comes from and what it was written against."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from evolve.records.base import FILE_FORMAT, Digest, Identifier, Record, is_empty
from evolve.records.checks import RelativePath

OVERLAY_SCHEMA: Final = "evolve/overlay@1"

GenerationOperator = Literal[
    "demonstrate", "lesson", "lesson+demonstrate", "reflect", "merge", "prune", "compress", "sharpen"
]
Operator = GenerationOperator | Literal["manual"]


class OverlaySpec(Record):
    """The lineage of an overlay; its text lies beside this file, at the paths it replaces."""

    schema_id: Literal["evolve/overlay@1"] = Field(alias="schema", description=FILE_FORMAT)
    skills: tuple[Identifier, ...] = Field(
        min_length=1, max_length=1, description="The skill whose files are replaced."
    )
    operator: Operator = Field(default="manual", description="What made the overlay.")
    parents: tuple[Digest, ...] = Field(default=(), description="Fingerprints or overlays it was made from.")
    rationale: Annotated[str, StringConstraints(max_length=4000)] = Field(
        default="", description="Why it should be better."
    )
    expected_effect: Annotated[str, StringConstraints(max_length=1000)] = Field(
        default="", description="What should change, and by how much."
    )
    risks: tuple[Annotated[str, StringConstraints(max_length=1000)], ...] = Field(
        default=(), max_length=10, description="What could get worse."
    )
    model: str | None = Field(default=None, description="The model that wrote it, if one did.")
    prompt_sha256: Digest | None = Field(default=None, description="The digest of the prompt that it was asked with.")
    evidence_sha256: Digest | None = Field(default=None, description="The digest of the evidence that it was shown.")
    worked_examples: tuple[Identifier, ...] = Field(
        default=(), description="Train tasks that the text quotes on purpose."
    )
    bases: dict[RelativePath, Digest] = Field(
        default_factory=dict, description="SHA-256 of each file that it replaces or deletes, as it was then."
    )
    # left out where they are empty, so that evidence of before stays canonical
    adds: tuple[RelativePath, ...] = Field(
        default=(), exclude_if=is_empty, description="Files of its own that the skill does not have; others replace."
    )
    deletes: tuple[RelativePath, ...] = Field(
        default=(), exclude_if=is_empty, description="Files of the skill that go, by their paths in the workspace."
    )
