"""The measured workspace of the tests of promotions, and its evidence with all that differs from run to run fixed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from evolve.promote.attest import envelopes
from evolve.promote.evidence import Evidence
from evolve.records.row import Row
from tests.builders import NOW
from tests.promote.conftest import Measured, measured, measured_once

__all__ = ["measured", "measured_once"]


def fixed_row(row: Row) -> Row:
    usage = row.usage.model_copy(update={"session_ms": 1_000, "api_ms": None})
    return row.model_copy(update={"measured_at": NOW, "usage": usage})


@pytest.fixture
def evidence(measured: Measured) -> Evidence:
    found = measured.evidence()
    fixed = {
        "generated_at": NOW,
        "expires_at": NOW + timedelta(days=30),
        "sweep": "s-golden",
        "position_effect": None,
        "cost_position_effect": None,
    }
    rows = sorted(found.rows, key=lambda row: (row.identity.task, row.identity.run, row.arm))
    promotion = found.promotion.model_copy(update=fixed)
    for name, envelope in envelopes(promotion, found.promotion_sha256).items():
        (found.folder / name).write_bytes(envelope.file_bytes())
    return replace(found, promotion=promotion, rows=tuple(fixed_row(row) for row in rows))
