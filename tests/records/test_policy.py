"""The thresholds."""

from __future__ import annotations

from typing import Any

import pytest

from evolve.errors import InputError
from evolve.records.base import parse_record
from evolve.records.policy import POLICY_SCHEMA, Policy
from tests.builders import make_policy


def test_the_defaults_are_the_thresholds_of_the_shipped_policy() -> None:
    policy = make_policy()
    assert (policy.test, policy.min_runs, policy.alpha, policy.finalists, policy.canaries) == (
        "sign_flip",
        3,
        0.05,
        1,
        1,
    )
    assert (policy.min_improvement_pct, policy.max_task_regression_pct) == (5, 20)


def test_every_threshold_is_part_of_the_digest() -> None:
    changes: list[dict[str, Any]] = [
        {"test": "mcnemar_exact"},
        {"min_runs": 4},
        {"min_improvement_pct": 5.5},
        {"max_task_regression_pct": 21},
        {"alpha": 0.01},
        {"screening": {"survivors": 2}},
        {"canaries": 2},
        {"reuse_max_age_days": 31},
        {"evidence_max_age_days": 91},
        {"max_attempts": 4},
        {"outage_streak": 6},
    ]
    assert len({make_policy().digest(), *(make_policy(**change).digest() for change in changes)}) == len(changes) + 1


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": float("nan")},
        {"min_runs": 0},
        {"min_runs": 2.5},
        {"finalists": 2},
        {"canaries": 0},
        {"min_improvement_pct": -1},
        {"max_task_regression_pct": 1001},
        {"metric": "cost"},
        {"test": "t_test"},
        {"screening": {"surviors": 2}},
        {"aplha": 0.05},
    ],
)
def test_a_threshold_that_makes_no_sense_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        parse_record(Policy, {"schema": POLICY_SCHEMA, **change}, "policy.yaml")


def test_a_policy_without_its_schema_is_refused() -> None:
    with pytest.raises(InputError, match="schema: is missing"):
        parse_record(Policy, {}, "policy.yaml")
