"""The attestation: an in-toto Statement in a DSSE envelope over the evidence files."""

from __future__ import annotations

import base64
from typing import Any

from evolve.digest import canonical_json
from evolve.records.promotion import Promotion

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:evolve:promotion:v1"


def statement(promotion: Promotion, promotion_sha256: str) -> dict[str, Any]:
    """Return the Statement that binds promotion.json, rows.jsonl and the overlay."""
    digests = {
        "promotion.json": promotion_sha256,
        "rows.jsonl": promotion.rows_sha256,
        "overlay": promotion.overlay_sha256,
    }
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "outcome": promotion.decision.outcome.value,
            "policy_sha256": promotion.policy_sha256,
            "skill": promotion.skill,
            "sweep": promotion.sweep,
        },
    }


def envelope(promotion: Promotion, promotion_sha256: str) -> bytes:
    """Return the unsigned DSSE envelope as canonical JSON; it binds by digest, nobody vouches for it."""
    payload = base64.b64encode(canonical_json(statement(promotion, promotion_sha256))).decode("ascii")
    return canonical_json({"payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": []}) + b"\n"
