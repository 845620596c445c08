"""The policy's goal in words."""

from __future__ import annotations

from typing import Any

import pytest

from evolve.propose.bundle.goal import goal_in_words
from evolve.records.policy import Metric
from tests.builders import make_policy


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ["Resolve more tasks: at least 5 percentage points", "must not be lost", "more than 20 points"]),
        ({"metric": "score", "max_task_regression_pct": 3}, ["higher score", "more than 3 points"]),
        ({"metric": "weighted_f1"}, ["F1"]),
        ({"metric": "output_tokens", "min_improvement_pct": 12.5}, ["less output tokens: at least 12.5 per cent less"]),
        ({"metric": "resolve_rate", "tie_break": "cost_usd"}, ["Where quality is equal, less money decides."]),
    ],
)
def test_a_goal_names_metric_margins_and_tie_break(fields: dict[str, Any], said: list[str]) -> None:
    words = goal_in_words(make_policy(**fields))
    assert all(part in words for part in said), words
    assert words.endswith("Shorter text is better when nothing else differs.")


@pytest.mark.parametrize("metric", list(Metric))
def test_every_metric_has_a_goal(metric: Metric) -> None:
    assert len(goal_in_words(make_policy(metric=metric))) > 50
