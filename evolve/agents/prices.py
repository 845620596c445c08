"""What tokens cost: from a dated table, never from a guess."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

from evolve.records.base import read_yaml
from evolve.records.prices import PriceTable, TokenPrice
from evolve.sandbox.gateway.meter import Tokens


@cache
def price_table() -> PriceTable:
    """Return the table that ships with evolve."""
    return read_yaml(PriceTable, Path(__file__).with_name("prices.yaml"))


def cost_micros(price: TokenPrice | None, tokens: Tokens) -> int | None:
    """Return what tokens cost in micro-USD, rounded up; ``None`` without a price."""
    if price is None:
        return None
    plain = tokens.input - tokens.cached - tokens.cache_write_5m - tokens.cache_write_1h
    cached = price.input_usd if price.cached_input_usd is None else price.cached_input_usd
    short = price.input_usd if price.cache_write_5m_usd is None else price.cache_write_5m_usd
    long = short if price.cache_write_1h_usd is None else price.cache_write_1h_usd
    total = plain * price.input_usd + tokens.cached * cached + tokens.output * price.output_usd
    total += tokens.cache_write_5m * short + tokens.cache_write_1h * long
    return math.ceil(round(total, 6))
