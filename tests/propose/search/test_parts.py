from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.propose.search import bandit, pareto
from evolve.propose.search.halving import affordable, kept, tasks_of_rung
from evolve.propose.search.pareto import draw, frontier
from evolve.records.search import OperatorState


@pytest.mark.parametrize(
    ("scores", "tokens", "weights"),
    [
        ([[1, 0], [0, 1]], [5, 5], {"a": 1, "b": 1}),
        ([[1, 1], [0, 1]], [5, 5], {"a": 2}),
        ([[1, 1], [1, 1]], [5, 4], {"b": 2}),
        ([[1, 1], [1, 1]], [4, 4], {"a": 2, "b": 2}),
        ([[1, 0.5], [1, 1]], [4, 9], {"a": 1, "b": 1}),
        ([[0.5, 0.5], [1, 0], [0, 1]], [1, 5, 5], {"b": 1, "c": 1}),
    ],
)
def test_the_frontier_holds_the_best_on_each_task_and_prefers_less_text(
    scores: list[list[float]], tokens: list[int], weights: dict[str, int]
) -> None:
    assert frontier("abc"[: len(scores)], np.array(scores, dtype=float), tokens) == weights


@given(st.lists(st.tuples(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=3), st.integers(0, 3))))
def test_nobody_on_the_frontier_is_beaten_everywhere_and_every_task_has_its_best(
    found: list[tuple[list[float], int]],
) -> None:
    if not found:
        return
    names = [str(number) for number in range(len(found))]
    scores = np.array([one[0] for one in found])
    tokens = [one[1] for one in found]
    on = frontier(names, scores, tokens)
    assert on
    for name in on:
        one = int(name)
        assert not any(
            all(scores[other] >= scores[one])
            and tokens[other] <= tokens[one]
            and (any(scores[other] > scores[one]) or tokens[other] < tokens[one])
            for other in range(len(found))
        )
    for task in range(3):
        assert max(scores[int(name)][task] for name in on) == scores[:, task].max()


def test_the_frontier_is_the_same_when_few_scores_are_compared_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(1).integers(0, 3, size=(30, 6)) / 2
    names, tokens = [str(number) for number in range(30)], [number % 4 for number in range(30)]
    wanted = frontier(names, scores, tokens)
    monkeypatch.setattr(pareto, "ROOM", 1)
    assert frontier(names, scores, tokens) == wanted


def test_parents_are_drawn_in_proportion_to_the_tasks_that_they_are_best_on() -> None:
    source = random.Random(1)
    counts = Counter(draw({"a": 3, "b": 1}, source.random()) for _ in range(4000))
    assert counts["a"] / 4000 == pytest.approx(0.75, abs=0.03)
    assert draw({"a": 1, "b": 1}, 0.9999999999999999) == "b"


def test_operators_are_asked_once_in_order_and_then_by_what_they_earned() -> None:
    states: tuple[OperatorState, ...] = (OperatorState(operator="a"), OperatorState(operator="b"))
    assert bandit.choose(states, lambda a, b: 0.0) == "a"
    states = bandit.asked(states, "a")
    assert bandit.choose(states, lambda a, b: 0.0) == "b"
    states = bandit.asked(states, "b")
    for _ in range(20):
        states = bandit.rewarded(bandit.refused(states, "a"), "b", 0.9)
    chosen = Counter(bandit.choose(states, random.Random(seed).betavariate) for seed in range(200))
    assert chosen["b"] > 190
    assert states[0].refused == 20
    assert states[1].earned == pytest.approx(18)


def test_an_operator_that_earned_nothing_is_still_asked_now_and_then() -> None:
    states = (OperatorState(operator="a", asked=3, missed=3), OperatorState(operator="b", asked=3, earned=1, missed=2))
    chosen = Counter(bandit.choose(states, random.Random(seed).betavariate) for seed in range(500))
    assert 20 < chosen["a"] < 250


def test_each_rung_halves_the_field_on_twice_the_tasks() -> None:
    assert [tasks_of_rung(3, rung) for rung in range(3)] == [3, 6, 12]
    assert [kept(field) for field in (9, 5, 3, 2, 1)] == [5, 3, 2, 1, 1]


@pytest.mark.parametrize(("left", "tasks"), [(None, 6), (100, 6), (23, 5), (4, 1), (3, 0)])
def test_no_more_is_measured_than_can_be_paid_for(left: int | None, tasks: int) -> None:
    assert affordable(left, 4, 6) == tasks
