"""The attestations: in-toto Statements over the evidence, each in a DSSE envelope of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evolve.digest import canonical_json
from evolve.records.envelope import Envelope
from evolve.records.kinds import Outcome
from evolve.records.promotion import Promotion

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:evolve:promotion:v1"
TEST_RESULT_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
ATTESTATION_FILE = "attestation.json"
TEST_RESULT_FILE = "test-result.json"


def _statement(promotion: Promotion, promotion_sha256: str, kind: str, predicate: dict[str, Any]) -> bytes:
    digests = {
        "promotion.json": promotion_sha256,
        "rows.jsonl": promotion.rows_sha256,
        "overlay": promotion.overlay_sha256,
    }
    return canonical_json(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()],
            "predicateType": kind,
            "predicate": predicate,
        }
    )


def _decided(promotion: Promotion) -> dict[str, Any]:
    return {
        "outcome": promotion.decision.outcome.value,
        "policy_sha256": promotion.policy_sha256,
        "skill": promotion.skill,
        "sweep": promotion.sweep,
    }


def _test_result(promotion: Promotion) -> dict[str, Any]:
    """Return the decision in the words of others' policy engines: the gate's conditions are the tests."""
    failed = {reason.code for reason in promotion.decision.reasons if reason.blocking}
    configuration = {"policy": promotion.policy_sha256, "sealed tasks": promotion.sealed_sha256}
    return {
        "result": "PASSED" if promotion.decision.outcome is Outcome.PROMOTE else "FAILED",
        "configuration": [{"name": name, "digest": {"sha256": digest}} for name, digest in configuration.items()],
        "passedTests": sorted({reason.code for reason in promotion.decision.reasons} - failed),
        "failedTests": sorted(failed),
    }


def statements(promotion: Promotion, promotion_sha256: str) -> Mapping[str, bytes]:
    """Return what the attestations state, by file: promotion.json, rows.jsonl and the overlay are bound by each."""
    return {
        ATTESTATION_FILE: _statement(promotion, promotion_sha256, PREDICATE_TYPE, _decided(promotion)),
        TEST_RESULT_FILE: _statement(promotion, promotion_sha256, TEST_RESULT_TYPE, _test_result(promotion)),
    }


def envelopes(promotion: Promotion, promotion_sha256: str) -> Mapping[str, Envelope]:
    """Return the unsigned envelopes by file; they bind by digest, nobody vouches for them."""
    found = statements(promotion, promotion_sha256)
    return {name: Envelope.around(statement) for name, statement in found.items()}
