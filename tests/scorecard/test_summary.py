"""What cards say together: by hand, and what holds of any cards."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.agents.transcript_events import Transcript
from evolve.records.kinds import ErrorKind
from evolve.scorecard.card import Card, Told, card_of
from evolve.scorecard.metrics import METRICS, Flag
from evolve.scorecard.spend import Paid
from evolve.scorecard.summary import Figure, Summary, summarise
from tests.scorecard.builders import arm_row, cell_of, turns_of, usage_of

WHOLE = Transcript(tuple(turns_of(1)))
ARM = ("s-1", "one")


def card(task: str, turns: int, calls: int, *, kind: ErrorKind | None = None, paid: Paid | None = None) -> Card:
    row = arm_row("one", task, kind=kind, usage=usage_of(turns=turns, tool_calls=calls))
    return card_of("s-1", cell_of(row), row, Told(transcript=WHOLE, writes=True, paid=paid))


CARDS = [card("task-1", 2, 8), card("task-1", 10, 10), card("task-2", 3, 3)]
CUT = card("task-2", 900, 1, kind=ErrorKind.AGENT_TIMEOUT)
VOID = card("task-1", 900, 1, kind=ErrorKind.INFRA_ERROR)


def whole(cards: list[Card], paid: Paid | None = None) -> Summary:
    return summarise(cards, {} if paid is None else {ARM: paid})[0]


def figures(summary: Summary, metric: str) -> dict[str, Figure]:
    return {figure.estimand: figure for figure in summary.figures if figure.metric == metric}


def test_means_and_medians_computed_by_hand() -> None:
    found = figures(whole(CARDS), "turns")
    # (2 + 10 + 3) / 3 = 5; the middle of 2, 3, 10 is 3
    assert found == {
        "mean over cells": Figure("turns", "mean over cells", "turns", 5, 3, 0, 0),
        "median over cells": Figure("turns", "median over cells", "turns", 3, 3, 0, 0),
    }


def test_the_ratio_of_sums_is_not_the_mean_of_ratios_and_each_is_labelled() -> None:
    found = figures(whole(CARDS), "tools_per_turn")
    # (8 + 10 + 3) / (2 + 10 + 3) = 1.4; (4 + 1 + 1) / 3 = 2; the middle of 1, 1, 4 is 1
    assert {name: figure.value for name, figure in found.items()} == {
        "ratio of sums": 21 / 15,
        "mean of ratios": 2,
        "median of ratios": 1,
    }
    assert {figure.unit for figure in found.values()} == {"calls a turn"}


def test_incomplete_cards_are_counted_and_in_no_average() -> None:
    summary = whole([*CARDS, CUT, VOID])
    assert (summary.cells, summary.complete, summary.flagged) == (5, 3, {Flag.CUT_OFF: 1, Flag.VOID: 1})
    for metric in ("turns", "tools_per_turn"):
        with_them, without = figures(summary, metric), figures(whole(CARDS), metric)
        assert [one.value for one in with_them.values()] == [one.value for one in without.values()]
        assert {(one.n, one.incomplete, one.null) for one in with_them.values()} == {(3, 2, 0)}


def test_what_a_complete_card_lacks_is_left_out_and_counted_apart() -> None:
    found = figures(whole([*CARDS, card("task-2", 0, 5), CUT]), "tools_per_turn")
    assert {(one.n, one.incomplete, one.null) for one in found.values()} == {(3, 1, 1)}
    assert found["ratio of sums"].value == 21 / 15, "calls without a turn are in neither sum"


def test_a_cell_that_was_cut_off_did_not_pass_and_a_void_one_says_nothing() -> None:
    (found,) = figures(whole([*CARDS, CUT, VOID]), "completed").values()
    # task-1 twice and task-2 once passed, one was cut off, the void one is no cell
    assert (found.value, found.n, found.incomplete) == (3 / 4, 4, 1)
    assert found.estimand == "passes / cells that are not void"


def test_a_cost_per_pass_counts_all_that_was_spent() -> None:
    # 3 passes for 0.9 USD, of which 0.5 were for a cell that was cut off and a void one
    (found,) = figures(whole([*CARDS, CUT, VOID], Paid(900_000, 6, 3)), "cost_per_pass_usd").values()
    assert (found.value, found.n, found.unit, found.estimand) == (0.9 / 3, 3, "USD", "all spend / passes")
    assert found.caveat is None


@pytest.mark.parametrize(
    ("paid", "value", "why"),
    [
        (Paid(), None, "not-paid-here"),
        (Paid(9, 2, 0), None, "no-pass"),
        (Paid(9, 2, 1, unknown=1), None, "cost-unknown"),
        (Paid(9, 2, 1), 9e-06, None),
        (Paid(0, 2, 1), 0, None),
    ],
)
def test_a_cost_per_pass_is_null_for_a_reason(paid: Paid, value: float | None, why: str | None) -> None:
    (found,) = figures(whole(CARDS, paid), "cost_per_pass_usd").values()
    assert (found.value, found.why) == (value, why)


def test_a_limit_of_cost_is_said_to_be_one() -> None:
    (found,) = figures(whole(CARDS, Paid(9, 2, 1, bounded=1)), "cost_per_pass_usd").values()
    assert found.caveat is not None and found.caveat.startswith("at most")


def test_each_task_has_a_summary_that_pays_for_its_own_cells() -> None:
    paid = Paid(50, 1, 1)
    cards = [card("task-2", 1, 1, paid=paid), card("task-1", 2, 8), card("task-2", 1, 1, paid=paid)]
    found = summarise(cards, {ARM: Paid(130, 3, 2)})
    assert [(one.task, one.cells) for one in found] == [(None, 3), ("task-1", 1), ("task-2", 2)]
    costs = [next(iter(figures(one, "cost_per_pass_usd").values())) for one in found]
    assert [(one.value, one.why) for one in costs] == [(65e-06, None), (None, "not-paid-here"), (50e-06, None)]


def test_without_a_complete_card_there_is_no_figure_and_a_reason() -> None:
    for figure in figures(whole([CUT]), "turns").values():
        assert (figure.value, figure.n, figure.why) == (None, 0, "no card is complete")
    for figure in figures(whole([card("task-1", 0, 1)]), "tools_per_turn").values():
        assert (figure.value, figure.why) == (None, "no complete card has it: nothing-to-divide-by")


PAIRS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30), st.sampled_from([None, ErrorKind.AGENT_TIMEOUT])),
    min_size=1,
    max_size=8,
)


@given(PAIRS, st.randoms(use_true_random=False))
def test_any_cards_average_as_fractions_do_in_any_order(
    pairs: list[tuple[int, int, ErrorKind | None]], order: random.Random
) -> None:
    cards = [card(f"task-{turns % 3}", turns, calls, kind=kind) for turns, calls, kind in pairs]
    shuffled = order.sample(cards, len(cards))
    assert whole(cards).figures == whole(shuffled).figures
    counted = [(calls, turns) for turns, calls, kind in pairs if kind is None and turns]
    found = figures(whole(cards), "tools_per_turn")
    if counted:
        ratios = [Fraction(calls, turns) for calls, turns in counted]
        sums = Fraction(sum(calls for calls, _ in counted), sum(turns for _, turns in counted))
        assert found["ratio of sums"].value == pytest.approx(float(sums))
        assert found["mean of ratios"].value == pytest.approx(float(sum(ratios) / len(ratios)))
    else:
        assert {one.value for one in found.values()} == {None}


def test_no_figure_travels_without_estimand_unit_and_n() -> None:
    for figure in whole([*CARDS, CUT]).figures:
        assert figure.estimand and figure.unit == METRICS[figure.metric].unit
        assert (figure.value is None) == (figure.why is not None)
        assert figure.value is None or figure.n > 0
