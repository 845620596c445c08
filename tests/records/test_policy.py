"""The thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evolve.errors import InputError
from evolve.records.base import parse_record, read_yaml
from evolve.records.policy import POLICY_SCHEMA, Policy
from evolve.records.public_key import public_key_pem, public_key_text
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
        {"finalists": 17},
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


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"metric": "resolve_rate", "direction": "lower"}, "direction"),
        ({"metric": "cost_usd", "direction": "higher"}, "direction"),
        ({"metric": "resolve_rate", "primary": "cost"}, "primary"),
        ({"metric": "output_tokens", "primary": "quality"}, "primary"),
        ({"metric": "score", "estimand": "ratio_of_sums"}, "estimand"),
        ({"metric": "cost_usd", "estimand": "mean_difference"}, "estimand"),
        ({"metric": "cost_usd", "tie_break": "output_tokens"}, "tie_break"),
        ({"sequential": True, "tie_break": "cost_usd"}, "sequential"),
        ({"sequential": True, "test": "mcnemar_exact"}, "sequential"),
        ({"metric": "resolve_rate", "tie_break": "score"}, "tie_break"),
        ({"metric": "cost_usd", "test": "mcnemar_exact"}, "test"),
        ({"metric": "score", "sequential": True}, "sequential"),
        ({"preset": "thresholds", "sequential": "rounds"}, "sequential"),
        ({"sequential": "yes"}, "sequential"),
        ({"preset": "loose"}, "preset"),
        ({"estimand": "mean"}, "estimand"),
        ({"alpha_account": "none"}, "alpha_account"),
        ({"harm_alpha": 0}, "harm_alpha"),
        ({"noninferiority_margin": 0}, "noninferiority_margin"),
        ({"futility": 1}, "futility"),
        ({"control": "perhaps"}, "control"),
        ({"extra_runs": -1}, "extra_runs"),
        ({"minimum_runs": 3}, "minimum_runs"),
    ],
)
def test_what_contradicts_itself_or_is_unknown_is_refused_and_the_field_named(
    change: dict[str, Any], field: str
) -> None:
    with pytest.raises(InputError, match=rf"\b{field}\b"):
        parse_record(Policy, {"schema": POLICY_SCHEMA, **change}, "policy.yaml")


@pytest.mark.parametrize(
    ("written", "read"),
    [("true", "rounds"), ("false", "off"), ("rounds", "rounds"), ("off", "off"), ("'off'", "off"), ("on", "rounds")],
)
def test_sequential_may_be_switched_in_yaml(tmp_path: Path, written: str, read: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"schema: {POLICY_SCHEMA}\nsequential: {written}\n")
    policy = read_yaml(Policy, path)
    assert policy.sequential == read
    assert policy.digest() == make_policy(sequential=read).digest()


@pytest.mark.parametrize(
    ("change", "estimand"),
    [
        ({}, "mean_difference"),
        ({"metric": "score", "direction": "higher", "primary": "quality"}, "mean_difference"),
        ({"metric": "cost_usd", "direction": "lower", "primary": "cost"}, "geometric_mean_ratio"),
        ({"metric": "output_tokens", "estimand": "ratio_of_sums"}, "ratio_of_sums"),
        ({"tie_break": "cost_usd"}, "mean_difference"),
    ],
)
def test_the_estimand_is_the_declared_one_or_that_of_the_kind_of_metric(change: dict[str, Any], estimand: str) -> None:
    assert make_policy(**change).declared_estimand == estimand


KEY, OTHER = public_key_text(b"j" * 32), public_key_text(b"k" * 32)


def test_a_policy_that_demands_no_signature_has_the_digest_it_always_had() -> None:
    silent = make_policy(signatures={"required": 0, "keys": []})
    assert silent.digest() == make_policy().digest()
    assert "signatures" not in make_policy().json_value()
    demanding = make_policy(signatures={"required": 1, "keys": [KEY]})
    assert len({silent.digest(), demanding.digest(), make_policy(signatures={"keys": [KEY]}).digest()}) == 3
    assert parse_record(Policy, demanding.json_value(), "policy") == demanding


def test_a_key_in_pem_is_the_same_key() -> None:
    in_pem = make_policy(signatures={"required": 1, "keys": [public_key_pem(b"k" * 32)]})
    assert in_pem.digest() == make_policy(signatures={"required": 1, "keys": [OTHER]}).digest()


@pytest.mark.parametrize(
    ("signatures", "said"),
    [
        ({"required": 1}, "required: 1, and 0 keys are trusted"),
        ({"required": 2, "keys": [KEY]}, "required: 2, and 1 keys"),
        ({"required": -1}, "greater than or equal to 0"),
        ({"keys": [KEY, public_key_pem(b"j" * 32)]}, "one is named twice"),
        ({"keys": ["not base64!"]}, "neither base64 nor PEM"),
        ({"keys": ["QUJD"]}, "3 bytes and not 32"),
        ({"keys": ["ü"]}, "neither base64 nor PEM"),
        ({"keys": ["-----BEGIN PUBLIC KEY-----\nQUJD\n-----END PUBLIC KEY-----\n"]}, "another kind than Ed25519"),
        ({"keys": ["-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n"]}, "neither base64 nor PEM"),
    ],
)
def test_a_demand_for_signatures_that_cannot_be_met_is_refused(signatures: dict[str, Any], said: str) -> None:
    value = {"schema": POLICY_SCHEMA, "signatures": signatures}
    with pytest.raises(InputError, match=said):
        parse_record(Policy, value, "policy.yaml")
