"""``evolve/weights@1``: which model weights can be installed, from where, and what proves that they are right."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, model_validator

from evolve.records.base import FILE_FORMAT, VARIANT, Digest, Record

WEIGHTS_SCHEMA: Final = "evolve/weights@1"
WeightsName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$", max_length=64)]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$", max_length=128)]
Numbered = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9._/-]*\{part(:02)?\}[A-Za-z0-9._/-]*$", max_length=128)
]


class HuggingFaceSource(Record):
    """One file of a Hugging Face repository."""

    kind: Literal["hugging-face"] = Field(description=VARIANT)
    repo: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$")] = Field(
        description="The repository, as owner/name."
    )
    file: FileName = Field(description="The file in it.")
    revision: FileName = Field(default="main", description="The branch, tag or commit that is asked for.")

    def label(self) -> str:
        """Return the source's name for messages."""
        return f"Hugging Face {self.repo}"


class WheelsSource(Record):
    """Wheels of a package index that each carry one part; ``{part}`` stands for 1, 2, … ``parts``.

    The parts are concatenated in numeric order. Nothing is installed or imported.
    """

    kind: Literal["wheels"] = Field(description=VARIANT)
    distribution: Numbered = Field(description="The name of the distribution of a part; {part} is its number.")
    version: Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.+!]*$")] = Field(
        description="The version of every distribution."
    )
    parts: Annotated[int, Field(ge=1, le=999, description="How many parts there are.")]
    member: Numbered = Field(
        description="The path of a part below the wheel's one package folder; {part} is its number."
    )

    def label(self) -> str:
        """Return the source's name for messages."""
        return f"package index {self.distribution_of(1)} … {self.parts}"

    def distribution_of(self, part: int) -> str:
        """Return the name of the distribution that carries a part."""
        return self.distribution.format(part=part)

    def member_of(self, part: int) -> str:
        """Return the path of a part inside its wheel, below the wheel's one package folder."""
        return self.member.format(part=part)


Source = Annotated[HuggingFaceSource | WheelsSource, Field(discriminator="kind")]


class Weights(Record):
    """One model's weights; the sources are tried in order, and the hash alone is trusted."""

    name: WeightsName = Field(description="The name by which they are installed.")
    description: str = Field(description="What they are, for people.")
    licence: str = Field(description="The licence that they are under.")
    size_bytes: Annotated[int, Field(gt=0, description="Size of the file, in bytes.")]
    sha256: Digest = Field(description="SHA-256 of the file.")
    sources: Annotated[tuple[Source, ...], Field(min_length=1, description="Where they can be had.")]


class WeightsCatalogue(Record):
    """The weights that can be installed by name."""

    schema_id: Annotated[Literal["evolve/weights@1"], Field(alias="schema", description=FILE_FORMAT)]
    default: WeightsName = Field(description="The name of those that are installed when none is given.")
    weights: Annotated[tuple[Weights, ...], Field(min_length=1, description="All weights.")]

    @model_validator(mode="after")
    def _names_are_unique(self) -> WeightsCatalogue:
        names = self.names()
        if len(set(names)) != len(names):
            raise ValueError("a name stands twice")
        if self.default not in names:
            raise ValueError(f"the default {self.default!r} is not among the weights")
        return self

    def names(self) -> list[str]:
        """Return the names of all weights, in order."""
        return [entry.name for entry in self.weights]

    def find(self, name: str) -> Weights | None:
        """Return the weights of that name, or ``None``."""
        return next((entry for entry in self.weights if entry.name == name), None)

    def with_hash(self, sha256: str) -> Weights | None:
        """Return the weights of that hash, or ``None``."""
        return next((entry for entry in self.weights if entry.sha256 == sha256), None)
