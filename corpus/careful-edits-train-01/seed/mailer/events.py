"""Reads the events of the shop.

What the shop says of them: an event always has a number and a sum. Everything else may be missing or null: orders of
guests have no customer, downloads have no shipping, parcels to a pick-up point have a shipping without address.
"""

from __future__ import annotations

import json
from typing import Any


def read_event(line: str) -> dict[str, Any]:
    """Return an event.

    Raises:
        ValueError: It is none.

    """
    event = json.loads(line)
    if not isinstance(event, dict) or "number" not in event or "sum" not in event:
        raise ValueError("not an event of an order")
    return event
