"""Rows as CSV and Parquet: typed, null left empty, no formulas."""

from __future__ import annotations

import builtins
import csv
import io
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import EnvironmentFault
from evolve.promote.evidence import Evidence
from evolve.records.row import Reuse, Row, Usage
from evolve.report.cells import COLUMNS, FORMULA, SOURCE, SOURCE_SAYS, Cells, cells_csv, shown, sources_csv
from evolve.report.parquet import sources_parquet
from tests.builders import digest_of

ROOT = Path(__file__).parents[2]


def read(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))


def usual_and_odd(evidence: Evidence) -> tuple[Row, ...]:
    """Return rows with everything known, nothing known, and texts that are hostile."""
    first, second, third, *_ = evidence.rows
    figures = {name: number for number, name in enumerate(sorted(Usage.model_fields))} | {"input_tokens": 10**6}
    return (
        first.model_copy(update={"usage": Usage.model_validate(figures)}),
        second.model_copy(update={"usage": Usage(), "verify": None, "oracle": None}),
        third.model_copy(update={"arm": '=1+"x",\r\ny', "reused": Reuse(sweep="@s", row_sha256=digest_of("r"))}),
    )


def value_of(text: str, kind: str) -> Any:
    """Return a value of a CSV, as the documentation says it is read."""
    if text == "":
        return None
    if kind == "time":
        return datetime.fromisoformat(text)
    if kind == "flag":
        return {"true": True, "false": False}[text]
    if kind == "text":
        return text.removeprefix("'")
    return int(text) if kind == "integer" else float(text)


def test_csv_and_parquet_read_back_as_the_same_table(evidence: Evidence) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    rows = usual_and_odd(evidence)
    sources = [Cells("s-one", rows), Cells("promotion/bracket/x", evidence.rows)]
    table = parquet.read_table(io.BytesIO(sources_parquet(sources)))
    listed, typed = read(sources_csv(sources)), table.to_pylist()
    assert len(listed) == len(typed) == len(rows) + len(evidence.rows)
    assert list(listed[0]) == table.schema.names == [SOURCE, *(column.name for column in COLUMNS)]
    for line, cell in zip(listed, typed, strict=True):
        assert line[SOURCE] == cell[SOURCE]
        for column in COLUMNS:
            assert value_of(line[column.name], column.kind) == cell[column.name], column.name


def test_parquet_has_typed_columns_that_take_null(evidence: Evidence) -> None:
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    nothing = evidence.rows[0].model_copy(update={"usage": Usage()})
    table = parquet.read_table(io.BytesIO(sources_parquet([Cells("s", (nothing,))])))
    assert table.schema.field("input_tokens").type == arrow.int64()
    assert table.schema.field("measured_at").type == arrow.timestamp("us", tz="UTC")
    assert table.column("input_tokens").null_count == 1
    assert table.schema.field("cost_usd_micros").metadata == {b"says": b"millionths of a USD"}
    assert table.column("measured_at").to_pylist()[0].tzinfo is not None


def test_without_pyarrow_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.split(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EnvironmentFault, match="Parquet needs pyarrow") as caught:
        sources_parquet([])
    assert caught.value.hint and "evolve-skills[parquet]" in caught.value.hint


def test_unknown_is_empty_and_nothing_is_0(evidence: Evidence) -> None:
    zero = evidence.rows[0].model_copy(update={"usage": Usage(turns=0)})
    line = read(cells_csv([zero]))[0]
    assert (line["turns"], line["cost_usd_micros"], line["reused_from"]) == ("0", "", "")


def test_lines_end_and_quotes_double_as_rfc_4180_says(evidence: Evidence) -> None:
    data = cells_csv([evidence.rows[0].model_copy(update={"arm": 'a "b", c'})])
    assert data.count(b"\r\n") == 2 and data.endswith(b"\r\n") and b"\n" not in data.replace(b"\r\n", b"")
    assert data.split(b"\r\n")[1].startswith(b'"a ""b"", c",')


@pytest.mark.parametrize("sign", FORMULA)
def test_no_cell_begins_as_a_formula(sign: str) -> None:
    assert shown(f"{sign}1+1") == f"'{sign}1+1"
    assert shown(f"\x00\x1b{sign}1") == f"'{sign}1", "nor once control characters are gone"


@given(st.text())
def test_any_text_is_one_cell_that_is_no_formula(text: str) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerow([shown(text), "end"])
    found = list(csv.reader(io.StringIO(out.getvalue(), newline=""), strict=True))
    assert len(found) == 1 and found[0][1] == "end"
    assert not found[0][0].startswith(("=", "+", "-", "@", "\t", "\r"))


def test_times_are_utc() -> None:
    assert shown(datetime(2026, 3, 1, 12, tzinfo=UTC)) == "2026-03-01T12:00:00Z"


def test_the_documented_columns_are_the_true_ones() -> None:
    text = (ROOT / "docs/reports.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (text|integer|number|flag|time) \| (.*) \|$", text, re.MULTILINE)
    told = [(SOURCE, "text", SOURCE_SAYS), *((column.name, column.kind, column.says) for column in COLUMNS)]
    assert rows == told
