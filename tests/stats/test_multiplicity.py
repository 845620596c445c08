"""Error rates over several tests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.stats.multiplicity import alpha_at, holm
from tests.stats.reference import REFERENCE, digits

SPENDING = REFERENCE["alpha_spending_6_over_pi2_j2"]


def test_holm_gives_the_reference_values_in_the_order_given() -> None:
    assert holm(REFERENCE["holm"]["p"]) == pytest.approx(REFERENCE["holm"]["adjusted"])
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_value_and_keeps_their_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(raw <= new <= 1 for raw, new in zip(values, adjusted, strict=True))
    order = sorted(range(len(values)), key=lambda index: values[index])
    assert [adjusted[index] for index in order] == sorted(adjusted)


@pytest.mark.parametrize(("look", "level"), list(enumerate(SPENDING["values"], start=1)))
def test_each_look_is_granted_the_reference_level(look: int, level: float) -> None:
    assert alpha_at(look, SPENDING["alpha"]) == pytest.approx(level, abs=digits(level))


def test_all_looks_together_never_spend_more_than_alpha() -> None:
    spent = sum(alpha_at(look, 0.05) for look in range(1, 20_000))
    assert 0.0499 < spent < 0.05


@pytest.mark.parametrize("look", [0, -1])
def test_looks_are_counted_from_one(look: int) -> None:
    with pytest.raises(ValueError, match="from 1"):
        alpha_at(look, 0.05)
