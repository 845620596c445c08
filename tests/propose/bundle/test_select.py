"""Which cells a proposer is shown."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.propose.bundle.select import MOST_CELLS, chosen_cells
from evolve.records.kinds import ErrorKind, Split
from evolve.records.row import Row, Usage
from tests.builders import make_row


def row_of(task: str, run: int = 0, *, failed: bool = False, void: bool = False, cost: int | None = None) -> Row:
    kind = ErrorKind.INFRA_ERROR if void else ErrorKind.ORACLE_FAILED if failed else None
    usage = Usage(cost_usd_micros=cost)
    return make_row(task, run, split=Split.TRAIN, kind=kind, usage=usage, oracle=None, verify=None)


def names(rows: tuple[Row, ...]) -> list[str]:
    return [f"{row.identity.task}{row.identity.run}" for row in rows]


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        ([], []),
        ([row_of("a", void=True)], []),
        ([row_of("a", cost=9), row_of("b", failed=True, cost=1)], ["b0", "a0"]),
        ([row_of("a", cost=1), row_of("b", cost=None), row_of("c", cost=2)], ["c0", "a0", "b0"]),
        ([row_of("a", cost=0), row_of("b", cost=None)], ["a0", "b0"]),
        (
            [*(row_of("a", n, failed=True, cost=9) for n in range(3)), row_of("b", failed=True)],
            ["a0", "b0", "a1", "a2"],
        ),
        # A task that was shown for its failure waits with its costly run until the others have been shown once.
        ([row_of("a", 0, failed=True), row_of("a", 1, cost=9), row_of("b", cost=1)], ["a0", "b0", "a1"]),
    ],
)
def test_failures_come_first_then_the_costliest_task_by_task(rows: list[Row], chosen: list[str]) -> None:
    assert names(chosen_cells(rows)) == chosen


def test_rows_of_unknown_cost_are_ordered_by_their_tokens() -> None:
    few, many = (
        make_row(name, split=Split.TRAIN, usage=Usage(input_tokens=n, output_tokens=1))
        for name, n in (("a", 10), ("b", 20))
    )
    unknown = make_row("c", split=Split.TRAIN, usage=Usage(input_tokens=99))
    assert names(chosen_cells([unknown, few, many])) == ["b0", "a0", "c0"]


ROWS = st.lists(
    st.builds(
        row_of,
        st.sampled_from("abcd"),
        st.integers(0, 30),
        failed=st.booleans(),
        void=st.booleans(),
        cost=st.none() | st.integers(0, 9),
    ),
    max_size=40,
)


@given(ROWS)
def test_the_choice_is_bounded_balanced_and_whole(rows: list[Row]) -> None:
    chosen = chosen_cells(rows)
    valid = [row for row in rows if not row.void]
    assert len(chosen) == min(MOST_CELLS, len(valid))
    assert not any(row.void for row in chosen)
    failed = [not row.resolved for row in chosen]
    assert failed == sorted(failed, reverse=True)
    assert sum(failed) == min(MOST_CELLS, sum(not row.resolved for row in valid))
    for wanted in (False, True):
        offered = Counter(row.identity.task for row in valid if row.resolved is wanted)
        taken = Counter(row.identity.task for row in chosen if row.resolved is wanted)
        total = Counter(row.identity.task for row in chosen)
        left = [task for task in offered if taken[task] < offered[task]]
        counts = taken if not wanted else total
        for task in left:
            assert all(counts[task] >= counts[other] - 1 for other in taken), "a task waits for one that has had more"
