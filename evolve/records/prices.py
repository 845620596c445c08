"""``prices.yaml``: what models charge, on a date."""

from __future__ import annotations

import datetime
from typing import Final, Literal

from pydantic import Field

from evolve.records.base import FILE_FORMAT, Record

PRICES_SCHEMA: Final = "evolve/prices@1"


class TokenPrice(Record):
    """What a model charges, in USD for a million tokens of each kind."""

    input_usd: float = Field(ge=0, description="USD for a million tokens of input.")
    output_usd: float = Field(ge=0, description="USD for a million tokens of output.")
    cached_input_usd: float | None = Field(default=None, ge=0, description="Without it: the price of other input.")
    cache_write_5m_usd: float | None = Field(default=None, ge=0, description="Without it: the price of other input.")
    cache_write_1h_usd: float | None = Field(default=None, ge=0, description="Without it: as for five minutes.")


class PriceTable(Record):
    """Prices by full model name; a model that is not here has an unknown cost."""

    schema_id: Literal["evolve/prices@1"] = Field(alias="schema", description=FILE_FORMAT)
    as_of: datetime.date = Field(description="The day on which the prices were looked up.")
    source: str = Field(description="Where they were found.")
    models: dict[str, TokenPrice] = Field(description="The price of each model, by its full name.")
