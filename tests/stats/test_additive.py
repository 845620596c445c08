from __future__ import annotations

import random

import numpy as np
import pytest

from evolve.stats.additive import AdditiveModel, CellScore, Spreads

SPREADS = Spreads(noise=0.4, effect=0.1, task=0.2, batch=0.05, intercept=0.5)
BATCHES = [
    [CellScore("t1", (), 0.0), CellScore("t1", ("a",), 1.0), CellScore("t2", ("a", "b"), 1.0)],
    [CellScore("t2", (), 1.0), CellScore("t2", ("b",), 0.0)],
]


def by_hand() -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior with the batches' effects as unknowns of their own."""
    names = ["one", "t1", "t2", "a", "b", "batch0", "batch1"]
    prior = [0.5, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05]
    rows, scores = [], []
    for number, batch in enumerate(BATCHES):
        for cell in batch:
            held = {"one", cell.task, *cell.parts, f"batch{number}"}
            rows.append([float(name in held) for name in names])
            scores.append(cell.score)
    design = np.array(rows)
    precision = design.T @ design / 0.16 + np.diag([1 / spread**2 for spread in prior])
    return np.linalg.solve(precision, design.T @ np.array(scores) / 0.16), np.linalg.inv(precision)


def model() -> AdditiveModel:
    found = AdditiveModel(("t1", "t2"), SPREADS)
    for batch in BATCHES:
        found.observe(batch)
    return found


def test_the_posterior_is_that_of_the_whole_linear_model() -> None:
    mean, _ = by_hand()
    assert model().means() == pytest.approx({"a": mean[3], "b": mean[4]})
    assert model().base() == pytest.approx({"t1": mean[0] + mean[1], "t2": mean[0] + mean[2]})


def test_the_chance_that_one_part_adds_more_than_another_is_that_of_the_posterior() -> None:
    from scipy.stats import norm

    mean, covariance = by_hand()
    spread = np.sqrt(covariance[3, 3] + covariance[4, 4] - 2 * covariance[3, 4])
    assert model().chance_above(("a",), ("b",)) == pytest.approx(norm.cdf((mean[3] - mean[4]) / spread))
    assert model().chance_above((), ()) == 0.5


def test_draws_have_the_mean_and_spread_of_the_posterior() -> None:
    mean, covariance = by_hand()
    source = random.Random(1)
    found = model()
    draws = np.array([list(found.draw(lambda: source.gauss(0, 1)).values()) for _ in range(4000)])
    assert draws.mean(axis=0) == pytest.approx(mean[3:5], abs=0.01)
    assert np.cov(draws.T) == pytest.approx(covariance[3:5, 3:5], abs=0.001)


def test_what_a_whole_batch_has_in_common_says_nothing_about_a_part() -> None:
    found = AdditiveModel(("t1",), Spreads(batch=1000.0))
    found.know(("a",))
    found.observe([CellScore("t1", ("a",), 1.0), CellScore("t1", ("a",), 1.0)])
    assert found.means()["a"] == pytest.approx(0, abs=1e-3)


def test_a_part_that_nobody_measured_has_the_effect_of_its_prior() -> None:
    found = model()
    found.know(("c",))
    assert found.means()["c"] == 0.0
    assert found.chance_above(("c",)) == 0.5
    assert found.parts == ["a", "b", "c"]


def test_many_parts_are_learnt_from_few_cells_when_texts_hold_half_of_them() -> None:
    """Twelve parts, half of them good: 600 cells tell them apart, where 25 cells each and 300 of the base would not."""
    source = random.Random(3)
    parts = [f"p{number}" for number in range(12)]
    good = set(parts[:6])
    found = AdditiveModel(("t",))
    for _ in range(60):
        batch = []
        for _ in range(10):
            held = tuple(part for part in parts if source.random() < 0.5)
            chance = 0.4 + sum(0.08 if part in good else -0.08 for part in held)
            batch.append(CellScore("t", held, float(source.random() < chance)))
        found.observe(batch)
    assert {part for part, effect in found.means().items() if effect > 0} == good


def test_a_part_that_nobody_measured_is_drawn_from_its_prior_and_adds_its_spread() -> None:
    from scipy.stats import norm

    mean, covariance = by_hand()
    found, source = model(), random.Random(2)
    found.know(("c",))
    draws = np.array([found.draw(lambda: source.gauss(0, 1))["c"] for _ in range(4000)])
    assert draws.mean() == pytest.approx(0, abs=0.006)
    assert draws.std() == pytest.approx(SPREADS.effect, rel=0.05)
    spread = np.sqrt(covariance[3, 3] + SPREADS.effect**2)
    assert found.chance_above(("a", "c")) == pytest.approx(norm.cdf(mean[3] / spread))
    assert found.chance_above(("a", "c"), ("c",)) == pytest.approx(model().chance_above(("a",)))


def test_the_same_cells_are_computed_alike_to_the_bit_whenever_their_parts_came_up() -> None:
    late, early = model(), AdditiveModel(("t1", "t2"), SPREADS)
    early.know(("c", "b", "a"))
    for batch in BATCHES:
        early.observe(batch)
    late.know(("c",))
    assert early.means() == late.means()
    assert early.chance_above(("a", "c"), ("b",)) == late.chance_above(("a", "c"), ("b",))
    assert early.base() == late.base()


def test_a_model_without_any_cell_draws_from_the_prior() -> None:
    found = AdditiveModel(("t1",), SPREADS)
    found.know(("a",))
    assert found.draw(lambda: 2.0) == {"a": 2 * SPREADS.effect}
    assert found.means() == {"a": 0.0}
