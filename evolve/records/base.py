"""What all file formats share: strict frozen models, canonical writing, reading with good errors."""

from __future__ import annotations

import difflib
import json
import stat
from collections.abc import Iterator, Sized
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pydantic
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from evolve.digest import MAX_EXACT, canonical_json, sha256_bytes
from evolve.errors import EnvironmentFault, InputError
from evolve.files import write_atomic
from evolve.records.yaml_source import YamlSource

MAX_RECORD_BYTES = 4 * 1024 * 1024
MAX_JSONL_BYTES = 1024 * 1024 * 1024

# What fields mean that many formats have.
FILE_FORMAT = "The format of this file and its version."
LINE_FORMAT = "The format of this line and its version."
VARIANT = "Which of the kinds this is; it decides which other fields there are."


class Record(BaseModel):
    """A frozen record that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, allow_inf_nan=False, populate_by_name=True)

    def json_value(self) -> Any:
        """Return the record as plain JSON values, field aliases used."""
        return self.model_dump(mode="json", by_alias=True)

    def canonical(self) -> bytes:
        """Return the record as canonical JSON (RFC 8785)."""
        return canonical_json(self.json_value())

    def digest(self) -> str:
        """Return the SHA-256 of the record's canonical JSON."""
        return sha256_bytes(self.canonical())


def is_empty(value: Sized) -> bool:
    """Whether a collection holds nothing: such a field can be left out of a record."""
    return not len(value)


R = TypeVar("R", bound=Record)
_ALL_SET: dict[type[Record], set[str]] = {}


def lean(record: R) -> R:
    """Have a record share its set of set fields with all others of its kind: half of its memory, of no use here."""
    kind = type(record)
    object.__setattr__(record, "__pydantic_fields_set__", _ALL_SET.setdefault(kind, set(kind.model_fields)))
    return record


def _aware(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs its zone, as in 2026-01-31T12:00:00Z")
    return value.astimezone(UTC)


Timestamp = Annotated[datetime, AfterValidator(_aware)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=MAX_EXACT)]
"""What canonical JSON can hold exactly: tokens, cells, micro-USD, milliseconds."""
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]


def field_path(location: tuple[int | str, ...]) -> str:
    """Render a pydantic error location as ``checks[0].rule``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "(whole file)"


def _message(error: pydantic.ValidationError, where: str, source: YamlSource | None, names: frozenset[str]) -> str:
    lines = []
    for item in error.errors(include_url=False)[:8]:
        location = item["loc"]
        line = source.line_of(location) if source else None
        position = f"{where}:{line}" if line else where
        shown = source.path_of(location, absent=item["type"] == "missing") if source else location
        told_apart_by = str((item.get("ctx") or {}).get("discriminator", "")).strip("'")
        shown = (*shown, told_apart_by) if told_apart_by.isidentifier() else shown
        lines.append(f"{position}: {field_path(shown)}: {_problem(item, names)}")
    return "\n".join(lines)


def _names_of(model: type[Record]) -> frozenset[str]:
    """Return the names of all fields of a format, at any depth."""
    schema = model.model_json_schema(by_alias=True)
    parts = [schema, *schema.get("$defs", {}).values()]
    return frozenset(name for part in parts for name in part.get("properties", {}))


PLAIN_WORDS = {"missing": "is missing", "string_type": "must be text; put it in quotes", "tuple_type": "must be a list"}


def _problem(item: Any, names: frozenset[str] = frozenset()) -> str:
    """Return what is wrong with a field, in the words of whoever wrote it."""
    context = item.get("ctx") or {}
    if item["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(item["loc"][-1]), names, n=1)
        return f"unknown key; did you mean {close[0]}?" if close else "unknown key"
    if item["type"] in PLAIN_WORDS:
        return PLAIN_WORDS[item["type"]]
    if item["type"] == "union_tag_invalid":
        tag = str(context["tag"])
        return tag if ": " in tag else f"{tag!r} is none of {context['expected_tags']}"
    if item["type"] == "string_pattern_mismatch" and str(context.get("pattern")).startswith("^https?://"):
        return "must begin with http:// or https://, without a user name"
    return str(item["msg"]).removeprefix("Value error, ")


def parse_record(model: type[R], value: object, where: str, *, source: YamlSource | None = None) -> R:
    """Check a parsed value against a format.

    Raises:
        InputError: The message names file, line (where known) and field, one line a fault.

    """
    try:
        return model.model_validate_json(json.dumps(value), strict=True)
    except pydantic.ValidationError as error:
        raise InputError(_message(error, where, source, _names_of(model)), code="invalid-record") from error


def read_text(path: Path, *, max_bytes: int = MAX_RECORD_BYTES) -> str:
    """Read a UTF-8 text file.

    Raises:
        InputError: It is missing, no regular file, not UTF-8, holds a byte order mark or NUL, or is too large.

    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path}: not a file", code="unreadable")
        size = status.st_size
        if size > max_bytes:
            raise InputError(f"{path}: {size} bytes, more than the {max_bytes} allowed", code="too-large")
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file", code="missing-file") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", code="unreadable") from error
    return decode_text(data, str(path))


def decode_text(data: bytes, where: str) -> str:
    """Decode the UTF-8 content of a text file.

    Raises:
        InputError: It is not UTF-8, or holds a byte order mark or NUL.

    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 (byte {error.start})", code="not-utf8") from error
    if text.startswith("\ufeff") or "\0" in text:
        raise InputError(f"{where}: holds a byte order mark or a NUL", hint="save it as plain UTF-8", code="not-text")
    return text


def read_yaml(model: type[R], path: Path) -> R:
    """Read a YAML file strictly (no aliases, no tags, no duplicate keys).

    Raises:
        InputError: The message names file, line and field.

    """
    return parse_yaml(model, read_text(path), str(path))


def parse_yaml(model: type[R], text: str, where: str) -> R:
    """Parse YAML text into a record, strictly.

    Raises:
        InputError: The message names where, line and field.

    """
    source = YamlSource.parse(text, where)
    if source.value is None:
        raise InputError(f"{where}: the file is empty", code="empty-file")
    return parse_record(model, source.value, where, source=source)


def read_json(model: type[R], path: Path) -> R:
    """Read a JSON file strictly.

    Raises:
        InputError: The message names file and field.

    """
    return parse_json(model, read_text(path, max_bytes=64 * MAX_RECORD_BYTES).encode(), str(path))


def parse_json(model: type[R], data: bytes, where: str) -> R:
    """Parse JSON bytes into a record.

    Raises:
        InputError: The message names where and the field.

    """
    try:
        return model.model_validate_json(data, strict=True)
    except pydantic.ValidationError as error:
        raise InputError(_message(error, where, None, frozenset()), code="invalid-record") from error


def read_jsonl(model: type[R], path: Path) -> Iterator[R]:
    """Read a JSON Lines file, one record a line, in constant memory.

    Raises:
        InputError: The message names file, line number and field.

    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: not a file", code="unreadable")
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", code="missing-file") from error
    with file:
        for number, line in enumerate(file, start=1):
            yield parse_json(model, line.rstrip(b"\n"), f"{path}:{number}")


def write_json(path: Path, record: Record) -> None:
    """Write a record as one line of canonical JSON, atomically."""
    write_atomic(path, record.canonical() + b"\n")


def jsonl_bytes(records: list[R] | tuple[R, ...]) -> bytes:
    """Render records as JSON Lines."""
    return b"".join(record.canonical() + b"\n" for record in records)


def require_schema(path: Path, found: str, wanted: str) -> None:
    """Refuse a file of another schema or version.

    Raises:
        EnvironmentFault: The file was written by another version of evolve.

    """
    if found != wanted:
        raise EnvironmentFault(f"{path}: schema {found!r}, this version reads {wanted!r}")
