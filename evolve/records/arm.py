"""The arms that a workspace declares beside incumbent and candidate, and those that ship."""

from __future__ import annotations

from typing import Any, Final, Self

from pydantic import Field, TypeAdapter, model_validator

from evolve.records.agent import (
    SUBJECT,
    AgentSpec,
    Delivery,
    Effort,
    Loads,
    McpServerSpec,
    ModelName,
    PhasesSpec,
)
from evolve.records.base import Identifier, Record
from evolve.records.checks import RelativePath
from evolve.records.prices import TokenPrice

OWN: Final = frozenset({"agent", "overlay", "compressed"})
_AGENT: TypeAdapter[AgentSpec] = TypeAdapter(AgentSpec)


class ArmSpec(Record):
    """A comparator: what it has differently from ``agent``; everything else is the same."""

    agent: AgentSpec | None = Field(default=None, description="Another agent altogether.")
    skills: Loads | None = Field(default=None, description="What is installed; []: no skill at all.")
    overlay: RelativePath | None = Field(default=None, description="Another version of the skill, by hand.")
    compressed: bool = Field(default=False, description="The skill without the words that can be spared.")
    append: str | None = Field(default=None, description="In place of the agent's `append`; null: as the agent.")
    delivery: Delivery | None = Field(
        default=None, description="In place of the agent's `delivery`; null: as the agent."
    )
    model: Identifier | ModelName | None = Field(
        default=None, description="In place of the agent's `model`; null: as the agent."
    )
    temperature: float | None = Field(
        default=None, ge=0, le=2, description="In place of the agent's `temperature`; null: as the agent."
    )
    effort: Effort | None = Field(default=None, description="In place of the agent's `effort`; null: as the agent.")
    tools: tuple[str, ...] | None = Field(
        default=None, description="In place of the agent's `tools`; null: as the agent."
    )
    denied_tools: tuple[str, ...] | None = Field(
        default=None, description="In place of the agent's `denied_tools`; null: as the agent."
    )
    mcp: dict[Identifier, McpServerSpec] | None = Field(
        default=None, description="In place of the agent's `mcp`; null: as the agent."
    )
    plugins: tuple[str, ...] | None = Field(
        default=None, description="In place of the agent's `plugins`; null: as the agent."
    )
    phases: PhasesSpec | None = Field(default=None, description="In place of the agent's `phases`; null: as the agent.")
    max_turns: int | None = Field(
        default=None, ge=1, le=1000, description="In place of the agent's `max_turns`; null: as the agent."
    )
    max_calls: int | None = Field(
        default=None, ge=1, le=10_000, description="In place of the agent's `max_calls`; null: as the agent."
    )
    max_usd: float | None = Field(
        default=None, gt=0, description="In place of the agent's `max_usd`; null: as the agent."
    )
    price: TokenPrice | None = Field(default=None, description="In place of the agent's `price`; null: as the agent.")

    @model_validator(mode="after")
    def _a_version_is_installed(self) -> Self:
        if (self.overlay or self.compressed) and self.skills is not None and SUBJECT not in self.skills:
            raise ValueError(f"skills: a version of the skill is given, and {SUBJECT} is not installed")
        if self.overlay and self.compressed:
            raise ValueError("overlay and compressed: one version of the skill at a time")
        return self

    def agent_spec(self, base: AgentSpec) -> AgentSpec:
        """Return the agent of the arm.

        Args:
            base: The agent of incumbent and candidate.

        Raises:
            ValueError: The agent has no such setting, or a setting is invalid.

        """
        of = base if self.agent is None else self.agent
        value = of.json_value()
        changes: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set - OWN}
        for name in sorted(changes):
            if name not in value and changes[name]:
                raise ValueError(f"{name}: an agent of the adapter {of.adapter} has no such setting")
        given = self.model_dump(mode="json", include=set(changes) & set(value))
        if "model" in given and given["model"] != value["model"]:
            value["price"] = None  # a price belongs to a model
        if "price" in value and value["price"] is None and "price" not in type(of).model_fields:
            del value["price"]
        return _AGENT.validate_python({**value, **given})


SHIPPED_ARMS: dict[str, ArmSpec] = {
    "no-skill": ArmSpec(skills=()),
    "no-skill-no-mcp": ArmSpec(skills=(), mcp={}),
    "brief": ArmSpec(skills=(), append="Be brief."),
    "compressed": ArmSpec(compressed=True),
    "direct": ArmSpec(phases="direct"),
    "plan-work": ArmSpec(phases="plan-work"),
    "review": ArmSpec(phases="review"),
}
RESERVED_ARMS: Final = ("incumbent", "candidate", "control")
