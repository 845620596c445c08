"""A task of the corpus, and its hidden oracle."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from evolve.records.base import Identifier, Record
from evolve.records.checks import Check
from evolve.records.kinds import Split

TASK_SCHEMA: Final = "evolve/task@1"
ORACLE_SCHEMA: Final = "evolve/oracle@1"
ANSWER_FILE: Final = "answer.md"


class Limits(Record):
    """What one attempt at a cell may use."""

    max_output_tokens: int = Field(default=512, ge=1, le=100_000)
    wall_s: float = Field(default=120, gt=0, le=86_400)


def _unique_ids(checks: tuple[Check, ...]) -> None:
    ids = [check.id for check in checks]
    for identifier in ids:
        if ids.count(identifier) > 1:
            raise ValueError(f"two checks have the id {identifier!r}")


class Task(Record):
    """``corpus/<id>/task.yaml``: a prompt, limits and the public checks of form."""

    schema_id: Literal["evolve/task@1"] = Field(alias="schema")
    id: Identifier
    split: Split
    skills: tuple[Identifier, ...] = Field(min_length=1, description="The skills that the task exercises.")
    kind: Literal["answer", "edit"] = Field(
        default="answer", description="answer: the reply is checked; edit: the files of seed/ are edited."
    )
    class_: str = Field(default="general", alias="class")
    tier: Literal["tight", "open"] = "tight"
    tags: tuple[str, ...] = ()
    prompt: Annotated[str, StringConstraints(min_length=1, max_length=65_536)]
    limits: Limits = Limits()
    verify: tuple[Check, ...] = Field(default=(), description="Public checks, run before the oracle.")

    @model_validator(mode="after")
    def _check_ids_are_unique(self) -> Self:
        _unique_ids(self.verify)
        return self


class Oracle(Record):
    """``corpus/<id>/oracle/oracle.yaml``: the hidden checks, staged only after the agent has ended."""

    schema_id: Literal["evolve/oracle@1"] = Field(alias="schema")
    checks: tuple[Check, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_ids_are_unique(self) -> Self:
        _unique_ids(self.checks)
        return self
