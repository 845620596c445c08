"""Rows as a table of cells: the columns of every CSV and Parquet file, in one stable order."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from evolve.records.row import CheckOutcome, Row

Value = str | int | float | bool | datetime | None
Kind = Literal["text", "integer", "number", "flag", "time"]

# What a spreadsheet takes for the beginning of a formula, full-width signs and line ends included.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True)
class Column:
    """A column: its name, what its values are, what they say, and how a row gives them; null is unknown, never 0."""

    name: str
    kind: Kind
    says: str
    of: Callable[[Row], Value]


@dataclass(frozen=True)
class Cells:
    """The rows of one source, by the name it is known by."""

    source: str
    rows: tuple[Row, ...]


def _score(checks: CheckOutcome | None) -> float | None:
    return None if checks is None else checks.score


COLUMNS: tuple[Column, ...] = (
    Column("arm", "text", "the arm", lambda row: row.arm),
    Column("role", "text", "incumbent, candidate, comparator or control", lambda row: row.role.value),
    Column("task", "text", "the task", lambda row: row.identity.task),
    Column("split", "text", "train, selection or sealed", lambda row: row.split.value),
    Column("run", "integer", "the run, from 0; arms share its seed", lambda row: row.identity.run),
    Column("attempt", "integer", "which attempt settled the cell, from 1", lambda row: row.attempt),
    Column("resolved", "flag", "whether every check passed", lambda row: row.resolved),
    Column("void", "flag", "whether it says nothing about its arm: leave it out of any rate", lambda row: row.void),
    Column("kind", "text", "why it was not resolved", lambda row: row.kind.value if row.kind else None),
    Column("verify_score", "number", "share of public checks, 0 to 1", lambda row: _score(row.verify)),
    Column("oracle_score", "number", "share of hidden checks, 0 to 1", lambda row: _score(row.oracle)),
    Column("input_tokens", "integer", "all input, cached input included", lambda row: row.usage.input_tokens),
    Column("cached_input_tokens", "integer", "read from a cache", lambda row: row.usage.cached_input_tokens),
    Column("cache_write_5m_tokens", "integer", "written for 5 minutes", lambda row: row.usage.cache_write_5m_tokens),
    Column("cache_write_1h_tokens", "integer", "written for an hour", lambda row: row.usage.cache_write_1h_tokens),
    Column("output_tokens", "integer", "all output, reasoning included", lambda row: row.usage.output_tokens),
    Column("reasoning_tokens", "integer", "part of the output", lambda row: row.usage.reasoning_tokens),
    Column("api_calls", "integer", "calls of the model", lambda row: row.usage.api_calls),
    Column("turns", "integer", "turns of the session", lambda row: row.usage.turns),
    Column("tool_calls", "integer", "calls of tools", lambda row: row.usage.tool_calls),
    Column("cost_usd_micros", "integer", "millionths of a USD", lambda row: row.usage.cost_usd_micros),
    Column("session_ms", "integer", "wall time of the session, in ms", lambda row: row.usage.session_ms),
    Column("api_ms", "integer", "time that the model took of it, in ms", lambda row: row.usage.api_ms),
    Column("measured_at", "time", "when it was first measured, UTC", lambda row: row.measured_at),
    Column(
        "reused_from", "text", "the sweep that it is reused from", lambda row: row.reused.sweep if row.reused else None
    ),
    Column("key", "text", "SHA-256 of all that can influence the cell", lambda row: row.key),
)
SOURCE = "source"
SOURCE_SAYS = "the sweep or evidence folder (`evolve export` alone)"
HEADER = [SOURCE, *(column.name for column in COLUMNS)]


def cells_csv(rows: Iterable[Row]) -> bytes:
    """Return rows as CSV (RFC 4180, UTF-8), a line a cell."""
    return _csv([column.name for column in COLUMNS], ([column.of(row) for column in COLUMNS] for row in rows))


def sources_csv(sources: Sequence[Cells]) -> bytes:
    """Return the rows of several sources as one CSV, whose first column names the source."""
    return _csv(HEADER, _lines(sources))


def sources_json(sources: Sequence[Cells]) -> bytes:
    """Return the rows of several sources as one JSON list, an object a cell; texts are as they were recorded."""
    cells = [dict(zip(HEADER, map(_plain, line), strict=True)) for line in _lines(sources)]
    return json.dumps(cells, indent=2, ensure_ascii=False).encode("utf-8", errors="replace") + b"\n"


def _lines(sources: Sequence[Cells]) -> Iterator[list[Value]]:
    for one in sources:
        for row in one.rows:
            yield [one.source, *(column.of(row) for column in COLUMNS)]


def _plain(value: Value) -> str | int | float | bool | None:
    return shown(value) if isinstance(value, datetime) else value


def _csv(header: Sequence[str], lines: Iterable[Sequence[Value]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([shown(value) for value in line] for line in lines)
    return text.getvalue().encode("utf-8")


def shown(value: Value) -> str:
    """Return a value as CSV shows it: null as nothing, no control characters, and nothing that is a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if not isinstance(value, str):
        return str(value)
    text = _STEERING.sub("", value)
    return f"'{text}" if text.startswith(FORMULA) else text
