"""Group-sequential sign flips."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.stats.paired import sign_flip
from evolve.stats.rounds import MAX_ENUMERATED, conditional_power_of_rest, rounds_sign_flip


def rejects(rounds: list[list[float]], planned: int, alpha: float) -> bool:
    return rounds_sign_flip(rounds, planned, alpha)[-1].crossed


values = st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.0, 0.5])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 7).flatmap(
        lambda tasks: st.lists(st.lists(values, min_size=tasks, max_size=tasks), min_size=1, max_size=4)
    ),
    st.sampled_from([0.05, 0.1, 0.3, 0.5]),
    st.integers(0, 2),
)
def test_of_all_sign_flips_at_most_alpha_reject_in_any_round(
    rounds: list[list[float]], alpha: float, left: int
) -> None:
    planned, tasks = len(rounds) + left, len(rounds[0])
    rejected = 0
    for signs in itertools.product([-1, 1], repeat=tasks):
        flipped = [[sign * value for sign, value in zip(signs, found, strict=True)] for found in rounds]
        rejected += rejects(flipped, planned, alpha)
    assert rejected / 2**tasks <= alpha * len(rounds) / planned + 1e-12


def test_one_round_is_the_paired_test() -> None:
    rng = random.Random(3)
    for _ in range(50):
        found = [float(rng.randint(-3, 4)) for _ in range(rng.randint(1, 10))]
        test = rounds_sign_flip([found], 1, 0.05)[0]
        expected = sign_flip(found, "greater").p_value
        assert test.p_value == pytest.approx(expected)
        assert test.crossed == (math.floor(expected * 2 ** len(found) + 0.5) <= math.floor(0.05 * 2 ** len(found)))


def test_the_level_is_spent_in_equal_parts_and_what_was_spent_is_gone() -> None:
    found = rounds_sign_flip([[1.0] * 8, [1.0] * 8, [2.0] * 8], 3, 0.03)
    assert [test.round for test in found] == [1]
    assert (found[0].crossed, found[0].p_value, found[0].level) == (True, 1 / 256, 2 / 256)
    later = rounds_sign_flip([[1.0] * 7 + [-1.0], [2.0] * 7 + [-1.0]], 3, 0.03)
    assert [(test.round, test.crossed) for test in later] == [(1, False), (2, True)]
    assert (later[0].p_value, later[0].level) == (9 / 256, 2 / 256)
    # In round 1 one flip crossed, all eight: it counts no more in round 2, and of the 5 that may cross by then, 4 are left.
    assert (later[1].p_value, later[1].level) == (1 / 256, 4 / 256)


def test_it_ends_at_the_first_round_that_crosses() -> None:
    found = rounds_sign_flip([[0.0] * 8, [1.0] * 8, [-9.0] * 8], 3, 0.05)
    assert [(test.round, test.crossed) for test in found] == [(1, False), (2, True)]


def test_a_later_round_does_not_change_an_earlier_one() -> None:
    rng = random.Random(9)
    for tasks in (6, MAX_ENUMERATED + 2):
        rounds = [[float(rng.randint(-1, 2)) for _ in range(tasks)] for _ in range(3)]
        whole = rounds_sign_flip(rounds, 3, 0.05)
        for count in range(1, len(whole) + 1):
            assert rounds_sign_flip(rounds[:count], 3, 0.05) == whole[:count]


def test_beyond_the_enumerated_it_is_resampled_reproducibly_and_counts_what_was_observed() -> None:
    rounds = [[1.0] * (MAX_ENUMERATED + 6)]
    first, second = rounds_sign_flip(rounds, 2, 0.05), rounds_sign_flip(rounds, 2, 0.05)
    assert first == second
    assert not first[0].exact
    assert first[0].crossed
    assert first[0].p_value >= 1 / 100_001
    assert rounds_sign_flip([[1.0] * MAX_ENUMERATED], 2, 0.05)[0].exact


def test_a_level_below_every_flip_is_never_crossed() -> None:
    assert not rounds_sign_flip([[1.0] * 4], 1, 0.06)[0].crossed
    assert rounds_sign_flip([[1.0] * 4], 1, 0.0625)[0].crossed
    assert not rounds_sign_flip([[1.0] * 4], 2, 0.0625)[0].crossed


@pytest.mark.parametrize(
    ("rounds", "planned"), [([], 1), ([[]], 1), ([[1.0]] * 3, 2), ([[math.inf]], 1), ([[1.0], [math.nan]], 2)]
)
def test_what_is_no_table_of_rounds_is_refused(rounds: list[list[float]], planned: int) -> None:
    with pytest.raises(ValueError, match="needs|finite"):
        rounds_sign_flip(rounds, planned, 0.05)


def simulated(done: list[float], runs_left: int, effect: float, alpha: float) -> float:
    """Return how often the rest makes the paired test significant, each run a win, a tie or a loss."""
    rng, hits, trials = random.Random(4), 0, 400
    for _ in range(trials):
        sums = [value + sum(rng.random() < effect for _ in range(runs_left)) for value in done]
        hits += sign_flip(sums, "greater").p_value <= alpha
    return hits / trials


@pytest.mark.parametrize(
    ("done", "effect", "above"),
    # Few wins are not normal: there it is far above what happens, so that fewer sweeps are given up.
    [
        ([1.0] + [0.0] * 11, 0.2, 0.15),
        ([0.0] * 12, 0.3, 0.15),
        ([1.0] * 4 + [0.0] * 8, 0.1, 0.3),
        ([0.0] * 12, 0.1, 0.5),
    ],
)
def test_conditional_power_is_seldom_below_what_happens(done: list[float], effect: float, above: float) -> None:
    expected = simulated(done, 2, effect, 0.05)
    found = conditional_power_of_rest(done, effect * (1 - effect), 2, effect, 0.05)
    assert expected - 0.1 <= found <= expected + above


def test_conditional_power_grows_with_what_is_done_and_with_the_effect() -> None:
    powers = [conditional_power_of_rest([float(d)] + [0.0] * 9, 0.2, 2, 0.1, 0.05) for d in (-2, -1, 0, 1)]
    assert powers == sorted(powers)
    powers = [conditional_power_of_rest([0.0] * 10, 0.2, 2, effect, 0.05) for effect in (0, 0.1, 0.3, 0.6)]
    assert powers == sorted(powers)
    assert conditional_power_of_rest([0.0] * 10, 0.0, 2, 0.0, 0.05) == 0
    assert conditional_power_of_rest([1.0] * 10, 0.0, 2, 1.0, 0.05) == 1
