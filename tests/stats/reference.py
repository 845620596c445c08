"""Reference values that were computed independently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

REFERENCE: dict[str, Any] = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))


def digits(value: float) -> float:
    """Return half a unit of the last digit that a reference value gives."""
    text = repr(float(value))
    decimals = len(text.partition(".")[2]) if "e" not in text else 12
    return 0.5000001 * 10.0**-decimals
