"""Stopping early: only where the rest could not change what is decided, or is not worth it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.gate.decide import GateInput, decide, is_decided
from evolve.records.kinds import ErrorKind, Role
from evolve.records.row import Row
from tests.gate.made import INSUFFICIENT, KEEP, PROMOTE, blocking, codes, counts, input_of, rows_of


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.identity.run, row.identity.task, row.role))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=6, max_size=9),
    st.sampled_from([{}, {"metric": "score"}, {"test": "mcnemar_exact"}, {"preset": "thresholds"}]),
)
def test_where_a_sweep_stops_its_rows_show_why(table: list[tuple[int, int]], policy: dict[str, Any]) -> None:
    whole = input_of(rows_of([counts(*task) for task in table]), len(table), **policy)
    rows = in_order(list(whole.rows))
    for count in range(len(rows)):
        partial = replace(whole, rows=tuple(rows[:count]), stopped_early=True)
        decision = decide(partial)
        if is_decided(partial):
            assert decision.outcome is not INSUFFICIENT
            assert "stopped-early" in codes(decision)
            if "futile" not in codes(decision):
                assert (decision.outcome is PROMOTE) == (decide(whole).outcome is PROMOTE)
            return
        assert set(codes(decision)) == {"stopped-too-early"}


def test_a_void_row_of_any_arm_leaves_it_open() -> None:
    rows = rows_of([counts(3, 0)] * 8)
    assert is_decided(input_of(rows, 8))
    for role in (Role.INCUMBENT, Role.CANDIDATE, Role.CONTROL):
        void = rows[0].model_copy(update={"kind": ErrorKind.INFRA_ERROR, "resolved": False, "role": role})
        assert not is_decided(input_of([*rows, void], 8))
    beside = rows[0].model_copy(
        update={"kind": ErrorKind.INFRA_ERROR, "resolved": False, "role": Role.COMPARATOR, "arm": "rival"}
    )
    assert is_decided(input_of([*rows, beside], 8))


def half_of(given: GateInput, runs: int) -> GateInput:
    return replace(given, rows=tuple(row for row in given.rows if row.identity.run < runs), stopped_early=True)


def test_what_is_futile_is_given_up_only_where_the_policy_says_so() -> None:
    table = [counts(2, 1)] * 3 + [counts(2, 2)] * 6
    stopped = half_of(input_of(rows_of(table), 9, extra_runs=0), 2)
    assert is_decided(stopped)
    assert blocking(decide(stopped)) == {"stopped-early", "futile"}
    assert decide(stopped).tasks[0].runs == 2
    assert not is_decided(half_of(input_of(rows_of(table), 9, extra_runs=0, futility=0), 2))


def test_a_tie_that_a_cost_may_break_leaves_it_open() -> None:
    tied = input_of(rows_of([counts(2, 2)] * 8), 8, tie_break="cost_usd")
    for count in range(0, 48, 5):
        assert not is_decided(replace(tied, rows=tied.rows[:count]))
    cheaper = [([(True, 10)] * 3, [(True, 5)] * 3)] * 8
    assert decide(input_of(rows_of(list(cheaper)), 8, tie_break="cost_usd")).outcome is PROMOTE
    unequal = input_of(rows_of([counts(2, 1), *[counts(2, 2)] * 7]), 8, tie_break="cost_usd", extra_runs=0)
    assert is_decided(replace(unequal, rows=unequal.rows[:6]))


def test_a_score_that_rises_while_less_is_resolved_is_not_promoted_early() -> None:
    def scored(row: Row, score: float) -> Row:
        assert row.oracle is not None
        return row.model_copy(update={"oracle": row.oracle.model_copy(update={"score": score})})

    rows = [scored(row, 0.0 if row.role is Role.INCUMBENT else 0.9) for row in rows_of([counts(2, 1)] * 8)]
    whole = input_of(rows, 8, metric="score")
    assert (decide(whole).outcome, blocking(decide(whole))) == (KEEP, {"quality-in-doubt"})
    assert not is_decided(half_of(whole, 2))
    assert decide(half_of(whole, 2)).outcome is INSUFFICIENT
    held = [scored(row, 0.0 if row.role is Role.INCUMBENT else 1.0) for row in rows_of([counts(0, 3)] * 8)]
    promoted = decide(half_of(input_of(held, 8, metric="score"), 2))
    assert promoted.outcome is PROMOTE
    assert "quality-held" in codes(promoted)


@pytest.mark.parametrize("metric", ["cost_usd", "output_tokens"])
def test_no_cost_is_given_up_early(metric: str) -> None:
    rows = rows_of([([(True, 10)] * 3, [(False, 999)] * 3)] * 8)
    for count in range(0, 48, 7):
        assert not is_decided(input_of(rows[:count], 8, metric=metric))
    stopped = replace(input_of(rows[:40], 8, metric=metric), stopped_early=True)
    assert set(codes(decide(stopped))) == {"stopped-too-early"}
