"""Rows as Parquet: typed columns, by pyarrow, which is an extra."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evolve.errors import EnvironmentFault
from evolve.report.cells import COLUMNS, SOURCE, SOURCE_SAYS, Cells

if TYPE_CHECKING:
    from types import ModuleType


def sources_parquet(sources: Sequence[Cells]) -> bytes:
    """Return the rows of several sources as one Parquet file; texts are as they were recorded.

    Raises:
        EnvironmentFault: pyarrow is not installed.

    """
    arrow = _arrow()
    import pyarrow.parquet

    schema = _schema(arrow)
    columns: dict[str, list[Any]] = {SOURCE: [one.source for one in sources for _ in one.rows]}
    for column in COLUMNS:
        columns[column.name] = [column.of(row) for one in sources for row in one.rows]
    file = io.BytesIO()
    pyarrow.parquet.write_table(arrow.table(columns, schema=schema), file)
    return file.getvalue()


def _schema(arrow: ModuleType) -> Any:
    types = {
        "text": arrow.string(),
        "integer": arrow.int64(),
        "number": arrow.float64(),
        "flag": arrow.bool_(),
        "time": arrow.timestamp("us", tz="UTC"),
    }
    says = [(SOURCE, "text", SOURCE_SAYS), *((one.name, one.kind, one.says) for one in COLUMNS)]
    return arrow.schema([arrow.field(name, types[kind], metadata={"says": text}) for name, kind, text in says])


def _arrow() -> ModuleType:
    try:
        import pyarrow
    except ImportError as error:
        raise EnvironmentFault(
            "Parquet needs pyarrow, which is not installed",
            hint="pip install 'evolve-skills[parquet]', or export --csv",
            code="no-pyarrow",
        ) from error
    module: ModuleType = pyarrow
    return module
