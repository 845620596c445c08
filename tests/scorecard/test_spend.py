"""All that was spent, by cell and by arm."""

from __future__ import annotations

from typing import Any

from evolve.records.event import Event
from evolve.records.kinds import ErrorKind
from evolve.records.plan import Plan
from evolve.scorecard.spend import Paid, Spending, spending_of
from tests.builders import NOW
from tests.scorecard.builders import arm_row, cell_of, plan_of, usage_of

PASSED = arm_row("one", usage=usage_of(cost_usd_micros=100))
FAILED = arm_row("one", run=1, resolved=False, usage=usage_of(cost_usd_micros=20))
VOID = arm_row("one", kind=ErrorKind.INFRA_ERROR, usage=usage_of(cost_usd_micros=7))
UNPRICED = arm_row("one", usage=usage_of(cost_usd_micros=None))
OTHER = arm_row("two", usage=usage_of(cost_usd_micros=1_000))


def plan() -> Plan:
    return plan_of("s-1", [cell_of(PASSED, 0), cell_of(FAILED, 1), cell_of(OTHER, 2)])


def spent(*entries: dict[str, Any]) -> Spending:
    return spending_of(plan(), [Event(seq=seq, at=NOW, **entry) for seq, entry in enumerate(entries)])


def leased(token: int, most: int | None, **of: Any) -> dict[str, Any]:
    return {"event": "leased", "token": token, "reserved_micros": most, **of}


def test_voided_attempts_retries_warm_ups_and_failures_count_computed_by_hand() -> None:
    found = spent(
        leased(1, 500, arm="one"),
        {"event": "spent", "token": 1, "cost_usd_micros": 3, "reason": "warm-up"},
        leased(2, 500, cell=0, attempt=1),
        {"event": "voided", "token": 2, "cell": 0, "attempt": 1, "row": VOID},
        leased(3, 500, cell=0, attempt=2),
        {"event": "settled", "token": 3, "cell": 0, "attempt": 2, "row": PASSED},
        leased(4, 500, cell=1, attempt=1),
        {"event": "settled", "token": 4, "cell": 1, "attempt": 1, "row": FAILED},
        {"event": "settled", "token": 5, "cell": 2, "attempt": 1, "row": OTHER},
    )
    # cell 0: 7 void + 100; cell 1: 20; arm one: 3 warm-up + 107 + 20 = 130
    assert found.cells == {0: Paid(107, 2, 1), 1: Paid(20, 1, 0), 2: Paid(1_000, 1, 1)}
    assert found.arms == {"one": Paid(130, 4, 1), "two": Paid(1_000, 1, 1)}
    assert found.arms["one"].usd == 0.00013
    assert found.voided == frozenset()


def test_what_was_lost_or_is_under_way_counts_at_the_most_it_can_have_cost() -> None:
    found = spent(
        leased(1, 500, cell=0, attempt=1),
        {"event": "spent", "token": 1, "cell": 0, "attempt": 1, "cost_usd_micros": 500, "reason": "lost"},
        leased(2, 600, cell=0, attempt=2),
        {"event": "cancelled", "token": 2, "cell": 0, "attempt": 2},
        {"event": "spent", "token": 2, "cell": 0, "attempt": 2, "cost_usd_micros": 600, "reason": "cancelled"},
        leased(3, 700, cell=0, attempt=3),
    )
    assert found.cells == {0: Paid(1_800, 3, 0, bounded=3)}


def test_an_unpriced_session_counts_at_its_limit_and_without_one_nothing_is_known() -> None:
    limited = spent(leased(1, 500, cell=0), {"event": "settled", "token": 1, "cell": 0, "row": UNPRICED})
    assert limited.cells == {0: Paid(500, 1, 1, bounded=1)}
    unknown = spent(
        leased(1, None, cell=0),
        {"event": "settled", "token": 1, "cell": 0, "row": UNPRICED},
        {"event": "settled", "token": 2, "cell": 1, "row": FAILED},
    )
    assert unknown.arms == {"one": Paid(20, 2, 1, unknown=1)}
    assert unknown.arms["one"].usd is None, "unknown is never 0"


def test_a_cell_is_void_until_an_attempt_settles() -> None:
    void = {"event": "voided", "token": 2, "cell": 0, "row": VOID}
    assert spent(void).voided == {0}
    assert spent(void, {"event": "settled", "token": 3, "cell": 0, "row": PASSED}).voided == frozenset()


def test_a_warm_up_that_was_booked_at_its_limit_is_bounded_and_a_measured_one_is_not() -> None:
    def of_warm_up(micros: int | None) -> Paid:
        entry = {"event": "spent", "token": 1, "cost_usd_micros": micros, "reason": "warm-up"}
        return spent(leased(1, 500, arm="one"), entry).arms["one"]

    assert of_warm_up(500) == Paid(500, 1, 0, bounded=1)
    assert of_warm_up(499) == Paid(499, 1, 0)
    assert of_warm_up(None) == Paid(0, 1, 0, unknown=1)
