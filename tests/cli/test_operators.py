from __future__ import annotations

from typing import get_args

from evolve.cli.operators import GENERATION_OPERATORS, STRATEGIES
from evolve.propose.search.strategies import STRATEGIES as SEARCHES
from evolve.records.overlay import GenerationOperator


def test_the_command_line_knows_every_operator_and_strategy() -> None:
    assert get_args(GenerationOperator) == GENERATION_OPERATORS
    assert tuple(SEARCHES) == STRATEGIES
