"""What tokens cost."""

from __future__ import annotations

import pytest

from evolve.agents.prices import cost_micros, price_table
from evolve.records.prices import TokenPrice
from evolve.sandbox.gateway.meter import Tokens

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("tokens", "micros"),
    [
        (Tokens(), 0),
        (Tokens(input=1600, cache_write_5m=400, output=70), 4100),
        (Tokens(input=MILLION, cached=MILLION), 100_000),
        (Tokens(input=MILLION, cache_write_1h=MILLION), 4 * MILLION),
        (Tokens(output=MILLION, reasoning=MILLION), 10 * MILLION),
        (Tokens(input=1), 2),
    ],
)
def test_each_kind_of_token_has_its_price(tokens: Tokens, micros: int) -> None:
    assert cost_micros(price_table().models["claude-sonnet-5-5"], tokens) == micros


def test_costs_are_rounded_up_and_unknown_ones_stay_unknown() -> None:
    price = TokenPrice(input_usd=0.1, output_usd=0.5)
    assert cost_micros(price, Tokens(input=1)) == 1
    assert cost_micros(None, Tokens(input=1)) is None


def test_what_has_no_price_of_its_own_costs_what_other_input_does() -> None:
    price = TokenPrice(input_usd=3, output_usd=0)
    assert cost_micros(price, Tokens(input=3, cached=1, cache_write_5m=1, cache_write_1h=1)) == 9


def test_the_table_says_when_and_where_from() -> None:
    table = price_table()
    assert str(table.as_of) >= "2026-11-29"
    assert "list prices" in table.source
