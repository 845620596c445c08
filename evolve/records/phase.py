"""The phases of a session's cell: one session each, with a prompt, tools and limits of its own."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from evolve.records.base import Identifier, Record

FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]
FlowName = Literal["direct", "plan-work", "review"]


def _a_pattern(text: str) -> str:
    from pathspec import PathSpec

    try:
        PathSpec.from_lines("gitignore", [text])
    except ValueError as error:
        raise ValueError(f"not a pattern as in .gitignore: {error}") from error
    return text


PathPattern = Annotated[str, StringConstraints(min_length=1, max_length=400), AfterValidator(_a_pattern)]


class PhaseSpec(Record):
    """One session: what it is asked, with what, and what it may change."""

    name: Identifier = Field(description="The name by which later phases refer to it.")
    template: str = Field(description="direct, plan, work or review, as they ship; or a Jinja file of the workspace.")
    artifact: FileName | None = Field(
        default=None, description="The one document that it leaves, in a folder of its own outside the workspace."
    )
    workspace: Literal["writable", "read-only"] = Field(default="writable", description="How it is mounted.")
    may_change: tuple[PathPattern, ...] = Field(
        default=("*",),
        description="What of the workspace it may change, as in .gitignore: the last match decides.",
    )
    tools: tuple[str, ...] | None = Field(default=None, description="Without it: the agent's.")
    denied_tools: tuple[str, ...] | None = Field(default=None, description="Without it: the agent's.")
    max_turns: int | None = Field(default=None, ge=1, le=1000, description="Without it: the agent's.")
    max_calls: int | None = Field(default=None, ge=1, le=10_000, description="Without it: the agent's.")
    max_usd: float | None = Field(default=None, gt=0, description="Without it: the agent's.")
    wall_s: float | None = Field(default=None, gt=0, le=86_400, description="Without it: the task's.")

    @property
    def changes_nothing(self) -> bool:
        """Whether the workspace is as it was when the phase ends."""
        return self.workspace == "read-only" or not self.may_change


class Phases(Record):
    """The phases of a cell, in order."""

    phases: tuple[PhaseSpec, ...] = Field(min_length=1, max_length=8, description="One session each; at most eight.")

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [phase.name for phase in self.phases]
        if len(set(names)) < len(names):
            raise ValueError("two phases have one name")
        return self


_PLAN = PhaseSpec(name="plan", template="plan", artifact="plan.md", may_change=())
FLOWS: dict[FlowName, tuple[PhaseSpec, ...]] = {
    "direct": (PhaseSpec(name="direct", template="direct"),),
    "plan-work": (_PLAN, PhaseSpec(name="work", template="work")),
    "review": (PhaseSpec(name="review", template="review", artifact="review.json", workspace="read-only"),),
}
