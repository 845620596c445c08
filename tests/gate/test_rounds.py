"""Deciding after whole rounds of runs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.gate.decide import GateInput, decide, extra_runs_wanted, is_decided
from evolve.records.row import Row
from tests.gate.made import (
    INSUFFICIENT,
    KEEP,
    PROMOTE,
    Cell,
    Task,
    blocking,
    codes,
    input_of,
    rows_of,
    task_rows,
)

WIN: tuple[bool, bool] = (False, True)
TIE: tuple[bool, bool] = (True, True)
LOSS: tuple[bool, bool] = (True, False)


def table_of(tasks: Sequence[Sequence[tuple[bool, bool]]]) -> list[Task]:
    """Return a table from the paired runs of each task: incumbent, candidate."""

    def side(runs: Sequence[tuple[bool, bool]], number: int) -> list[Cell]:
        return [(run[number], 10) for run in runs]

    return [(side(runs, 0), side(runs, 1)) for runs in tasks]


def given_of(table: Sequence[Task], **policy: Any) -> GateInput:
    return input_of(rows_of(table), len(table), **{"sequential": True, **policy})


def first_rounds(given: GateInput, rounds: int) -> GateInput:
    rows = tuple(row for row in given.rows if row.identity.run < rounds)
    return replace(given, rows=rows, stopped_early=rounds < given.runs)


def in_order(given: GateInput) -> list[Row]:
    return sorted(given.rows, key=lambda row: (row.identity.run, row.identity.task, row.role))


@pytest.mark.parametrize(("wins", "round_"), [(8, 1), (7, 1), (6, 2)])
def test_a_clear_win_is_promoted_after_the_first_round_that_proves_it(wins: int, round_: int) -> None:
    given = given_of(table_of([[WIN] * 3] * wins + [[TIE] * 3]), alpha=0.03)
    decision = decide(given)
    assert decision.outcome is PROMOTE
    assert codes(decision)["stopped-early"].numbers == {"rounds": round_, "planned": 3}
    assert {task.runs for task in decision.tasks} == {round_}
    assert decision.test is not None
    assert decision.test.name.endswith(f"round {round_} of 3")
    assert decision.test.alpha == pytest.approx(0.03 * round_ / 3, abs=2 ** -(wins + 1))
    assert not is_decided(first_rounds(given, round_ - 1))
    assert is_decided(first_rounds(given, round_))


paired = st.sampled_from([WIN, WIN, WIN, WIN, TIE, TIE, (False, False), LOSS])
histories = st.lists(st.lists(paired, min_size=3, max_size=3), min_size=6, max_size=9)


@settings(max_examples=120, deadline=None)
@given(histories, st.sampled_from([0.03, 0.2]), st.sampled_from([0.0, 0.1, 0.3]))
def test_where_a_sweep_stops_it_is_decided_as_all_rows_of_the_whole_sweep_decide_it(
    history: list[list[tuple[bool, bool]]], alpha: float, futility: float
) -> None:
    given = given_of(table_of(history), alpha=alpha, futility=futility, extra_runs=0)
    whole, rows = decide(given), in_order(given)
    for count in range(len(rows)):
        partial = replace(given, rows=tuple(rows[:count]), stopped_early=True)
        if is_decided(partial):
            stopped = decide(partial)
            assert stopped.outcome is whole.outcome
            assert stopped.outcome is not INSUFFICIENT
            if "best-case" not in " ".join(codes(stopped)):
                assert stopped.canonical() == whole.canonical()
            # Rows of cells that were on their way change nothing.
            for more in (1, 3, 6):
                later = decide(replace(partial, rows=tuple(rows[: count + more])))
                assert later.outcome is stopped.outcome
            return
        assert decide(partial).outcome is INSUFFICIENT
    assert whole.outcome is not INSUFFICIENT


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_over_all_sign_flips_the_rounds_promote_no_more_often_than_the_level_says(seed: int, alpha: float) -> None:
    """Arms that are exchanged in any of the tasks: of 2^7 such tables, at most alpha are promoted."""
    rng = random.Random(seed)
    history = [[rng.choice([WIN, WIN, TIE]) for _ in range(3)] for _ in range(7)]
    loose = {"min_improvement_pct": 0, "max_task_regression_pct": 100, "futility": 0, "noninferiority_margin": 1}
    promoted = 0
    for flips in itertools.product([False, True], repeat=7):
        flipped = [
            [(after, before) if flip else (before, after) for before, after in runs]
            for runs, flip in zip(history, flips, strict=True)
        ]
        decision = decide(given_of(table_of(flipped), alpha=alpha, **loose))
        # A lost task stands in the way of no test, and is no part of its level.
        promoted += not blocking(decision) - {"task-lost"}
    assert 0 < promoted <= alpha * 2**7


def test_what_is_futile_ends_it_and_is_kept() -> None:
    given = given_of(table_of([[TIE, WIN, WIN]] * 4 + [[LOSS, TIE, WIN]] * 4))
    assert is_decided(first_rounds(given, 1))
    for found in (given, first_rounds(given, 1)):
        decision = decide(found)
        assert decision.outcome is KEEP
        assert codes(decision)["futile"].numbers["rounds"] == 1
    open_ended = given_of(table_of([[TIE, WIN, WIN]] * 8), futility=0)
    assert not is_decided(first_rounds(open_ended, 1))
    assert decide(open_ended).outcome is PROMOTE


def test_harm_is_looked_at_after_the_round_that_decides() -> None:
    history = [[WIN] * 3] * 11 + [[LOSS, TIE, TIE]]
    given = given_of(table_of(history), max_task_regression_pct=50)
    assert not is_decided(first_rounds(given, 1))  # it proves a gain, and loses a task
    assert is_decided(first_rounds(given, 2))
    decision = decide(given)
    assert decision.outcome is PROMOTE
    assert codes(decision)["stopped-early"].numbers["rounds"] == 2
    late = given_of(table_of([[WIN] * 3] * 11 + [[TIE, LOSS, LOSS]]), max_task_regression_pct=50)
    assert decide(late).outcome is PROMOTE
    assert decide(late).tasks[11].runs == 1


def test_rounds_that_are_not_whole_decide_nothing() -> None:
    given = given_of(table_of([[WIN] * 3] * 8))
    rows = in_order(given)
    assert not is_decided(replace(given, rows=tuple(rows[:15])))
    assert is_decided(replace(given, rows=tuple(rows[:16])))
    decision = decide(replace(given, rows=tuple(rows[:15]), stopped_early=True))
    assert (decision.outcome, set(codes(decision))) == (INSUFFICIENT, {"stopped-too-early"})
    assert decide(replace(given, rows=tuple(rows[:47]))).outcome is INSUFFICIENT  # not said to be stopped


def test_after_the_last_round_a_task_that_noise_may_explain_is_measured_again() -> None:
    # The rounds prove it after the first; the paired test over all runs would not.
    turned = [WIN, LOSS, TIE]
    history = [[WIN] * 3] * 7 + [turned] * 4 + [[LOSS, TIE, TIE], [LOSS, TIE, TIE]]
    given = given_of(table_of(history), futility=0, alpha=0.2, max_task_regression_pct=20)
    decision = decide(given)
    assert (decision.outcome, blocking(decision)) == (INSUFFICIENT, {"needs-extra-runs"})
    assert extra_runs_wanted(given) == {"t-11": 3, "t-12": 3}
    extra = [row for task in ("t-11", "t-12") for row in task_rows(task, table_of([[WIN] * 3])[0], 3)]
    cleared = decide(replace(given, rows=(*given.rows, *extra)))
    assert cleared.outcome is PROMOTE
    assert (cleared.test, cleared.estimates) == (decision.test, decision.estimates)
    assert [task.extra_runs for task in cleared.tasks[11:]] == [3, 3]


def test_a_gain_that_a_round_proved_stays_proven_though_a_later_one_alone_would_not() -> None:
    history = [[WIN, LOSS, LOSS]] * 3 + [[WIN] * 3] * 7 + [[LOSS, WIN, WIN]]
    given = given_of(table_of(history), alpha=0.2, futility=0, max_task_regression_pct=100)
    decision = decide(given)
    assert decision.outcome is PROMOTE
    assert codes(decision)["stopped-early"].numbers["rounds"] == 2
    assert decision.test is not None
    assert decision.test.name.endswith("round 1 of 3")


def test_two_of_too_few_tasks_and_the_whole_sweep_without_gain() -> None:
    assert codes(decide(given_of(table_of([[WIN] * 3] * 4)))).keys() == {"too-few-tasks"}
    level = given_of(table_of([[TIE] * 3] * 8), futility=0)
    decision = decide(level)
    assert decision.outcome is KEEP
    assert "not-significant" in blocking(decision)
    assert {task.runs for task in decision.tasks} == {3}
