"""``evolve.yaml``: where things are, which model answers and which proposes."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, TypeAdapter, model_validator

from evolve.records.base import Identifier, Record
from evolve.records.checks import RelativePath
from evolve.records.prices import TokenPrice

WORKSPACE_SCHEMA: Final = "evolve/workspace@1"


EnvironmentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Price(Record):
    """What a model charges, in USD for a million tokens."""

    input_usd: float = Field(ge=0)
    cached_input_usd: float | None = Field(default=None, ge=0, description="Without it: the price of other input.")
    output_usd: float = Field(ge=0)

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

    kind: Literal["local"]
    weights: str = Field(description="A name of `evolve models list`, or the path of a GGUF file.")
    threads: int = Field(default=2, ge=1, le=256)
    context: int = Field(default=2048, ge=256, le=1_048_576, multiple_of=256)
    shared_machine: bool = Field(default=False, description="True where other work keeps the cores busy.")


class HttpModelSpec(Record):
    """Any OpenAI-compatible endpoint."""

    kind: Literal["openai-compatible"]
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s@]+$")]
    model: Annotated[str, StringConstraints(min_length=1)]
    key_env: EnvironmentName | None = Field(
        default=None,
        description="The environment variable that holds the key; the key itself is never written.",
    )
    price: Price | None = Field(default=None, description="Without it, costs are unknown, never zero.")


ModelSpec = Annotated[LocalModelSpec | HttpModelSpec, Field(discriminator="kind")]


class ChatAgentSpec(Record):
    """The embedded agent: one turn of a model of ``models``."""

    adapter: Literal["chat"] = "chat"
    model: Identifier
    temperature: float = Field(default=0.7, ge=0, le=2)


class UpstreamSpec(Record):
    """Where the model of a program answers; the gateway alone knows the key."""

    base_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s@]+$")]
    key_env: EnvironmentName | None = Field(default=None, description="The environment variable that holds the key.")


ALIASES = frozenset({"sonnet", "opus", "haiku", "opusplan", "default", "best", "auto", "latest"})


def _full_name(model: str) -> str:
    if model in ALIASES or model.endswith("-latest") or "[" in model:
        raise ValueError(f"{model!r} means another model tomorrow; give the full name")
    return model


ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]*$"), AfterValidator(_full_name)]


class ProgramSpec(Record):
    """What all agents that are programs of their own have in common."""

    model: ModelName
    binary: str = Field(description="The program: a path, or a name on PATH.")
    version: str = Field(description="Its exact version; another one is refused.")
    upstream: UpstreamSpec
    effort: Literal["minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    max_calls: int = Field(default=100, ge=1, le=10_000, description="Model calls that one session may make.")
    max_usd: float | None = Field(default=1, gt=0, description="Money that one session may cost; null: no limit.")
    idle_s: float = Field(default=300, gt=0, le=86_400, description="Seconds that it may be silent.")
    record: bool = Field(default=False, description="Keep what the model answered, to be replayed offline.")
    replay: str | None = Field(default=None, description="A sweep whose recordings answer in place of the model.")
    price: TokenPrice | None = Field(default=None, description="What the model charges, if prices.yaml does not know.")


class ClaudeCodeSpec(ProgramSpec):
    """Claude Code, headless."""

    adapter: Literal["claude-code"]
    tools: tuple[str, ...] = ("Bash", "Read", "Write", "Edit", "Glob", "Grep", "Skill")
    max_turns: int = Field(default=50, ge=1, le=1000)


class CodexSpec(ProgramSpec):
    """Codex, headless."""

    adapter: Literal["codex"]


def _a_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


Pointer = Annotated[str, StringConstraints(pattern=r"^(/([^~/]|~0|~1)*)*$")]


class UsagePointers(Record):
    """Where in a program's JSON output its usage stands; input includes what was cached."""

    input: Pointer
    output: Pointer
    cached: Pointer | None = None


class CommandSpec(ProgramSpec):
    """Any other program. Placeholders: {install} {gateway} {model} {token} {work} {home} {prompt_file}."""

    adapter: Literal["command"]
    install: str = Field(description="The folder of the program, mounted read-only; {install} is its path inside.")
    command: tuple[str, ...] = Field(min_length=1, description="The command; the prompt comes on standard input.")
    env: dict[EnvironmentName, str] = Field(default={}, description="The environment; {token} may stand here alone.")
    home_files: dict[RelativePath, str] = Field(default={}, description="Files of its private home, as its settings.")
    skills_path: RelativePath = Field(description="Where in its home it looks for skills.")
    output: Literal["text", "json"] = Field(default="text", description="json: one value, or one a line.")
    reply: str | None = Field(
        default=None, description="Of JSON: a pointer. Of text: a regular expression; without one, all of it."
    )
    usage: UsagePointers | None = Field(default=None, description="Without it, the gateway's account alone counts.")

    @model_validator(mode="after")
    def _reply_fits_the_output(self) -> Self:
        if self.output == "json":
            TypeAdapter(Pointer).validate_python(self.reply or "")
            if not self.reply:
                raise ValueError("reply: JSON output needs a pointer to the reply, as /result")
        elif self.reply is not None:
            _a_pattern(self.reply)
        if self.usage is not None and self.output != "json":
            raise ValueError("usage: only JSON output has pointers")
        if any("{token}" in part for part in (*self.command, *self.home_files.values())):
            raise ValueError("{token} belongs in env alone: a command line can be read by others")
        return self


def _adapter_of(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("adapter", "chat"))
    return str(getattr(value, "adapter", "chat"))


AgentSpec = Annotated[
    Annotated[ChatAgentSpec, Tag("chat")]
    | Annotated[ClaudeCodeSpec, Tag("claude-code")]
    | Annotated[CodexSpec, Tag("codex")]
    | Annotated[CommandSpec, Tag("command")],
    Discriminator(_adapter_of),
]


class ProposerSpec(Record):
    """The model that reflects on failures, and which operators a generation tries."""

    model: Identifier
    temperature: float = Field(default=0.7, ge=0, le=2)
    operators: tuple[Literal["demonstrate", "lesson", "lesson+demonstrate", "reflect"], ...] = (
        "demonstrate",
        "lesson",
        "lesson+demonstrate",
        "reflect",
    )
    reflections: int = Field(default=1, ge=1, le=50, description="Proposals that reflect makes a generation.")


class WorkspaceSpec(Record):
    """The whole of ``evolve.yaml``."""

    schema_id: Literal["evolve/workspace@1"] = Field(alias="schema")
    skill_roots: tuple[RelativePath, ...] = Field(default=("skills",), min_length=1)
    corpus: RelativePath = "corpus"
    overlays: RelativePath = "overlays"
    promotion: RelativePath = "promotion"
    results: RelativePath = "results"
    models: dict[Identifier, ModelSpec] = Field(min_length=1)
    agent: AgentSpec
    proposer: ProposerSpec

    @model_validator(mode="after")
    def _models_are_declared(self) -> Self:
        agent = self.agent.model if isinstance(self.agent, ChatAgentSpec) else self.proposer.model
        for field, name in (("agent", agent), ("proposer", self.proposer.model)):
            if name not in self.models:
                raise ValueError(f"{field}.model: no model named {name!r} below models: {', '.join(self.models)}")
        return self
