"""The checks that a task can make on an answer or on edited files."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from evolve.errors import InputError
from evolve.files import safe_relative
from evolve.records.base import VARIANT, Identifier, Record
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
    id: Identifier = Field(description="A name: lower-case letters, digits and single hyphens.")
    rule: Rule = Field(description="The general sentence that a reply which fails this check has broken.")
    axis: Axis = Field(default="correct", description="Whether it asks for right work, or for safe work.")


class JsonObjectCheck(_Check):
    """The reply is one bare JSON object with exactly these keys."""

    kind: Literal["json-object"] = Field(description=VARIANT)
    keys: tuple[str, ...] = Field(min_length=1, description="The keys that the object has, and no others.")


class JsonValueCheck(_Check):
    """A key of the JSON reply has one of these values; text is compared trimmed and case-insensitively."""

    kind: Literal["json-value"] = Field(description=VARIANT)
    key: str = Field(description="The key of the reply's JSON object.")
    any_of: tuple[str | bool | int | float | None, ...] = Field(
        min_length=1, description="The values that it may have."
    )


class LineCheck(_Check):
    """The reply is one plain line."""

    kind: Literal["line"] = Field(description=VARIANT)
    pattern: Pattern | None = Field(default=None, description="A regular expression for the whole line.")
    max_chars: int | None = Field(
        default=None, ge=1, description="The longest that the line may be; null for any length."
    )


class EqualsCheck(_Check):
    """The reply is exactly one of these texts; surrounding space and backticks do not count."""

    kind: Literal["equals"] = Field(description=VARIANT)
    any_of: tuple[str, ...] = Field(min_length=1, description="The texts that the reply may be.")


class ContainsCheck(_Check):
    """The reply contains all of some texts, and at least one of others; both as they stand, anywhere."""

    kind: Literal["contains"] = Field(description=VARIANT)
    all_of: tuple[Fragment, ...] = Field(default=(), description="Texts that must all be in the reply.")
    any_of: tuple[Fragment, ...] = Field(default=(), description="Texts of which one at least must be in the reply.")
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.all_of and not self.any_of:
            raise ValueError("give all_of or any_of")
        return self


class RegexCheck(_Check):
    """A regular expression matches somewhere in the reply; surrounding space does not count."""

    kind: Literal["regex"] = Field(description=VARIANT)
    pattern: Pattern = Field(description="A regular expression that must match somewhere in the reply.")
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")


class JsonCheck(_Check):
    """The reply is one JSON value of any kind and nothing else."""

    kind: Literal["json"] = Field(description=VARIANT)


class CodeBlockCheck(_Check):
    """The reply is one fenced code block and nothing else."""

    kind: Literal["code-block"] = Field(description=VARIANT)
    language: str | None = Field(default=None, description="The language that the fence must name; null for any.")


class PythonCall(Record):
    """A call of the function under test and what it must return."""

    args: tuple[Any, ...] = Field(default=(), description="The arguments, in order.")
    returns: Any = Field(description="The expected value, as JSON; a tuple is compared as a list.")


class PythonCallsCheck(_Check):
    """A function in the reply (or in a file) returns the right values; it runs in a process of its own.

    Expected values never enter that process.
    """

    kind: Literal["python-calls"] = Field(description=VARIANT)
    function: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = Field(
        description="The function that is called."
    )
    calls: tuple[PythonCall, ...] = Field(min_length=1, max_length=200, description="Calls, and what each must return.")
    file: RelativePath | None = Field(default=None, description="The file that holds the function; null: the reply.")
    tolerance: float = Field(default=1e-9, ge=0, description="How far numbers may be off, relatively.")
    timeout_s: float = Field(default=10, gt=0, le=600, description="Seconds until it is given up, which fails.")


class IniOptionsCheck(_Check):
    """An INI file holds exactly these options, written ``section.option``."""

    kind: Literal["ini-options"] = Field(description=VARIANT)
    file: RelativePath = Field(description="The INI file, as its path in the work.")
    options: dict[str, str] = Field(min_length=1, description="The value that each section.option must have.")


class CommandCheck(_Check):
    """A command succeeds in a read-only copy of the workspace, without network; ``{oracle}`` is the oracle folder."""

    kind: Literal["command"] = Field(description=VARIANT)
    argv: tuple[str, ...] = Field(
        min_length=1, description="The command and its arguments; {oracle} and {python} are filled in."
    )
    timeout_s: float = Field(default=60, gt=0, le=3600, description="Seconds until it is given up, which fails.")


class ReviewCheck(_Check):
    """The reply is a review (see ``evolve schema review``) that finds what the labels say, and little else.

    Without labels the change is a clean control: a review passes that does not ask for changes.
    """

    kind: Literal["review"] = Field(description=VARIANT)
    labels: tuple[Label, ...] = Field(
        default=(),
        max_length=MAX_FINDINGS,
        description="The faults that a review should find; without any, the change is a clean control.",
    )
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
