"""``prices.yaml``: what models charge, on a date."""

from __future__ import annotations

import datetime
from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Record

PRICES_SCHEMA: Final = "evolve/prices@1"


class TokenPrice(Record):
    """What a model charges, in USD for a million tokens of each kind."""

    input_usd: float = Field(ge=0)
    output_usd: float = Field(ge=0)
    cached_input_usd: float | None = Field(default=None, ge=0, description="Without it: the price of other input.")
    cache_write_5m_usd: float | None = Field(default=None, ge=0, description="Without it: the price of other input.")
    cache_write_1h_usd: float | None = Field(default=None, ge=0, description="Without it: as for five minutes.")


class PriceTable(Record):
    """Prices by full model name; a model that is not here has an unknown cost."""

    schema_id: Literal["evolve/prices@1"] = Field(alias="schema")
    as_of: datetime.date
    source: str
    models: dict[str, TokenPrice]
