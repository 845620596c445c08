"""Which candidates go on, and which may look at the sealed tasks."""

from __future__ import annotations

from typing import Any

import pytest

from evolve.generation.screen import Standing, Tally, cost_ratio, finalist
from evolve.records.row import Row, Usage
from tests.builders import make_identity, make_policy, make_row

CELLS = 20


def standing(
    arm: str, resolved: int, cost: float | None = None, *, size: int = 100, operator: str = "reflect"
) -> Standing:
    return Standing(arm, operator, size, Tally(resolved, CELLS), cost)


def chosen(standings: list[Standing], incumbent: int = 10, **policy: Any) -> str | None:
    best = finalist(standings, Tally(incumbent, CELLS), make_policy(**policy))
    return None if best is None else best.arm


QUALITY_THEN_COST = {"tie_break": "cost_usd"}
COST_FIRST = {"metric": "cost_usd", "noninferiority_margin": 0.1}


@pytest.mark.parametrize(
    ("standings", "policy", "expected"),
    [
        ([standing("a", 11), standing("b", 12)], {}, "b"),
        ([standing("a", 10), standing("b", 9)], {}, None),
        ([standing("a", 12, size=200), standing("b", 12, size=100)], {}, "b"),
        ([standing("a", 12, 0.2), standing("b", 12, 0.1, size=200)], {}, "a"),
        ([standing("a", 12, 0.9), standing("b", 12, 0.5)], QUALITY_THEN_COST, "b"),
        ([standing("a", 11, 3.0), standing("b", 10, 0.1)], QUALITY_THEN_COST, "a"),
        ([standing("a", 10, 0.9), standing("b", 10, 0.5)], QUALITY_THEN_COST, "b"),
        ([standing("a", 10, 1.0), standing("b", 10, None)], QUALITY_THEN_COST, None),
        ([standing("a", 9, 0.1)], QUALITY_THEN_COST, None),
        ([standing("a", 10, 0.9), standing("b", 8, 0.5)], COST_FIRST, "b"),
        ([standing("a", 10, 0.9), standing("b", 7, 0.1)], COST_FIRST, "a"),
        ([standing("a", 20, 1.1)], COST_FIRST, None),
        ([standing("a", 12, None)], COST_FIRST, None),
        ([standing("a", 10, 0.5), standing("b", 11, 0.5)], COST_FIRST, "b"),
    ],
)
def test_the_finalist_is_the_best_by_what_the_policy_puts_first(
    standings: list[Standing], policy: dict[str, Any], expected: str | None
) -> None:
    assert chosen(standings, **policy) == expected
    assert chosen(standings[::-1], **policy) == expected


def shown(arm: str, resolved: int, size: int, operator: str = "demonstrate") -> Standing:
    return standing(arm, resolved, size=size, operator=operator)


@pytest.mark.parametrize(
    ("standings", "expected"),
    [
        ([shown("three", 16, 300), shown("one", 15, 100)], "one"),
        ([shown("three", 16, 300), shown("one", 14, 100)], "three"),
        ([shown("three", 16, 300), shown("one", 16, 100)], "one"),
        ([shown("three", 16, 300), shown("one", 15, 280)], "three"),
        ([shown("three", 16, 300), shown("one", 15, 100), shown("other", 16, 900, "reflect")], "other"),
        ([shown("three", 16, 300, "lesson"), shown("one", 15, 100, "demonstrate")], "three"),
        ([shown("three", 16, 300), shown("none", 10, 1)], "three"),
    ],
)
def test_of_the_choices_of_one_operator_the_one_that_earns_most_for_its_text_stands_for_all(
    standings: list[Standing], expected: str
) -> None:
    assert chosen(standings) == expected
    assert chosen(standings[::-1]) == expected


def priced(task: str, arm: str, micros: int | None, *, run: int = 0, resolved: bool = True) -> Row:
    row = make_row(task, run, resolved=resolved, identity=make_identity(task, run, text=arm))
    return row.model_copy(update={"arm": arm, "usage": Usage(cost_usd_micros=micros)})


def test_the_cost_of_a_candidate_is_the_geometric_mean_of_its_tasks_ratios() -> None:
    rows = [priced("t-1", "incumbent", 100), priced("t-2", "incumbent", 400)]
    rows += [priced("t-1", "mine", 50), priced("t-2", "mine", 50), priced("t-1", "other", 1)]
    assert cost_ratio(rows, "mine", make_policy(metric="cost_usd")) == pytest.approx(0.25)
    assert cost_ratio(rows, "mine", make_policy(tie_break="cost_usd")) == pytest.approx(0.25)
    assert cost_ratio(rows, "mine", make_policy()) is None


def test_a_cost_that_is_not_known_everywhere_is_unknown() -> None:
    policy = make_policy(metric="cost_usd")
    rows = [priced("t-1", "incumbent", 100), priced("t-1", "mine", None)]
    assert cost_ratio(rows, "mine", policy) is None
    failed = [priced("t-1", "incumbent", 100, resolved=False), priced("t-1", "mine", 50)]
    assert cost_ratio(failed, "mine", policy) is None
