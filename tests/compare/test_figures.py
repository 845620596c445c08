from __future__ import annotations

import pytest

from evolve.compare.figures import (
    METRICS,
    OTHER_NAMES,
    Price,
    Side,
    contradiction,
    formulas,
    number,
    total,
    weighted,
    with_formulas,
)

PARTS = {"cached": 600.0, "uncached": 400.0, "output": 50.0}


def test_what_is_not_there_follows_from_its_parts() -> None:
    found = formulas(PARTS, Price(5, 0.5, 30))
    whole = with_formulas(PARTS, found)
    assert whole == {**PARTS, "prompt": 1000, "w10": 460, "w25": 550, "cost_usd": pytest.approx(0.0038)}
    assert found["w10"].says == "uncached + 0.10 cached"
    assert found["w25"].says == "uncached + 0.25 cached"
    assert found["cost_usd"].says == "5/0.5/30 USD a million tokens, uncached/cached/output"


def test_any_two_of_the_identity_give_the_third() -> None:
    whole = {"prompt": 1000.0, "cached": 600.0, "uncached": 400.0}
    for name in whole:
        run = {key: value for key, value in whole.items() if key != name}
        filled = with_formulas(run, formulas(run, None))
        assert filled[name] == whole[name]
        assert filled["w10"] == 460


def test_nothing_is_computed_that_is_there_or_lacks_a_part() -> None:
    assert formulas(("prompt", "cached", "uncached", "w10", "w25"), None) == {}
    assert formulas(("prompt", "output"), Price(1, 1, 1)) == {}
    assert with_formulas({"cached": None, "uncached": 1}, formulas(PARTS, None))["w10"] is None


def test_a_price_replaces_the_costs_that_are_there() -> None:
    run = {**PARTS, "cost_usd": 9.0}
    assert with_formulas(run, formulas(run, None))["cost_usd"] == 9
    assert with_formulas(run, formulas(run, Price(0, 0, 2)))["cost_usd"] == pytest.approx(0.0001)


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        ({"prompt": 1001}, "prompt 1001 is not cached + uncached: 600 + 400 = 1000"),
        ({"prompt": 999}, "prompt 999 is not cached + uncached: 600 + 400 = 1000"),
        ({"prompt": 500, "uncached": None}, "cached 600 is more than prompt 500"),
        ({"prompt": 300, "cached": None}, "uncached 400 is more than prompt 300"),
        ({"w10": 461}, "w10 461 is not uncached + 0.10 cached: 460"),
        ({"w10": 459.4}, "w10 459.4 is not uncached + 0.10 cached: 460"),
        ({"w25": 460}, "w25 460 is not uncached + 0.25 cached: 550"),
        ({"prompt": 1000, "w10": 460.5, "w25": 549.5}, None),
        ({"prompt": None, "w10": None}, None),
        ({"prompt": 1, "cached": None, "uncached": None, "w10": 7}, None),
    ],
)
def test_contradictions_are_found_with_their_figures(run: dict[str, float | None], fault: str | None) -> None:
    floats = {name: None if value is None else float(value) for name, value in run.items()}
    assert contradiction({**PARTS, **floats}) == fault


def test_a_task_has_the_mean_of_its_rates_and_the_median_of_its_amounts() -> None:
    runs = {
        "a": [{"completed": 1.0, "turns": 1.0}, {"completed": 0.0, "turns": 2.0}, {"completed": 0.0, "turns": 90.0}],
        "gap": [{"completed": 1.0, "turns": 1.0}, {}],
    }
    side = Side("A", runs, frozenset(("completed", "turns")))
    assert side.by_task(METRICS["completed"], ["a", "gap"]) == [pytest.approx(1 / 3), None]
    assert side.by_task(METRICS["turns"], ["gap", "a"]) == [None, 2]
    assert side.run_counts(["a", "gap"]) == (2, 3)


def test_a_sum_is_unknown_where_a_figure_is() -> None:
    assert total([0.1] * 10) == 1
    assert total([1, None]) is None
    assert total([]) is None


def test_numbers_are_shown_in_full() -> None:
    assert [number(value) for value in (224491.0, 56759.8, 0.1)] == ["224491", "56759.8", "0.1"]


def test_other_names_lead_to_metrics() -> None:
    assert set(OTHER_NAMES.values()) <= set(METRICS)
    assert not set(OTHER_NAMES) & set(METRICS)
    assert weighted(0.1).of({"uncached": 1}) is None
