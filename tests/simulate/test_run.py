"""Simulated generations, and what rules of promotion do with them."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy
import pytest

from evolve.gate.early import cannot_fail, cannot_pass
from evolve.gate.inputs import GateInput
from evolve.simulate.accounts import year_of_looks
from evolve.simulate.rules import PROVEN, RULES, Rule, Sealed, Verdict, by_gate
from evolve.simulate.run import Characteristics, characteristics, measure, search
from evolve.simulate.show import HEADER, json_value, svg, table_rows
from evolve.simulate.worlds import WORLDS, Design, draw_truth

SMALL = Design(sealed_tasks=8, sealed_runs=2)


def of(world: str, rule: str, generations: int = 60, **design: int) -> Characteristics:
    return characteristics(WORLDS[world], [RULES[rule]], replace(Design(), **design), PROVEN, generations, 3)[0]


def test_the_same_seed_gives_the_same_figures_and_another_others() -> None:
    rules = list(RULES.values())
    first = characteristics(WORLDS["gain"], rules, SMALL, PROVEN, 20, 1)
    assert characteristics(WORLDS["gain"], rules, SMALL, PROVEN, 20, 1) == first
    assert characteristics(WORLDS["gain"], rules, SMALL, PROVEN, 20, 2) != first


def test_rules_are_held_against_the_same_outcomes_whoever_else_is_asked() -> None:
    together = characteristics(WORLDS["gain"], list(RULES.values()), SMALL, PROVEN, 15, 1)
    for one in together:
        assert characteristics(WORLDS["gain"], [RULES[one.rule]], SMALL, PROVEN, 15, 1) == [one]


def test_from_nothing_the_gate_promotes_hardly_ever_and_other_rules_do_often() -> None:
    assert of("null", "proven", 100).wrongly <= 3
    assert of("null", "argmax", 100).wrongly >= 35
    assert of("null", "strict-mean", 100).wrongly >= 15


def test_a_gain_of_25_points_is_found_and_reported_as_it_is() -> None:
    found = of("gain", "proven", 100)
    assert found.power is not None
    assert found.power.estimate >= 0.7
    assert found.bias is not None
    assert found.bias_error is not None
    assert abs(found.bias) < 4 * found.bias_error


def test_a_candidate_that_breaks_tasks_is_no_better_one_and_is_refused() -> None:
    proven, mean = of("regression", "proven", 80), of("regression", "strict-mean", 80)
    assert proven.power is None
    assert proven.wrongly <= 3
    assert mean.wrongly >= 25


def test_stopping_early_saves_cells_and_changes_few_verdicts() -> None:
    whole, stopped = of("null", "proven", 80), of("null", "proven-stop", 80)
    assert stopped.failed_cells_share is not None
    assert stopped.failed_cells_share < 0.7
    assert abs(whole.promoted - stopped.promoted) <= 2


def test_a_stop_is_at_the_first_prefix_that_decides() -> None:
    design = Design(sealed_tasks=10)
    policy = PROVEN.model_copy(update={"futility": 0.0})
    from evolve.simulate.rules import stopping

    for seed in range(6):
        rng = numpy.random.default_rng(seed)
        world = WORLDS["null"]
        sealed = measure(world, draw_truth(world, design, rng), 0, design, 0.03, rng)
        given = GateInput((), tuple(task.task for task in sealed.tasks), 3, policy, 0.03)
        first = None
        for blocks in range(30):
            runs = [sum(task == number for task, _ in sealed.order[:blocks]) for number in range(10)]
            tasks = tuple(task.first(count) for task, count in zip(sealed.tasks, runs, strict=True))
            if cannot_pass(given, tasks) or cannot_fail(given, tasks):
                first = 2 * blocks
                break
        verdict = stopping(policy)(sealed)
        assert verdict.cells == (first if first is not None else verdict.cells)
        assert verdict.cells <= 60 or verdict.promoted or first is None


def test_further_rounds_cost_cells_and_go_on_from_the_same_outcomes() -> None:
    rng = numpy.random.default_rng(1)
    world, design = WORLDS["gain"], Design()
    sealed = measure(world, draw_truth(world, design, rng), 0, design, 0.03, rng)
    three, six = sealed.more({"t0001": 3}), sealed.more({"t0001": 6})
    assert three[1].extra == six[1].extra[:3]
    assert three[0] == sealed.tasks[0]


def test_where_the_world_drifts_the_search_takes_it_for_a_gain_and_the_paired_gate_does_not() -> None:
    drifted, still = of("drift", "argmax", 80), of("null", "argmax", 80)
    assert drifted.wrongly > still.wrongly + 10
    assert of("drift", "proven", 80).wrongly <= 3


def test_repeated_runs_of_a_task_agree_more_often() -> None:
    rng = numpy.random.default_rng(1)
    rates = numpy.full(4000, 0.5)
    agree = [
        float((found[:, 0] == found[:, 1]).mean())
        for found in (WORLDS[name].outcomes(rates, 2, rng) for name in ("null", "correlated"))
    ]
    assert agree[0] == pytest.approx(0.5, abs=0.05)
    assert agree[1] == pytest.approx(0.85, abs=0.05)


def test_effects_that_differ_by_task_cancel_out() -> None:
    rng = numpy.random.default_rng(1)
    world = replace(WORLDS["heterogeneous"], base=(0.4, 0.6), spread=0.05)
    incumbent = world.incumbent(200, rng)
    candidate = world.candidate(incumbent, better=False, rng=rng)
    assert float((candidate - incumbent).mean()) == pytest.approx(0, abs=1e-12)
    assert float((candidate - incumbent).std()) == pytest.approx(0.05, abs=0.01)


def test_a_search_without_a_better_score_has_no_finalist() -> None:
    rng = numpy.random.default_rng(1)
    world = replace(WORLDS["null"], base=(1.0, 1.0))
    assert search(world, draw_truth(world, Design(), rng), PROVEN, rng) is None


def test_a_rule_sees_the_level_of_its_look() -> None:
    seen: list[float] = []

    def decide(sealed: Sealed) -> Verdict:
        seen.append(sealed.alpha)
        return Verdict(False, sealed.cells)

    for look in (1, 3):
        characteristics(WORLDS["gain"], [Rule("spy", "", decide)], SMALL, PROVEN, 5, 1, look)
    assert {round(alpha, 6) for alpha in seen} == {0.030396, 0.003377}


def test_a_year_of_null_looks_promotes_next_to_nothing_and_better_ones_are_found() -> None:
    design = Design()
    null = year_of_looks("inverse-square", PROVEN, design, 6, 1, looks=20)
    some = year_of_looks("lord", PROVEN, design, 6, 1, better_share=0.5, looks=20)
    assert null.with_false <= 1
    assert null.power is None
    assert some.power is not None
    assert some.power > 0.1
    assert some.false_share <= 0.1


def test_the_table_the_values_and_the_plot_show_every_rule() -> None:
    found = characteristics(WORLDS["gain"], list(RULES.values()), SMALL, PROVEN, 10, 1)
    rows = table_rows(found)
    assert [row[1] for row in rows] == list(RULES)
    assert all(len(row) == len(HEADER) for row in rows)
    assert [value["rule"] for value in json_value(found)] == list(RULES)
    plot = svg(found, 0.05)
    assert plot == svg(found, 0.05)
    assert "<script" not in plot
    root = ElementTree.fromstring(plot)
    texts = "".join(root.itertext())
    assert all(f"gain: {name}" in texts for name in RULES)


def test_the_gate_of_a_simulation_is_the_gate() -> None:
    rng = numpy.random.default_rng(4)
    world, design = WORLDS["gain"], Design()
    sealed = measure(world, draw_truth(world, design, rng), 0, design, 0.03, rng)
    verdict = by_gate(PROVEN)(sealed)
    assert verdict.cells >= sealed.cells == 144
