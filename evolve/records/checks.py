"""The checks that a task can make on an answer or on edited files."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from evolve.errors import InputError
from evolve.files import safe_relative
from evolve.records.base import Identifier, Record
from evolve.records.review import MAX_FINDINGS, Label

Rule = Annotated[str, StringConstraints(min_length=1, max_length=600, strip_whitespace=True)]


def _inside(text: str) -> str:
    try:
        return safe_relative(text, where="path").as_posix()
    except InputError as error:
        raise ValueError(error.message) from error


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


Axis = Literal["correct", "safe"]
RelativePath = Annotated[str, AfterValidator(_inside)]
Pattern = Annotated[str, StringConstraints(max_length=400), AfterValidator(_compiles)]
Fragment = Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class _Check(Record):
    id: Identifier
    rule: Rule = Field(description="The general sentence that a reply which fails this check has broken.")
    axis: Axis = Field(default="correct", description="Whether it asks for right work, or for safe work.")


class JsonObjectCheck(_Check):
    """The reply is one bare JSON object with exactly these keys."""

    kind: Literal["json-object"]
    keys: tuple[str, ...] = Field(min_length=1)


class JsonValueCheck(_Check):
    """A key of the JSON reply has one of these values; text is compared trimmed and case-insensitively."""

    kind: Literal["json-value"]
    key: str
    any_of: tuple[str | bool | int | float | None, ...] = Field(min_length=1)


class LineCheck(_Check):
    """The reply is one plain line."""

    kind: Literal["line"]
    pattern: Pattern | None = Field(default=None, description="A regular expression for the whole line.")
    max_chars: int | None = Field(default=None, ge=1)


class EqualsCheck(_Check):
    """The reply is exactly one of these texts; surrounding space and backticks do not count."""

    kind: Literal["equals"]
    any_of: tuple[str, ...] = Field(min_length=1)


class ContainsCheck(_Check):
    """The reply contains all of some texts, and at least one of others; both as they stand, anywhere."""

    kind: Literal["contains"]
    all_of: tuple[Fragment, ...] = ()
    any_of: tuple[Fragment, ...] = ()
    ignore_case: bool = False

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.all_of and not self.any_of:
            raise ValueError("give all_of or any_of")
        return self


class RegexCheck(_Check):
    """A regular expression matches somewhere in the reply; surrounding space does not count."""

    kind: Literal["regex"]
    pattern: Pattern
    ignore_case: bool = False


class JsonCheck(_Check):
    """The reply is one JSON value of any kind and nothing else."""

    kind: Literal["json"]


class CodeBlockCheck(_Check):
    """The reply is one fenced code block and nothing else."""

    kind: Literal["code-block"]
    language: str | None = None


class PythonCall(Record):
    """A call of the function under test and what it must return."""

    args: tuple[Any, ...] = ()
    returns: Any = Field(description="The expected value, as JSON; a tuple is compared as a list.")


class PythonCallsCheck(_Check):
    """A function in the reply (or in a file) returns the right values; it runs in a process of its own.

    Expected values never enter that process.
    """

    kind: Literal["python-calls"]
    function: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    calls: tuple[PythonCall, ...] = Field(min_length=1, max_length=200)
    file: RelativePath | None = None
    tolerance: float = Field(default=1e-9, ge=0)
    timeout_s: float = Field(default=10, gt=0, le=600)


class IniOptionsCheck(_Check):
    """An INI file holds exactly these options, written ``section.option``."""

    kind: Literal["ini-options"]
    file: RelativePath
    options: dict[str, str] = Field(min_length=1)


class CommandCheck(_Check):
    """A command succeeds in a read-only copy of the workspace, without network; ``{oracle}`` is the oracle folder."""

    kind: Literal["command"]
    argv: tuple[str, ...] = Field(min_length=1)
    timeout_s: float = Field(default=60, gt=0, le=3600)


class ReviewCheck(_Check):
    """The reply is a review (see ``evolve schema review``) that finds what the labels say, and little else.

    Without labels the change is a clean control: a review passes that does not ask for changes.
    """

    kind: Literal["review"]
    labels: tuple[Label, ...] = Field(default=(), max_length=MAX_FINDINGS)
    min_f1: float = Field(default=0.5, ge=0, le=1, description="The weighted F1 that passes.")
    line_tolerance: int = Field(default=2, ge=0, le=50, description="Lines that a finding may lie beside its label.")

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        ids = [label.id for label in self.labels]
        if len(set(ids)) < len(ids):
            raise ValueError("two labels have one id")
        return self


ReadCheck = (
    JsonObjectCheck
    | JsonValueCheck
    | JsonCheck
    | LineCheck
    | EqualsCheck
    | ContainsCheck
    | RegexCheck
    | CodeBlockCheck
    | IniOptionsCheck
)
Check = Annotated[
    ReadCheck | PythonCallsCheck | ReviewCheck | CommandCheck,
    Field(discriminator="kind"),
]
