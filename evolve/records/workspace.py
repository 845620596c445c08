"""``evolve.yaml``: where things are, which model answers and which proposes."""

from __future__ import annotations

import math
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from evolve.records.agent import (
    CHAT,
    DESCRIBED,
    PROGRAM,
    SUBJECT,
    AgentSpec,
    ChatAgentSpec,
    EnvironmentName,
    ProgramSpec,
)
from evolve.records.arm import RESERVED_ARMS, SHIPPED_ARMS, ArmSpec
from evolve.records.base import FILE_FORMAT, VARIANT, Identifier, Record
from evolve.records.checks import RelativePath
from evolve.records.overlay import GenerationOperator
from evolve.records.prices import TokenPrice
from evolve.records.search import SearchSettings

WORKSPACE_SCHEMA: Final = "evolve/workspace@1"


class Price(Record):
    """What a model charges, in USD for a million tokens."""

    input_usd: float = Field(ge=0, description="USD for a million tokens of input.")
    cached_input_usd: float | None = Field(default=None, ge=0, description="Without it: the price of other input.")
    output_usd: float = Field(ge=0, description="USD for a million tokens of output.")

    @property
    def free(self) -> bool:
        """Whether nothing is charged at all."""
        return self.input_usd == self.output_usd == 0 and not self.cached_input_usd

    def micros(self, input_tokens: int, cached_tokens: int, output_tokens: int) -> int:
        """Return the price of some tokens in micro-USD, rounded up; cached tokens are part of the input."""
        cached = self.input_usd if self.cached_input_usd is None else self.cached_input_usd
        fresh = input_tokens - cached_tokens
        return math.ceil(fresh * self.input_usd + cached_tokens * cached + output_tokens * self.output_usd)


class LocalModelSpec(Record):
    """Weights that run in-process, without a server."""

    kind: Literal["local"] = Field(description=VARIANT)
    weights: str = Field(description="A name of `evolve models list`, or the path of a GGUF file.")
    threads: int = Field(default=2, ge=1, le=256, description="Threads that it runs on; two suit a quiet machine.")
    context: int = Field(
        default=2048,
        ge=256,
        le=1_048_576,
        multiple_of=256,
        description="Tokens that prompt and reply may take together.",
    )
    shared_machine: bool = Field(default=False, description="True where other work keeps the cores busy.")


class HttpModelSpec(Record):
    """Any OpenAI-compatible endpoint."""

    kind: Literal["openai-compatible"] = Field(description=VARIANT)
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s@]+$")] = Field(
        description="The address of the endpoint."
    )
    model: Annotated[str, StringConstraints(min_length=1)] = Field(description="The model, as the endpoint calls it.")
    key_env: EnvironmentName | None = Field(
        default=None,
        description="The environment variable that holds the key; the key itself is never written.",
    )
    price: Price | None = Field(default=None, description="Without it, costs are unknown, never zero.")


ModelSpec = Annotated[LocalModelSpec | HttpModelSpec, Field(discriminator="kind")]


class ProposerSpec(Record):
    """Who reflects on failures, a model or a program, and which operators a generation tries."""

    model: Identifier | None = Field(default=None, description="A model of models; or agent.")
    agent: AgentSpec | None = Field(
        default=None, description="A program that reads the evidence and edits the skill, in a box; or model."
    )
    templates: RelativePath | None = Field(
        default=None, description="A folder with templates that replace those of the package of the same name."
    )
    temperature: float = Field(default=0.7, ge=0, le=2, description="How freely the model samples; 0 for not at all.")
    operators: tuple[GenerationOperator, ...] = Field(
        default=("demonstrate", "lesson", "lesson+demonstrate", "reflect", "prune", "sharpen", "compress", "merge"),
        min_length=1,
        description="Each is asked once, in this order; after that, those that earned more are asked more often.",
    )
    max_usd: float | None = Field(default=None, ge=0, description="What the proposer may cost in one generation.")

    @property
    def program(self) -> ProgramSpec | None:
        """The program that reflects, if it is one."""
        return self.agent if isinstance(self.agent, ProgramSpec) else None

    @model_validator(mode="after")
    def _one_of_model_and_agent(self) -> Self:
        if (self.model is None) == (self.agent is None):
            raise ValueError("give either model or agent")
        if isinstance(self.agent, ChatAgentSpec):
            raise ValueError("agent: a chat model edits no files; say it as model")
        if self.program is not None and (self.program.replay or self.program.record):
            raise ValueError("agent: a proposer is neither recorded nor replayed")
        return self


class WorkspaceSpec(Record):
    """The whole of ``evolve.yaml``."""

    schema_id: Literal["evolve/workspace@1"] = Field(alias="schema", description=FILE_FORMAT)
    skill_roots: tuple[RelativePath, ...] = Field(
        default=("skills",),
        min_length=1,
        description="Folders that hold skills; further ones hold copies that are kept the same.",
    )
    corpus: RelativePath = Field(default="corpus", description="The folder of tasks.")
    overlays: RelativePath = Field(default="overlays", description="The folder of proposals.")
    promotion: RelativePath = Field(default="promotion", description="The folder of policy, ledger and evidence.")
    results: RelativePath = Field(
        default="results", description="The folder of sweeps and generations, which is not committed."
    )
    models: dict[Identifier, ModelSpec] = Field(default={}, description="Chat models; programs bring their own.")
    agent: AgentSpec = Field(description="What skills are measured with.")
    arms: dict[Identifier, ArmSpec] = Field(default={}, description="Comparators, beside those that ship.")
    rivals: tuple[Identifier, ...] = Field(default=(), description="Comparators that every benchmark measures too.")
    required: tuple[Identifier, ...] = Field(
        default=(), description="Arms that use the skill as well: a candidate must win in each of them too."
    )
    proposer: ProposerSpec = Field(description="Who reflects on failures, and by which operators candidates are made.")
    search: SearchSettings = Field(default=SearchSettings(), description="How a generation looks for candidates.")
    prices: dict[str, TokenPrice] = Field(
        default={}, description="What models charge, beside or in place of the table."
    )

    def arm(self, name: str) -> ArmSpec:
        """Return a declared arm, or one that ships.

        Raises:
            KeyError: There is none of this name.

        """
        return self.arms[name] if name in self.arms else SHIPPED_ARMS[name]

    def agent_of(self, name: str) -> AgentSpec:
        """Return the agent of a declared or shipped arm.

        Raises:
            KeyError: There is no such arm.
            ValueError: Its agent cannot be what the arm asks for.

        """
        return self.arm(name).agent_spec(self.agent)

    @model_validator(mode="after")
    def _arms_can_be_made(self) -> Self:
        if SUBJECT not in self.agent.skills:
            raise ValueError(f"agent.skills: incumbent and candidate need {SUBJECT}, the skill under test")
        for name in RESERVED_ARMS:
            if name in self.arms:
                raise ValueError(f"arms.{name}: the name is taken")
        for name in self.arms:
            try:
                self.agent_of(name)
            except ValueError as error:
                raise ValueError(f"arms.{name}.{_first_problem(error)}") from error
        for field, names in (("rivals", self.rivals), ("required", self.required)):
            for name in names:
                if name not in self.arms and name not in SHIPPED_ARMS:
                    known = ", ".join(dict.fromkeys([*self.arms, *SHIPPED_ARMS]))
                    raise ValueError(f"{field}: no arm named {name!r}; there are {known}")
        if both := [name for name in self.required if name in self.rivals]:
            raise ValueError(f"required: {both[0]} is a rival too; it can be one of the two")
        return self

    @model_validator(mode="after")
    def _models_are_declared(self) -> Self:
        chats = {"agent": self.agent.model} if isinstance(self.agent, ChatAgentSpec) else {}
        if self.proposer.model is not None:
            chats["proposer"] = self.proposer.model
        for name in self.arms:
            agent = self.agent_of(name)
            if isinstance(agent, ChatAgentSpec):
                chats[f"arms.{name}"] = agent.model
        for field, model in chats.items():
            if model not in self.models:
                raise ValueError(
                    f"{field}.model: no model named {model!r} below models: {', '.join(self.models) or 'none'}"
                )
        return self


def _first_problem(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"] if part not in (CHAT, DESCRIBED, PROGRAM))
    return f"{where}: {str(first['msg']).removeprefix('Value error, ')}"
