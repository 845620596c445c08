"""What is counted is no less than nothing, and no more than canonical JSON holds exactly."""

from __future__ import annotations

import pytest

from evolve.digest import MAX_EXACT
from evolve.errors import InputError
from evolve.records.base import parse_json
from evolve.records.promotion import Spend
from evolve.records.row import Usage


@pytest.mark.parametrize("figure", [-1, MAX_EXACT + 1, 10**400])
@pytest.mark.parametrize("field", ["input_tokens", "cost_usd_micros", "session_ms", "turns"])
def test_figures_that_no_session_can_have_are_refused(field: str, figure: int) -> None:
    with pytest.raises(InputError, match=field):
        parse_json(Usage, f'{{"{field}":{figure}}}'.encode(), "rows.jsonl:1")


def test_the_greatest_figure_is_kept_and_written_exactly() -> None:
    usage = parse_json(Usage, f'{{"cost_usd_micros":{MAX_EXACT}}}'.encode(), "rows.jsonl:1")
    assert str(MAX_EXACT).encode() in usage.canonical()


def test_spend_is_held_to_the_same() -> None:
    with pytest.raises(InputError, match="lost_attempts"):
        parse_json(Spend, b'{"lost_attempts":-1}', "promotion.json")
