"""Drawers: as many as a page can hold, and no more is read than that."""

from __future__ import annotations

from evolve.records.row import Row
from evolve.report.cell.kept import Kept
from evolve.report.cell.view import CellView, cell_view
from evolve.report.page.drawers import MOST_MISSES, drawers_of
from tests.builders import make_row


def test_once_a_page_is_full_nothing_more_is_read() -> None:
    rows = [make_row(run=number, resolved=False) for number in range(500)]
    asked = []

    def view(row: Row) -> CellView:
        asked.append(row)
        return cell_view(row, Kept(reply="x" * 10_000))

    found = drawers_of(rows, view, most_bytes=50_000)
    assert len(found.drawers) + found.left_out == len(rows)
    assert 0 < len(found.drawers) <= 5 and set(found.hrefs.values()) == {"#cell-1", "#cell-2", "#cell-3"}
    assert len(asked) == len(found.drawers) + MOST_MISSES


def test_a_smaller_one_behind_a_large_one_has_its_place() -> None:
    rows = [make_row(run=number, resolved=False) for number in range(3)]
    found = drawers_of(
        rows, lambda row: cell_view(row, Kept(reply="x" * (90_000 if row.identity.run == 1 else 1))), most_bytes=50_000
    )
    assert (len(found.drawers), found.left_out) == (2, 1)
