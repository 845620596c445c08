"""The ``agent`` of ``evolve.yaml``: whose skills are improved."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    TypeAdapter,
    model_validator,
)

from evolve.records.base import Identifier, Record
from evolve.records.checks import RelativePath
from evolve.records.phase import FLOWS, FlowName, Phases, PhaseSpec
from evolve.records.prices import TokenPrice

EnvironmentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
SUBJECT: Final = "{skill}"
Loads = tuple[Identifier | Literal["{skill}"], ...]
Delivery = Literal["skill", "plugin", "append"]
Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]
PhasesSpec = FlowName | tuple[PhaseSpec, ...]
LOADS = Field(default=(SUBJECT,), description="The skills that are installed; {skill} is the one under test.")
APPEND = Field(default=None, max_length=65_536, description="Text that is added to the system prompt.")


class ChatAgentSpec(Record):
    """The embedded agent: one turn of a model of ``models``."""

    adapter: Literal["chat"] = Field(default="chat", description="Which kind of agent it is.")
    model: Identifier = Field(description="A model of `models`.")
    temperature: float = Field(default=0.7, ge=0, le=2, description="How freely the model samples; 0 for not at all.")
    skills: Loads = LOADS
    append: str | None = APPEND


class McpServerSpec(Record):
    """A tool server that is started inside the box, beside the agent; it reaches no network."""

    command: tuple[str, ...] = Field(min_length=1, description="{folder} is its folder's path inside.")
    folder: str | None = Field(default=None, description="A folder of it, mounted read-only.")
    env: dict[EnvironmentName, str] = Field(default={}, description="The server's environment.")


class UpstreamSpec(Record):
    """Where the model of a program answers; the gateway alone knows the key."""

    base_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s@]+$")] = Field(
        description="The address of the endpoint."
    )
    key_env: EnvironmentName | None = Field(default=None, description="The environment variable that holds the key.")


def _full_name(model: str) -> str:
    if model in ("default", "best", "auto", "latest") or model.endswith("-latest"):
        raise ValueError(f"{model!r} means another model tomorrow; give the full name")
    return model


ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]*$"), AfterValidator(_full_name)]


class ProgramSpec(Record):
    """An agent that is a program of its own; how it is asked and read is known by its adapter's name."""

    adapter: Identifier = Field(description="Which kind of agent it is.")
    model: ModelName = Field(description="The model, by its full name.")
    binary: str = Field(description="The program: a path, or a name on PATH.")
    version: str = Field(description="Its exact version; another one is refused.")
    upstream: UpstreamSpec = Field(description="Where the gateway reaches the model.")
    effort: Effort | None = Field(
        default=None, description="How much the model is asked to think; null for its own default."
    )
    skills: Loads = LOADS
    delivery: Delivery | None = Field(
        default=None,
        description="How skills reach it: at its skill root, as a plugin, or as appended text. Default: its adapter's.",
    )
    append: str | None = APPEND
    plugins: tuple[str, ...] = Field(default=(), description="Further plugin folders that it loads.")
    mcp: dict[Identifier, McpServerSpec] = Field(default={}, description="The only MCP servers that it may have.")
    phases: PhasesSpec = Field(default="direct", description="direct, plan-work, review, or a list of phases.")
    max_calls: int = Field(default=100, ge=1, le=10_000, description="Model calls that one session may make.")
    max_usd: float | None = Field(default=1, gt=0, description="Money that one session may cost; null: no limit.")
    idle_s: float = Field(default=300, gt=0, le=86_400, description="Seconds that it may be silent.")
    record: bool = Field(default=False, description="Keep what the model answered, to be replayed offline.")
    replay: str | None = Field(default=None, description="A sweep whose recordings answer in place of the model.")
    price: TokenPrice | None = Field(default=None, description="What the model charges, if prices.yaml does not know.")
    tools: tuple[str, ...] | None = Field(default=None, description="The tools it is given; by default its adapter's.")
    denied_tools: tuple[str, ...] = Field(default=(), description="Tools, or uses of them, that are taken away again.")
    max_turns: int | None = Field(default=None, ge=1, le=1000, description="Turns of a session.")

    @property
    def flow(self) -> tuple[PhaseSpec, ...]:
        """The phases of a cell."""
        return FLOWS[self.phases] if isinstance(self.phases, str) else self.phases

    @model_validator(mode="after")
    def _phases_are_a_flow(self) -> Self:
        Phases(phases=self.flow)
        return self


def _a_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


Pointer = Annotated[str, StringConstraints(pattern=r"^(/([^~/]|~0|~1)*)*$")]


Places = str | Annotated[tuple[str, ...], Field(min_length=1)]


def several(places: Places | None) -> tuple[str, ...]:
    """Return the places of a figure: none, one or several."""
    if places is None:
        return ()
    return (places,) if isinstance(places, str) else places


class UsageSpec(Record):
    """Where in a program's output its usage stands; several places of one figure are added up.

    Of JSON: pointers, where ``*`` stands for everything in a list or object, added up. Of text: regular expressions
    whose first group is the number.
    """

    input: Places = Field(description="All input, what was cached included.")
    output: Places = Field(description="All output, reasoning included.")
    cached: Places | None = Field(default=None, description="What of the input was cached.")
    sum: bool = Field(default=False, description="Add up all of the output; else what it says last counts.")


PLACEHOLDERS = ("install", "gateway", "model", "token", "work", "home", "prompt_file", "append")


class CommandSpec(ProgramSpec):
    """Any other program. Placeholders: {install} {gateway} {model} {token} {work} {home} {prompt_file} {append}."""

    adapter: Literal["command"] = Field(description="Which kind of agent it is.")
    install: str = Field(description="The folder of the program, mounted read-only; {install} is its path inside.")
    command: tuple[str, ...] = Field(min_length=1, description="The command; the prompt comes on standard input.")
    env: dict[EnvironmentName, str] = Field(default={}, description="The environment; {token} may stand here alone.")
    home_files: dict[RelativePath, str] = Field(default={}, description="Files of its private home, as its settings.")
    skills_path: RelativePath = Field(description="Where in its home it looks for skills.")
    output: Literal["text", "json"] = Field(default="text", description="json: one value, or one a line.")
    reply: str | None = Field(
        default=None, description="Of JSON: a pointer. Of text: a regular expression; without one, all of it."
    )
    usage: UsageSpec | None = Field(default=None, description="Without it, the gateway's account alone counts.")

    @model_validator(mode="after")
    def _reply_fits_the_output(self) -> Self:
        if self.output == "json":
            TypeAdapter(Pointer).validate_python(self.reply or "")
            if not self.reply:
                raise ValueError("reply: JSON output needs a pointer to the reply, as /result")
        elif self.reply is not None:
            _a_pattern(self.reply)
        if self.usage is not None:
            for place in (*several(self.usage.input), *several(self.usage.output), *several(self.usage.cached)):
                if self.output == "json":
                    TypeAdapter(Pointer).validate_python(place)
                elif re.compile(_a_pattern(place)).groups == 0:
                    raise ValueError(f"usage: {place!r} has no group that holds the number")
        if any("{token}" in part for part in (*self.command, *self.home_files.values())):
            raise ValueError("{token} belongs in env alone: a command line can be read by others")
        for text in (*self.command, *self.env.values()):
            for name in re.findall(r"(?<!\{)\{(\w+)\}(?!\})", text):
                if name not in PLACEHOLDERS:
                    raise ValueError(f"command, env: no placeholder {{{name}}}; there are {', '.join(PLACEHOLDERS)}")
        return self


def _adapter_of(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("adapter", "chat"))
    return str(getattr(value, "adapter", "chat"))


# The names of the variants must not be names of fields, for which they would be taken in messages.
CHAT, DESCRIBED, PROGRAM = "chat-agent", "described-program", "known-program"
PROGRAM_FIELDS = ("binary", "version", "upstream")


def _variant_of(value: Any) -> str:
    adapter = _adapter_of(value)
    if adapter in ("chat", "command"):
        return CHAT if adapter == "chat" else DESCRIBED
    if isinstance(value, dict) and not any(name in value for name in PROGRAM_FIELDS):
        return f"adapter {adapter!r}: neither chat nor a program, which has {', '.join(PROGRAM_FIELDS)}"
    return PROGRAM


AgentSpec = Annotated[
    Annotated[ChatAgentSpec, Tag(CHAT)] | Annotated[CommandSpec, Tag(DESCRIBED)] | Annotated[ProgramSpec, Tag(PROGRAM)],
    Discriminator(_variant_of),
]
