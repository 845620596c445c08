"""What a look can prove, before it is begun."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from evolve.gate import planning
from evolve.gate.gain import smallest_p
from evolve.gate.planning import (
    GROWTH,
    MOST_TRIES,
    SEARCH_DRAWS,
    Design,
    SeenDesign,
    SimulatedPower,
    Spread,
    approximate_power,
    detectable_effect,
    least_tasks,
    simulated_power,
    smallest_designs,
    spread_of_runs,
    sufficient_designs,
)
from evolve.stats.intervals import wilson_interval
from evolve.stats.power import minimum_detectable_effect
from tests.builders import make_policy

ALPHA = 0.0304
# Nothing is left to the candidate's rate: its variance is that of the incumbent.
FLAT = Spread(share=0.0)
spreads = st.builds(
    Spread, rate=st.floats(0, 0.95), between=st.floats(0.001, 0.25), share=st.floats(0, 1), tasks=st.just(0)
)


def simulated(spread: Spread, effect: float = 0.25, *, tasks: int = 8, runs: int = 3, **more: Any) -> SimulatedPower:
    policy = make_policy(**more.pop("policy", {}))
    return simulated_power(spread, effect, tasks, runs, policy, more.pop("alpha", ALPHA), **more)


def test_without_rows_the_variances_are_those_of_equally_likely_rates() -> None:
    """A rate that is equally likely varies by 1/12; two that go together by 5/6 differ by 2 (1 - 5/6) / 12."""
    spread = Spread()
    assert spread.between == pytest.approx(2 * (1 - 5 / 6) / 12)
    assert spread.within(0) == pytest.approx(1 / 6)
    assert (spread.rate_from, spread.variance_from, spread.runs) == ("assumed", "assumed", 0)


@pytest.mark.parametrize(("tasks", "runs", "alpha"), [(12, 3, 0.0304), (30, 1, 0.0304), (20, 10, 0.001)])
def test_the_detectable_effect_solves_the_sign_flip_tests_equation_where_the_variance_is_fixed(
    tasks: int, runs: int, alpha: float
) -> None:
    """Of s sqrt(n) = w + z sqrt(1 + s^2), squared, with z and w of the level and the power; the deviation is 1/6."""
    z, w = float(norm.isf(alpha)), float(norm.ppf(0.8))
    scaled = (w * math.sqrt(tasks) + z * math.sqrt(tasks + w**2 - z**2)) / (tasks - z**2)
    assert detectable_effect(FLAT, tasks, runs, alpha, 0.8) == pytest.approx(scaled / 6, abs=1e-6)


def test_the_detectable_effect_is_that_of_miller_for_very_many_tasks() -> None:
    """A small effect adds next to nothing to the differences' mean square."""
    found = detectable_effect(FLAT, 100_000, 3, ALPHA, 0.8)
    expected = minimum_detectable_effect(
        100_000, 3, alpha=ALPHA, between_variance=1 / 36, within_variance=0, one_sided=True
    )
    assert found == pytest.approx(expected.effect, rel=1e-4)


def test_where_a_win_on_every_task_just_reaches_a_tiny_level_the_power_is_held() -> None:
    """2^-20 < 1e-6, but z = 4.75 > sqrt(20): beyond s^2 = n / (z^2 - n) the formula would fall; Phi(-sqrt(z^2 - n))."""
    limit = float(norm.cdf(-math.sqrt(float(norm.isf(1e-6)) ** 2 - 20)))
    for between in (1e-4, 1e-6):
        assert approximate_power(Spread(between=between, share=0.0), 0.5, 20, 1, 1e-6) == pytest.approx(limit)
    assert approximate_power(Spread(between=0.25, share=0.0), 0.1, 20, 1, 1e-6) < limit / 2


def test_runs_within_a_task_count_for_both_arms() -> None:
    """The candidate at 0.75 varies less than the incumbent at 0.5: (0.25 + 0.1875) / 2 a run, of which 2/3."""
    variance = 1 / 36 + 2 * (2 / 3 * (0.25 + 0.1875) / 2) / 3
    needed = 1.8751 * math.sqrt(variance + 0.25**2)
    expected = 0.5 * math.erfc((needed - 0.25 * math.sqrt(12)) / math.sqrt(2 * variance))
    assert approximate_power(Spread(), 0.25, 12, 3, ALPHA) == pytest.approx(expected, abs=1e-4)


@given(spreads, st.floats(0, 1), st.integers(6, 60), st.integers(1, 20), st.floats(1e-6, 0.2))
@settings(deadline=None)
def test_more_tasks_more_runs_and_more_level_never_lower_the_power(
    spread: Spread, share: float, tasks: int, runs: int, alpha: float
) -> None:
    effect = share * spread.room
    power = approximate_power(spread, effect, tasks, runs, alpha)
    assert 0 <= power <= 1
    for more in (
        approximate_power(spread, effect, tasks + 1, runs, alpha),
        approximate_power(spread, effect, tasks, runs + 1, alpha),
        approximate_power(spread, effect, tasks, runs, 1.5 * alpha),
    ):
        assert more >= power - 1e-12


@given(spreads, st.integers(1, 40), st.integers(1, 10), st.floats(1e-6, 0.2), st.floats(0.3, 0.95))
@settings(deadline=None)
def test_a_detectable_effect_has_the_power_and_a_smaller_one_has_not(
    spread: Spread, tasks: int, runs: int, alpha: float, power: float
) -> None:
    found = detectable_effect(spread, tasks, runs, alpha, power)
    if found is None:
        assert approximate_power(spread, spread.room, tasks, runs, alpha) < power
        return
    assert 0 < found <= spread.room
    assert approximate_power(spread, found, tasks, runs, alpha) >= power
    assert found < 1e-6 or approximate_power(spread, 0.99 * found, tasks, runs, alpha) < power


def test_too_few_tasks_have_no_power_however_large_the_effect() -> None:
    assert approximate_power(Spread(0.0), 1.0, 5, 100, ALPHA) == 0
    assert approximate_power(Spread(0.0), 1.0, 6, 100, ALPHA) > 0.9
    assert detectable_effect(Spread(), 5, 100, ALPHA, 0.5) is None
    assert detectable_effect(Spread(1.0), 50, 100, ALPHA, 0.5) is None


def test_nothing_that_varies_is_always_seen() -> None:
    assert approximate_power(Spread(0.0, between=0.0, share=0.0), 0.1, 6, 1, ALPHA) == 1


def test_the_tiniest_level_has_a_power_too() -> None:
    assert 0 <= approximate_power(Spread(), 0.5, 1100, 3, 1e-320) <= 1


@pytest.mark.parametrize(
    ("effect", "tasks", "runs", "alpha"),
    [
        (0.6, 6, 1, 0.05),
        (-0.1, 6, 1, 0.05),
        (math.nan, 6, 1, 0.05),
        (0.1, 0, 1, 0.05),
        (0.1, 6, 0, 0.05),
        (0.1, 6, 1, 0),
    ],
)
def test_what_cannot_be_is_refused(effect: float, tasks: int, runs: int, alpha: float) -> None:
    with pytest.raises(ValueError):
        approximate_power(Spread(), effect, tasks, runs, alpha)
    with pytest.raises(ValueError):
        simulated_power(Spread(), effect, tasks, runs, make_policy(), alpha)


def test_a_cost_is_not_simulated() -> None:
    with pytest.raises(ValueError, match="quality"):
        simulated(Spread(), policy={"metric": "cost_usd"})
    with pytest.raises(ValueError, match="draw"):
        simulated(Spread(), draws=0)


@pytest.mark.parametrize(("alpha", "tasks"), [(0.0304, 6), (0.05, 5), (2**-6, 6), (2**-6 - 1e-12, 7), (0.9, 1)])
def test_the_least_tasks_of_a_level(alpha: float, tasks: int) -> None:
    assert least_tasks(alpha) == tasks


@given(st.floats(1e-300, 1, exclude_max=True))
def test_one_task_fewer_never_reaches_the_level(alpha: float) -> None:
    tasks = least_tasks(alpha)
    assert smallest_p(tasks) <= alpha
    assert tasks == 1 or smallest_p(tasks - 1) > alpha


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, math.nan])
def test_there_is_no_level_outside_of_0_and_1(alpha: float) -> None:
    with pytest.raises(ValueError):
        least_tasks(alpha)


def test_the_smallest_sweeps_have_the_power_and_come_cheapest_first() -> None:
    found = smallest_designs(Spread(), 0.25, (10, 3, 1, 3), ALPHA, 0.8)
    assert sorted(design.runs for design in found) == [1, 3, 10]
    assert [design.cells for design in found] == sorted(design.cells for design in found)
    for design in found:
        assert design.cells == 2 * design.tasks * design.runs
        assert design.power == approximate_power(Spread(), 0.25, design.tasks, design.runs, ALPHA) >= 0.8
        assert approximate_power(Spread(), 0.25, design.tasks - 1, design.runs, ALPHA) < 0.8


def test_the_smallest_sweep_is_large_enough_for_the_exact_test() -> None:
    assert smallest_designs(Spread(0.0, between=0.0, share=0.0), 1.0, (1,), ALPHA, 0.8) == (Design(6, 1, 1.0),)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, int], float]:
    """Let the power be what a test says of tasks and runs, and 0 of others; in order of what was tried."""
    powers: dict[tuple[int, int], float] = {}

    def seen(
        spread: Spread, effect: float, tasks: int, runs: int, policy: Any, alpha: float, *, draws: int
    ) -> SimulatedPower:
        assert draws == SEARCH_DRAWS
        power = powers.pop((tasks, runs), 0.0)
        powers[tasks, runs] = power
        return SimulatedPower(power, 0.0, 1.0, 0.95, 0, 0, draws, effect, tasks, runs, alpha, 0)

    monkeypatch.setattr(planning, "simulated_power", seen)
    return powers


def sufficient(*runs: int, most_cells: int = 10**9, spread: Spread = FLAT) -> tuple[SeenDesign, ...]:
    return sufficient_designs(spread, 0.25, runs, make_policy(), ALPHA, 0.8, most_cells=most_cells)


def upwards(runs: int) -> list[int]:
    """Return the numbers of tasks that are to be tried: each a quarter more than the last, rounded up."""
    (first,) = smallest_designs(FLAT, 0.25, (runs,), ALPHA, 0.8)
    found = [first.tasks]
    while len(found) < 7:
        found.append(-(-5 * found[-1] // 4))
    return found


def test_the_first_sweep_that_is_enough_is_taken(tried: dict[tuple[int, int], float]) -> None:
    tasks = upwards(3)
    tried.update({(tasks[1], 3): 0.79, (tasks[2], 3): 0.8, (tasks[3], 3): 0.99})
    (found,) = sufficient(3)
    assert (found.design.tasks, found.design.runs, found.enough, found.simulated.power) == (tasks[2], 3, True, 0.8)
    assert found.design.power == approximate_power(FLAT, 0.25, tasks[2], 3, ALPHA)
    assert list(tried) == [(tasks[3], 3), *((count, 3) for count in tasks[:3])]
    assert GROWTH == 1.25


def test_where_none_is_enough_the_best_is_taken_and_said_not_to_be(tried: dict[tuple[int, int], float]) -> None:
    tasks = upwards(3)
    tried.update({(tasks[2], 3): 0.7, (tasks[4], 3): 0.6, (tasks[6], 3): 0.9})
    (found,) = sufficient(3)
    assert (found.design.tasks, found.enough, found.simulated.power) == (tasks[2], False, 0.7)
    assert MOST_TRIES == 6 and list(tried) == [(tasks[6], 3), *((count, 3) for count in tasks[:6])]


def test_no_larger_sweep_than_is_allowed_is_tried(tried: dict[tuple[int, int], float]) -> None:
    tasks = upwards(3)
    (found,) = sufficient(3, most_cells=6 * tasks[1])
    assert (list(tried), found.enough) == ([(tasks[0], 3), (tasks[1], 3)], False)
    tried.clear()
    assert sufficient(3, most_cells=6 * tasks[0] - 1) == ()
    assert not tried


def test_what_is_enough_comes_first_and_then_what_is_cheaper(tried: dict[tuple[int, int], float]) -> None:
    """Without a variance within tasks so many tasks are needed whatever the runs: cells grow with them."""
    tasks = upwards(1)
    tried.update({(tasks[0], 5): 0.9, (tasks[0], 3): 0.9, (tasks[0], 1): 0.7})
    assert [(one.design.runs, one.enough) for one in sufficient(5, 1, 3)] == [(3, True), (5, True), (1, False)]


def test_a_sufficient_sweep_is_seen_by_the_gate_itself() -> None:
    (found,) = sufficient_designs(Spread(), 0.45, (5,), make_policy(), ALPHA, 0.8, most_cells=600)
    again = simulated(Spread(), 0.45, tasks=found.design.tasks, runs=5, draws=SEARCH_DRAWS)
    assert found.enough and found.simulated == again and again.power >= 0.8


def test_no_sweep_proves_next_to_nothing() -> None:
    assert smallest_designs(Spread(), 1e-6, (1, 3), ALPHA, 0.8) == ()


def test_the_spread_of_runs_is_by_moments() -> None:
    """Rates 1, 0 and 1/2 of two runs: a mean square between of 1/2, within of 1/6; so (1/2 - 1/6) / 2 between."""
    found = spread_of_runs({"a": [True, True], "b": [False, False], "c": [True, False]})
    assert (found.rate, found.tasks, found.runs) == (0.5, 3, 6)
    assert found.between == pytest.approx(2 * (1 - 5 / 6) * (1 / 6))
    assert found.within(0) == pytest.approx(1 / 6)
    assert (found.rate_from, found.variance_from) == ("measured", "measured")


def test_a_task_counts_once_however_many_runs_it_has() -> None:
    assert spread_of_runs({"a": [True] * 9, "b": [False]}).rate == 0.5


@pytest.mark.parametrize(
    "runs",
    [
        {"a": [False, False], "b": [False]},
        {"a": [True, True], "b": [True]},
        {"a": [True, False]},
        {"a": [True], "b": [False]},
    ],
    ids=["floor", "ceiling", "one-task", "one-run"],
)
def test_what_says_nothing_of_the_variances_is_assumed(runs: dict[str, list[bool]]) -> None:
    found = spread_of_runs(runs)
    assert found.variance_from == "assumed"
    assert (found.between, found.share) == (Spread().between, Spread().share)
    assert found.rate_from == "measured"


def test_an_incumbent_that_fails_always_leaves_an_effect_of_some_size_to_detect() -> None:
    """Its own variance is 0; were it taken for that of the differences, any effect would seem certain to be found."""
    found = detectable_effect(spread_of_runs({"a": [False] * 3, "b": [False] * 3}), 12, 3, ALPHA, 0.8)
    assert found is not None and found > 0.2


@given(st.dictionaries(st.text(min_size=1), st.lists(st.booleans(), min_size=1, max_size=6), min_size=1, max_size=8))
def test_every_spread_of_runs_is_one_to_plan_with(runs: dict[str, list[bool]]) -> None:
    found = spread_of_runs(runs)
    assert 0 <= found.rate <= 1
    assert 0 <= found.between <= 2 * (1 - 5 / 6) / 4 + 1e-9
    assert 0 <= found.share <= 1
    assert 0 <= approximate_power(found, found.room / 2, 8, 3, ALPHA) <= 1


def test_the_simulation_is_seeded_and_says_what_it_is_of() -> None:
    found = simulated(Spread(), draws=60)
    assert found == simulated(Spread(), draws=60)
    assert len({simulated(Spread(), draws=60, seed=seed).gained for seed in range(4)}) > 1
    assert found.power == found.promoted / 60
    interval = wilson_interval(found.promoted, 60)
    assert (found.low, found.high, found.confidence) == (interval.low, interval.high, 0.95)
    assert 0 <= found.low <= found.power <= found.high <= 1
    assert (found.draws, found.tasks, found.runs, found.alpha, found.effect) == (60, 8, 3, ALPHA, 0.25)
    assert found.promoted <= found.gained


def test_a_certain_gain_is_always_promoted_and_none_hardly_ever() -> None:
    assert simulated(Spread(0.0), 1.0, draws=30).power == 1
    still = simulated(Spread(0.5, between=0.0), 0.0, draws=200, alpha=0.05)
    assert still.gained / still.draws <= 0.1


def test_the_simulation_is_of_the_exact_test() -> None:
    assert simulated(Spread(0.0), 1.0, tasks=5, draws=30).power == 0


def test_harm_to_single_tasks_stops_what_the_gain_alone_would_promote() -> None:
    """Of many tasks whose differences vary some are really worse, which the approximation does not know."""
    found = simulated(Spread(), 0.15, tasks=48, draws=100)
    assert found.promoted <= found.gained - 20
    assert found.high == wilson_interval(found.promoted, 100).high
    lenient = simulated(Spread(), 0.15, tasks=48, draws=100, policy={"max_task_regression_pct": 1000})
    assert lenient.gained == found.gained and lenient.promoted > found.promoted


def test_a_regression_that_is_noise_is_measured_again() -> None:
    """With equal tasks every regression is noise: extra runs clear what would else block."""
    spread = Spread(0.4, between=0.0)
    assert simulated(spread, 0.4, tasks=12, draws=100).power > 0.8
    without = simulated(spread, 0.4, tasks=12, draws=100, policy={"extra_runs": 0})
    assert without.power < simulated(spread, 0.4, tasks=12, draws=100).power


def test_the_preset_thresholds_asks_for_no_test() -> None:
    found = simulated(Spread(0.3, between=0.0), 0.4, tasks=4, draws=50, policy={"preset": "thresholds"})
    assert found.power > 0


def test_rounds_are_simulated_as_they_are_decided() -> None:
    found = simulated(Spread(0.0, between=0.0), 0.9, draws=30, policy={"sequential": "rounds"})
    assert found.power > 0.9
    futile = simulated(Spread(), 0.25, draws=60, policy={"sequential": "rounds", "futility": 0.99})
    assert futile.power < simulated(Spread(), 0.25, draws=60, policy={"sequential": "rounds", "futility": 0}).power


def test_the_approximation_is_near_for_many_tasks_and_a_small_effect() -> None:
    """Harm left out, and where the effect adds little to the differences' mean square."""
    spread = Spread(0.4, between=0.0, share=1.0)
    found = simulated(spread, 0.07, tasks=200, draws=300, policy={"max_task_regression_pct": 1000, "extra_runs": 0})
    assert found.gained / 300 == pytest.approx(approximate_power(spread, 0.07, 200, 3, ALPHA), abs=0.1)


@pytest.mark.parametrize("alpha", [0.0304, 0.0076])
@pytest.mark.parametrize(
    ("effect", "tasks", "runs"), [(0.1, 24, 3), (0.1, 40, 5), (0.25, 24, 3), (0.25, 24, 5), (0.4, 24, 3)]
)
def test_the_approximation_is_near_the_gate_without_harm(effect: float, tasks: int, runs: int, alpha: float) -> None:
    lenient = {"max_task_regression_pct": 1000, "extra_runs": 0}
    found = simulated(Spread(), effect, tasks=tasks, runs=runs, alpha=alpha, policy=lenient, draws=1000)
    assert approximate_power(Spread(), effect, tasks, runs, alpha) == pytest.approx(found.power, abs=0.06)


@pytest.mark.parametrize(("tasks", "excess"), [(8, 0.23), (12, 0.12)])
def test_of_few_tasks_the_approximation_is_too_high(tasks: int, excess: float) -> None:
    """Few sums are possible of few tasks, and the sign-flip test counts ties against the candidate."""
    lenient = {"max_task_regression_pct": 1000, "extra_runs": 0}
    found = simulated(Spread(), tasks=tasks, policy=lenient)
    assert approximate_power(Spread(), 0.25, tasks, 3, ALPHA) - found.power == pytest.approx(excess, abs=0.06)


def test_the_simulated_rates_have_the_mean_that_is_asked_for() -> None:
    from numpy.random import default_rng

    from evolve.gate.planning import _rates

    before, after = _rates(default_rng(0), Spread(0.3), 0.2, (4000, 5))
    assert float(before.mean()) == pytest.approx(0.3, abs=0.01)
    assert float(after.mean()) == pytest.approx(0.5, abs=0.01)


def test_the_simulated_rates_go_together() -> None:
    """Uniform rates whose normal scores go together by 5/6 do so by 6/pi asin(5/12) themselves (Pearson 1907)."""
    from numpy.random import default_rng

    from evolve.gate.planning import _rates

    before, after = _rates(default_rng(0), Spread(), 0.0, (8000, 5))
    assert float(before.var()) == pytest.approx(1 / 12, rel=0.03)
    expected = 2 * (1 - 6 / math.pi * math.asin(5 / 12)) / 12
    assert float((after - before).var()) == pytest.approx(expected, rel=0.03)
    assert expected == pytest.approx(Spread().between, rel=0.1)


def test_of_very_large_sweeps_fewer_are_drawn() -> None:
    assert simulated(Spread(), tasks=100, runs=500, policy={"extra_runs": 0}, draws=400).draws == 20


def test_within_knows_the_candidates_rate() -> None:
    spread = replace(Spread(), share=1.0)
    assert spread.within(0.5) == pytest.approx(0.125)
    assert spread.within(0.0) == pytest.approx(0.25)
