"""The closed sets and the table of error kinds."""

from __future__ import annotations

import pytest

from evolve.records.kinds import KIND_FACTS, ErrorKind, Outcome, Role, Split

YES, NO = True, False

# kind, retried, counts as a failure of the arm, systemic, voids the row: DESIGN.md, section 4, row for row.
TABLE = [
    ("session-error", YES, NO, YES, YES),
    ("infra-error", YES, NO, YES, YES),
    ("cleanup-failure", NO, NO, YES, YES),
    ("evidence-unverified", NO, NO, NO, YES),
    ("contaminated", NO, NO, YES, YES),
    ("cancelled", NO, NO, NO, YES),
    ("agent-timeout", NO, YES, NO, NO),
    ("agent-limit", NO, YES, NO, NO),
    ("skill-not-invoked", NO, YES, NO, NO),
    ("no-work-produced", NO, YES, NO, NO),
    ("phase-violation", NO, YES, NO, NO),
    ("verify-failed", NO, YES, NO, NO),
    ("oracle-failed", NO, YES, NO, NO),
]


@pytest.mark.parametrize(("kind", "retried", "counts", "systemic", "voids"), TABLE)
def test_what_follows_from_an_error_kind_is_what_the_design_says(
    kind: str, retried: bool, counts: bool, systemic: bool, voids: bool
) -> None:
    facts = KIND_FACTS[ErrorKind(kind)]
    assert (facts.retried, facts.counts_against_arm, facts.systemic, facts.voids_row) == (
        retried,
        counts,
        systemic,
        voids,
    )


def test_the_table_is_complete() -> None:
    assert {row[0] for row in TABLE} == {kind.value for kind in ErrorKind} == {kind.value for kind in KIND_FACTS}


@pytest.mark.parametrize("kind", ErrorKind)
def test_a_kind_either_voids_the_row_or_counts_against_the_arm(kind: ErrorKind) -> None:
    assert KIND_FACTS[kind].voids_row != KIND_FACTS[kind].counts_against_arm


def test_the_closed_sets_are_those_of_the_design() -> None:
    assert [split.value for split in Split] == ["train", "selection", "sealed"]
    assert [role.value for role in Role] == ["incumbent", "candidate", "comparator", "control"]
    assert [outcome.value for outcome in Outcome] == ["promote", "keep_incumbent", "insufficient_evidence"]
