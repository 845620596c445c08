"""Rows and their identities."""

from __future__ import annotations

from typing import Any

import pytest

from evolve.errors import InputError
from evolve.records.base import parse_record
from evolve.records.kinds import KIND_FACTS, ErrorKind
from evolve.records.row import Row
from tests.builders import digest_of, make_identity, make_row


@pytest.mark.parametrize(
    "change",
    [
        {"task": "another"},
        {"task_sha256": digest_of("x")},
        {"oracle_sha256": digest_of("x")},
        {"fingerprint": digest_of("x")},
        {"agent_sha256": digest_of("x")},
        {"sandbox": "host"},
        {"runtime_sha256": digest_of("x")},
        {"run": 1},
        {"seed": 99},
    ],
)
def test_the_key_depends_on_every_part_of_the_identity(change: dict[str, Any]) -> None:
    identity = make_identity()
    assert identity.model_copy(update=change).digest() != identity.digest()


def test_a_row_reads_back_the_same() -> None:
    row = make_row(resolved=False, detail="it said no")
    assert parse_record(Row, row.json_value(), "rows.jsonl:1") == row


@pytest.mark.parametrize("kind", ErrorKind)
def test_a_row_is_void_exactly_when_its_kind_says_so(kind: ErrorKind) -> None:
    assert make_row(kind=kind).void == KIND_FACTS[kind].voids_row


def test_a_resolved_row_is_not_void() -> None:
    assert not make_row().void


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"resolved": False}, "a row is resolved exactly when it has no error kind"),
        ({"kind": "oracle-failed"}, "a row is resolved exactly when it has no error kind"),
        ({"key": digest_of("another")}, "the key is not the digest of the identity"),
        ({"attempt": 0}, "attempt: "),
        ({"kind": "bad-luck", "resolved": False}, "kind: "),
        ({"measured_at": "2026-01-01T00:00:00"}, "measured_at: a time needs its zone"),
        ({"usage": {"cost": 1}}, "usage.cost: unknown key"),
        ({"oracle": {"passed": True, "score": 1.5}}, "oracle.score: "),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_record(Row, {**make_row().json_value(), **change}, "rows.jsonl:1")
    assert says in caught.value.message


def test_a_figure_that_nobody_reported_stays_null() -> None:
    assert set(make_row().json_value()["usage"].values()) == {None}
