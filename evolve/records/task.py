"""A task of the corpus, and its hidden oracle."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from evolve.records.base import FILE_FORMAT, Identifier, Record
from evolve.records.checks import Axis, Check, RelativePath
from evolve.records.kinds import Split
from evolve.records.phase import PathPattern

TASK_SCHEMA: Final = "evolve/task@1"
ORACLE_SCHEMA: Final = "evolve/oracle@1"
ANSWER_FILE: Final = "answer.md"


class RepositorySpec(Record):
    """A repository at a commit, given to the agent as one parentless commit without history, refs or remotes."""

    path: str | None = Field(default=None, description="A repository or bundle, from the workspace's folder; or url.")
    url: Annotated[str, StringConstraints(pattern=r"^(https?|ssh|git|file)://[^\s]+$")] | None = Field(
        default=None, description="Where the repository is cloned from; or path."
    )
    commit: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")] = Field(
        description="The commit whose tree the agent gets, in full."
    )
    remove: tuple[PathPattern, ...] = Field(
        default=(), description="What the agent must not see, as in .gitignore, beside corpus, promotion and skills."
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.path is None) == (self.url is None):
            raise ValueError("give either path or url")
        return self


class Dependency(Record):
    """A folder that a task needs and does not hold: mounted read-only at a path of the workspace."""

    path: RelativePath = Field(description="Where it is in the workspace, such as .venv or node_modules.")
    source: str = Field(description="Where it is now, from the workspace's folder; it is copied once.")
    caches: tuple[RelativePath, ...] = Field(
        default=(), description="Folders in it that tools insist on writing; each cell has its own copy."
    )


class SetupCommand(Record):
    """A command that prepares the work, in the sandbox, before anything is measured."""

    argv: tuple[str, ...] = Field(min_length=1, description="The command and its arguments; no shell.")
    timeout_s: float = Field(default=300, gt=0, le=3600, description="Seconds until it is given up, which fails.")


class Limits(Record):
    """What one attempt at a cell may use."""

    max_output_tokens: int = Field(default=512, ge=1, le=100_000, description="The longest reply of a chat agent.")
    wall_s: float = Field(default=120, gt=0, le=86_400, description="Seconds that a run may take.")


def _unique_ids(checks: tuple[Check, ...]) -> None:
    ids = [check.id for check in checks]
    for identifier in ids:
        if ids.count(identifier) > 1:
            raise ValueError(f"two checks have the id {identifier!r}")


class Task(Record):
    """``corpus/<id>/task.yaml``: a prompt, limits and the public checks of form."""

    schema_id: Literal["evolve/task@1"] = Field(alias="schema", description=FILE_FORMAT)
    id: Identifier = Field(description="The name of the task's folder.")
    split: Split = Field(
        description="Who may see it: proposers (train), the search its scores (selection), the gate alone (sealed)."
    )
    skills: tuple[Identifier, ...] = Field(min_length=1, description="The skills that the task exercises.")
    kind: Literal["answer", "edit", "review"] = Field(
        default="answer",
        description="answer: the reply is checked; edit: files are edited; review: change.patch is reviewed.",
    )
    expensive: bool = Field(default=False, description="Left out unless --include-expensive.")
    repository: RepositorySpec | None = Field(default=None, description="What the work begins with, beside seed/.")
    dependencies: tuple[Dependency, ...] = Field(
        default=(), description="Folders that are there already, mounted read-only, as a virtual environment."
    )
    setup: tuple[SetupCommand, ...] = Field(
        default=(), description="Commands that prepare the work once, contained and without network."
    )
    bad_fails: Axis = Field(default="correct", description="The axis on which the bad reference fails.")
    class_: str = Field(
        default="general", alias="class", description="What kind of work it is, for grouping; free text."
    )
    tier: Literal["tight", "open"] = Field(
        default="tight",
        description="tight: one way is right; open: several are. When the two disagree in sign, that is said.",
    )
    tags: tuple[str, ...] = Field(default=(), description="Free words, for grouping.")
    prompt: Annotated[str, StringConstraints(min_length=1, max_length=65_536)] = Field(
        description="What the agent is asked."
    )
    limits: Limits = Field(default=Limits(), description="How much a run may use.")
    verify: tuple[Check, ...] = Field(default=(), description="Public checks, run before the oracle.")

    @property
    def replies(self) -> bool:
        """Whether what is graded is a reply, and not changed files."""
        return self.kind in ("answer", "review")

    @model_validator(mode="after")
    def _check_ids_are_unique(self) -> Self:
        _unique_ids(self.verify)
        return self

    @model_validator(mode="after")
    def _dependencies_have_places_of_their_own(self) -> Self:
        paths = [dependency.path for dependency in self.dependencies]
        if len(set(paths)) < len(paths):
            raise ValueError("dependencies: two have one path")
        return self


class Oracle(Record):
    """``corpus/<id>/oracle/oracle.yaml``: the hidden checks, staged only after the agent has ended."""

    schema_id: Literal["evolve/oracle@1"] = Field(alias="schema", description=FILE_FORMAT)
    checks: tuple[Check, ...] = Field(min_length=1, description="The hidden checks; all of them must pass.")

    @model_validator(mode="after")
    def _check_ids_are_unique(self) -> Self:
        _unique_ids(self.checks)
        return self
