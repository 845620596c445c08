"""Where a sweep ends early: at the same cell, however it was run and however often it was interrupted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evolve.bench.runner import _Frontier, known_at

COUNT = 24


def books(open_cells: set[int]) -> Any:
    """Return the books of a sweep whose open cells have no row until they are taken out of the set."""
    cells = [SimpleNamespace(index=index, action="fresh") for index in range(COUNT)]

    def rows(folded: set[int] | None) -> list[int]:
        counted = range(COUNT) if folded is None else sorted(folded)
        return [index for index in counted if index not in open_cells]

    return SimpleNamespace(
        plan=SimpleNamespace(cells=cells),
        to_pay=lambda: [cell for cell in cells if cell.index in open_cells],
        reused=lambda _: False,
        rows=rows,
    )


def ends_at(open_cells: set[int], needed: int) -> int | None:
    """Fold what is open in plan order and return where enough is known."""
    left = set(open_cells)
    found = books(left)
    frontier = _Frontier(found, lambda rows: len(rows) >= needed)
    if not frontier.advance():
        for cell in found.to_pay():
            left.discard(cell.index)
            if frontier.advance(cell):
                break
    return frontier.stopped_at


@given(st.sets(st.integers(0, COUNT - 1)), st.integers(1, COUNT + 3))
def test_what_was_settled_out_of_order_before_a_kill_does_not_matter(open_cells: set[int], needed: int) -> None:
    calm = ends_at(set(range(COUNT)), needed)
    assert calm == (needed - 1 if needed < COUNT else None)
    assert ends_at(open_cells, needed) == calm


def test_without_an_end_all_cells_count() -> None:
    assert known_at(books(set()).plan, None) is None
    assert known_at(books(set()).plan, 2) == {0, 1, 2}
