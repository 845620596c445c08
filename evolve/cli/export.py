"""``evolve export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evolve.cli.opening import here
from evolve.cli.output import emit_bytes, json_option
from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.report.cells import Cells
    from evolve.workspace import Workspace


@click.command("export", short_help="Export the cells of sweeps and promotions as one table: CSV, JSON or Parquet.")
@click.argument("sources", nargs=-1, required=True, metavar="(SWEEP | PROMOTION)...")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values, on standard output by default.")
@click.option("--parquet", "as_parquet", is_flag=True, help="Parquet with typed columns; needs --output and pyarrow.")
@json_option
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it to a file.")
def command(sources: tuple[str, ...], as_csv: bool, as_parquet: bool, as_json: bool, output: Path | None) -> None:
    """Export the cells of sweeps and promotions as one table: CSV, JSON or Parquet.

    A row is a cell. The column `source` says where a row is from; the others are those of `evolve report --csv`.

    Example: evolve export SWEEP promotion/SKILL/OVERLAY --parquet --output cells.parquet
    """
    from evolve.report.cells import sources_csv, sources_json
    from evolve.report.parquet import sources_parquet

    if sum((as_csv, as_parquet, as_json)) != 1:
        raise InputError("give one of --csv, --parquet and --json", hint="evolve export --help", code="usage")
    if as_parquet and output is None:
        raise InputError("--parquet is no text: say where to write it", hint="--output cells.parquet", code="usage")
    tables = _tables(here(), sources)
    table = sources_parquet if as_parquet else sources_json if as_json else sources_csv
    emit_bytes(table(tables), output)


def _tables(workspace: Workspace, names: tuple[str, ...]) -> list[Cells]:
    from evolve.cli.sources import found, rows_of
    from evolve.report.cells import Cells

    tables: dict[Path, Cells] = {}
    for name in names:
        source = found(workspace, name)
        if source.kind == "generation":
            text = f"{name}: a generation; name its sweeps or its evidence"
            raise InputError(text, hint=f"evolve report {name}", code="usage")
        if source.folder in tables:
            raise InputError(f"{name}: named twice, its cells would count twice", hint="name it once", code="usage")
        tables[source.folder] = Cells(_name(workspace, source.folder), rows_of(workspace, source))
    return list(tables.values())


def _name(workspace: Workspace, folder: Path) -> str:
    """Return the id of a sweep, and the path of evidence."""
    if folder.parent == workspace.sweeps:
        return folder.name
    root = workspace.root.resolve()
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else folder.as_posix()
