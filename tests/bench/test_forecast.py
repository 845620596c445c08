"""What a plan says will happen to each cell."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from evolve.bench.budget import Limits
from evolve.bench.forecast import Forecast, forecast
from evolve.bench.journal import SweepState
from evolve.bench.plan import make_plan
from evolve.bench.reuse import ReuseIndex
from evolve.records.kinds import Role
from evolve.records.plan import Plan
from tests.bench.test_plan import index_of
from tests.builders import NOW, make_policy, make_request, make_row, make_skill, make_task

TASKS = [make_task(f"task-{number}") for number in range(4)]
REQUEST = make_request(
    skills=[("incumbent", Role.INCUMBENT, make_skill()), ("candidate", Role.CANDIDATE, make_skill(body="Better."))],
    tasks=TASKS,
    runs=2,
)
FRESH = make_plan(REQUEST, make_policy(), ReuseIndex(), NOW)
INCUMBENTS = [cell for cell in FRESH.cells if cell.role is Role.INCUMBENT]
REUSING = make_plan(REQUEST, make_policy(), index_of(INCUMBENTS), NOW + timedelta(days=1))


def actions(
    plan: Plan, state: SweepState | None = None, limits: Limits | None = None, refusal: str | None = None
) -> list[Forecast]:
    return forecast(plan, state or SweepState(), limits or Limits(), lambda _: 10, refusal)


def counted(
    plan: Plan, state: SweepState | None = None, limits: Limits | None = None, refusal: str | None = None
) -> Counter[str]:
    return Counter(found.action for found in actions(plan, state, limits, refusal))


def test_cells_are_told_in_plan_order_with_their_action_and_reason() -> None:
    found = actions(REUSING)
    assert [one.cell.index for one in found] == list(range(16))
    assert Counter(one.action for one in found) == {"fresh": 8, "reuse": 7, "canary": 1}
    assert {one.reason for one in found if one.action == "reuse"} == {"measured 2026-02-26 in older"}


def test_what_the_sweep_has_measured_already_is_done() -> None:
    state = SweepState(settled={3: make_row()}, attempts={3: 1})
    assert counted(FRESH, state=state) == {"fresh": 15, "done": 1}


def test_reuse_that_was_dropped_is_paid_for() -> None:
    assert counted(REUSING, state=SweepState(dropped_arms={"incumbent"})) == {"fresh": 15, "canary": 1}


def test_cells_that_the_budget_may_not_reach_are_blocked_with_the_reason() -> None:
    found = actions(FRESH, limits=Limits(cells=5))
    assert [one.action for one in found] == ["fresh"] * 5 + ["blocked"] * 11
    assert found[-1].reason == "the budget may end before it: 5 cells were begun, as many as are allowed"
    assert counted(FRESH, limits=Limits(usd_micros=75)) == {"fresh": 5, "blocked": 11}


def test_canaries_come_first_in_the_budget_as_they_do_in_the_run() -> None:
    found = actions(REUSING, limits=Limits(cells=1))
    assert Counter(one.action for one in found) == {"canary": 1, "reuse": 7, "blocked": 8}


def test_a_budget_that_an_interrupted_run_has_used_is_used() -> None:
    state = SweepState(settled={0: make_row()}, attempts={0: 1}, booked_micros=10)
    assert counted(FRESH, state=state, limits=Limits(cells=5)) == {"done": 1, "fresh": 4, "blocked": 11}


def test_a_sweep_that_would_be_refused_is_blocked_as_a_whole() -> None:
    assert {one.reason for one in actions(REUSING, refusal="too few tasks")} == {"too few tasks"}
    assert counted(REUSING, refusal="too few tasks") == {"blocked": 16}
