"""Scorecards that others wrote: a CSV file with a row a task, perhaps of several rounds."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evolve.compare.figures import METRICS, OTHER_NAMES, Price, Run, Side, contradiction, formulas, with_formulas
from evolve.errors import InputError
from evolve.records.base import read_text

TASK, ROUND, RUN = "task", "round", "run"
COMPLETE = "card_complete"
"""A column of cards that `evolve scorecard` wrote: whether the figures of a row may be averaged."""
MAX_BYTES = 4 * 1024 * 1024
MAX_TASKS = 2_500
MAX_COLUMNS = 200
MAX_NAME = 200
_LARGEST = 1e15
_SAVE = "save it as a plain CSV file: UTF-8, one header line, a row a task"
_NUMBER = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True)
class Line:
    """A row of a card: where it is, and its cells by column."""

    where: str
    cells: Mapping[str, str]


def split_name(what: str) -> tuple[Path, str | None]:
    """Return the file and the round of ``FILE`` or ``FILE#ROUND``; a file whose name holds a # is itself."""
    if "#" in what and not is_file(Path(what)):
        path, _, chosen = what.rpartition("#")
        return Path(path), chosen
    return Path(what), None


def read_scorecard(what: str, *, extra: Sequence[str] = (), price: Price | None = None) -> Side:
    """Read a round of a scorecard; what follows from other figures is computed, and said to be.

    The whole file is refused where any of its rows contradicts itself: nothing else in it deserves more trust.

    Args:
        what: ``FILE``, or ``FILE#ROUND`` for a file with several rounds.
        extra: Columns that are no metrics of ours and are to be read, too.
        price: Computes costs.

    Raises:
        InputError: The file is no such card; the message names file, line and column.

    """
    path, chosen = split_name(what)
    header, lines = _lines(path)
    columns = _metric_columns(path, header, extra)
    runs = [{name: _figure(line, column, name) for name, column in columns.items()} for line in lines]
    for line, run in zip(lines, runs, strict=True):
        if fault := contradiction(run):
            raise InputError(
                f"{line.where}: task {line.cells[TASK]}: {fault}",
                hint="the whole card is refused; correct it, or export it again",
                code="contradictory-card",
            )
    found = formulas(columns.keys(), price)
    name, kept = _chosen(path, header, lines, chosen)
    flagged = {index for index, line in enumerate(lines) if _is_incomplete(line)}
    runs = [_alone(run) if index in flagged else with_formulas(run, found) for index, run in enumerate(runs)]
    by_task = _by_task(lines, runs, kept)
    return Side(
        name=name,
        runs=by_task,
        columns=frozenset((*columns, *found)),
        computed={metric: formula.says for metric, formula in found.items()},
        notes=_notes(name, [lines[index].cells[TASK] for index in sorted(flagged & kept)]),
    )


def _is_incomplete(line: Line) -> bool:
    """Whether the card of a row is flagged incomplete."""
    text = line.cells.get(COMPLETE, "true").lower()
    if text not in ("true", "false"):
        raise InputError(
            f"{line.where}: {COMPLETE}: {text[:40]!r} is neither true nor false",
            hint="leave the column out where nothing is known of it",
            code="invalid-card",
        )
    return text == "false"


def _alone(run: Run) -> dict[str, float | None]:
    """Return what counts of an incomplete card: whether its cell passed, and no amount."""
    return {"completed": run.get("completed")}


def _notes(name: str, tasks: Sequence[str]) -> tuple[str, ...]:
    if not tasks:
        return ()
    told = ", ".join(f"{task} ({count})" for task, count in Counter(tasks).items())
    return (f"{name}: incomplete cards, of which no amount counts, so that their tasks have no figure: {told}",)


def is_file(path: Path) -> bool:
    """Whether a path is a file; what no path can be is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _lines(path: Path) -> tuple[list[str], list[Line]]:
    rows = _rows(path)
    try:
        number, header = next(rows)
    except StopIteration:
        raise InputError(f"{path}: the file is empty", hint=_SAVE, code="empty-file") from None
    header = [name.strip() for name in header]
    _check_header(f"{path}:{number}", header)
    lines = []
    for number, cells in rows:
        where = f"{path}:{number}"
        if len(cells) != len(header):
            raise InputError(
                f"{where}: {len(cells)} cells, where the header has {len(header)}", hint=_SAVE, code="ragged-card"
            )
        named = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        for column in (TASK, ROUND, RUN):
            _check_name(where, column, named.get(column))
        lines.append(Line(where, named))
    if not lines:
        raise InputError(f"{path}: no row below the header", hint=_SAVE, code="empty-file")
    return header, lines


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of every row that is not blank."""
    text = read_text(path, max_bytes=MAX_BYTES)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            if cells and any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: no CSV: {error}", hint=_SAVE, code="no-csv") from error


def _check_header(where: str, header: Sequence[str]) -> None:
    if len(header) > MAX_COLUMNS:
        raise InputError(f"{where}: {len(header)} columns, more than the {MAX_COLUMNS} allowed", code="too-large")
    for name in header:
        if not name:
            raise InputError(f"{where}: a column has no name", hint="name every column", code="invalid-header")
        if _CONTROL.search(name) or len(name) > MAX_NAME:
            raise InputError(
                f"{where}: column {name[:40]!r} holds control characters or is too long", code="invalid-header"
            )
        if header.count(name) > 1:
            raise InputError(f"{where}: two columns are named {name!r}", hint="keep one", code="duplicate-column")
    if TASK not in header:
        raise InputError(
            f"{where}: there is no column {TASK!r}", hint="each row names its task there", code="missing-column"
        )


def _check_name(where: str, column: str, value: str | None) -> None:
    if value is None:
        return
    if not value:
        raise InputError(f"{where}: {column}: is empty", hint="every row needs one", code="invalid-card")
    if _CONTROL.search(value) or len(value) > MAX_NAME:
        raise InputError(
            f"{where}: {column}: {value[:40]!r} holds control characters or is longer than {MAX_NAME}",
            hint="rename it",
            code="invalid-card",
        )


def _metric_columns(path: Path, header: Sequence[str], extra: Sequence[str]) -> dict[str, str]:
    """Return the column of each metric that a card holds."""
    found: dict[str, str] = {}
    for column in header:
        name = OTHER_NAMES.get(column, column)
        if name not in METRICS and name not in extra:
            continue
        if name in found:
            raise InputError(
                f"{path}: columns {found[name]!r} and {column!r} both hold {name}",
                hint="keep one of them",
                code="duplicate-column",
            )
        found[name] = column
    return found


def _figure(line: Line, column: str, name: str) -> float | None:
    """Return the figure of a cell; an empty one has none."""
    text = line.cells[column]
    if not text:
        return None
    remedy = "leave the cell empty where there is no figure" if name in METRICS else "choose a column of figures"
    problem = None
    value = float(text) if _NUMBER.fullmatch(text) else None
    if value is None:
        problem = f"{text[:40]!r} is no number"
    elif abs(value) > _LARGEST:
        problem = f"{text[:40]} is more than can be believed"
    elif value < 0 and name in METRICS:
        problem = f"{text[:40]} is below zero"
    elif name in METRICS and METRICS[name].kind == "rate" and value > 1:
        problem, remedy = f"{text[:40]} is more than 1", "give 1, 0, or a share of the runs"
    if problem is not None:
        raise InputError(f"{line.where}: {column}: {problem}", hint=remedy, code="invalid-figure")
    return value


def _chosen(path: Path, header: Sequence[str], lines: Sequence[Line], chosen: str | None) -> tuple[str, set[int]]:
    """Return the name of the chosen round and the indices of its rows."""
    if ROUND not in header:
        if chosen is not None:
            raise InputError(
                f"{path}: has no column {ROUND!r} to find {chosen!r} in",
                hint=f"leave #{chosen} out",
                code="missing-column",
            )
        return str(path), set(range(len(lines)))
    there = list(dict.fromkeys(line.cells[ROUND] for line in lines))
    listed = ", ".join(there[:20]) + (", …" if len(there) > 20 else "")
    if chosen is None and len(there) > 1:
        raise InputError(f"{path}: holds several rounds: {listed}", hint=f"choose one: {path}#{there[0]}", code="usage")
    one = there[0] if chosen is None else chosen
    if one not in there:
        raise InputError(f"{path}: has no round {one!r}", hint=f"rounds there: {listed}", code="no-round")
    return f"{path}#{one}", {index for index, line in enumerate(lines) if line.cells[ROUND] == one}


def _by_task(lines: Sequence[Line], runs: Sequence[Run], kept: set[int]) -> dict[str, list[Run]]:
    """Return the runs of each task; a task has one row, or one a run where the card has a column of runs."""
    first: dict[tuple[str | None, ...], str] = {}
    found: dict[str, list[Run]] = {}
    for index, (line, run) in enumerate(zip(lines, runs, strict=True)):
        key = tuple(line.cells.get(column) for column in (ROUND, TASK, RUN))
        if key in first:
            raise InputError(
                f"{line.where}: task {line.cells[TASK]}: is there already, at {first[key]}",
                hint=f"a row a task; a column {RUN!r} tells the runs of a task apart",
                code="duplicate-task",
            )
        first[key] = line.where
        if index in kept:
            found.setdefault(line.cells[TASK], []).append(run)
    if len(found) > MAX_TASKS:
        raise InputError(f"{lines[0].where}: {len(found)} tasks, more than the {MAX_TASKS} allowed", code="too-large")
    return found
