"""Planning a sweep."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.bench.arms import PlanArm
from evolve.bench.plan import Group, SweepRequest, balanced_orders, make_plan, orders_of
from evolve.bench.reuse import Reusable, ReuseIndex, outcome_of
from evolve.records.kinds import Role
from evolve.records.plan import Plan, PlannedCell
from evolve.sandbox.host import Host
from tests.builders import NOW, make_policy, make_request, make_row, make_skill, make_task

INCUMBENT = ("incumbent", Role.INCUMBENT, make_skill(body="Say hello."))
CANDIDATE = ("candidate", Role.CANDIDATE, make_skill(body="Say hello, loudly."))
CONTROL = ("control", Role.CONTROL, make_skill(body="Say hello."))
TASKS = tuple(make_task(f"task-{number}") for number in range(1, 6))


def planned(request: SweepRequest, index: ReuseIndex | None = None, **policy: Any) -> Plan:
    return make_plan(request, make_policy(**policy), index or ReuseIndex(), NOW)


def index_of(cells: list[PlannedCell]) -> ReuseIndex:
    """Return an index in which the rows of these cells can be reused."""
    index = ReuseIndex()
    for cell in cells:
        row = make_row(identity=cell.identity)
        measured = NOW - timedelta(days=3)
        index.rows[cell.identity.digest()] = Reusable("older", row.digest(), measured, outcome_of(row))
    return index


@given(st.integers(1, 5), st.integers(0, 30), st.integers(0, 1000))
def test_each_arm_goes_first_equally_often_within_one(arms: int, blocks: int, seed: int) -> None:
    orders = balanced_orders(arms, blocks, random.Random(seed))
    assert len(orders) == blocks
    assert all(sorted(order) == list(range(arms)) for order in orders)
    first = Counter(order[0] for order in orders)
    counts = [first[arm] for arm in range(arms)]
    assert max(counts) - min(counts) <= 1


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), st.text("abc", max_size=3))
@settings(max_examples=40, deadline=None)
def test_every_task_run_and_arm_is_planned_exactly_once_in_adjacent_pairs(
    tasks: int, runs: int, arms: int, context: str
) -> None:
    skills = (INCUMBENT, CANDIDATE, CONTROL)[:arms]
    plan = planned(make_request(skills=skills, tasks=TASKS[:tasks], runs=runs, context=context))
    cells = [(cell.identity.task, cell.identity.run, cell.arm) for cell in plan.cells]
    expected = {(f"task-{n}", run, arm[0]) for n in range(1, tasks + 1) for run in range(runs) for arm in skills}
    assert len(cells) == len(expected) and set(cells) == expected
    assert [cell.index for cell in plan.cells] == list(range(len(cells)))
    blocks = [cells[start : start + arms] for start in range(0, len(cells), arms)]
    assert all(len({(task, run) for task, run, _ in block}) == 1 for block in blocks)
    pairs = [[arm for _, _, arm in block if arm != "control"] for block in blocks]
    counts = [Counter(pair[0] for pair in pairs)[arm[0]] for arm in skills[:2]]
    assert max(counts) - min(counts) <= 1
    assert all(block[1][2] != "control" for block in blocks if len(block) == 3)
    assert [run for _, run, _ in cells] == sorted(run for _, run, _ in cells)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 4), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_candidates_are_never_reused_and_canaries_vouch_for_every_arm_that_is(
    tasks: int, runs: int, canaries: int, rng: random.Random
) -> None:
    request = make_request(skills=(INCUMBENT, CANDIDATE), tasks=TASKS[:tasks], runs=runs)
    cells = planned(request).cells
    known = [cell for cell in cells if cell.arm == "candidate" or rng.random() < 0.9]
    plan = planned(request, index_of(known), canaries=canaries)
    actions = {name: [cell.action for cell in plan.cells if cell.arm == name] for name in ("incumbent", "candidate")}
    assert set(actions["candidate"]) == {"fresh"}
    reusable = sum(cell.arm == "incumbent" for cell in known)
    assert actions["incumbent"].count("canary") == min(canaries, reusable)
    assert actions["incumbent"].count("fresh") == tasks * runs - reusable
    for cell in plan.cells:
        assert (cell.source is None) == (cell.action == "fresh")
    assert [(c.arm, c.identity) for c in plan.cells] == [(c.arm, c.identity) for c in cells]


def test_each_reused_arm_has_canaries_of_its_own() -> None:
    tasks = {"greeter": TASKS[:2], "other": tuple(make_task(f"other-{n}", skills=["other"]) for n in range(3))}
    groups = tuple(Group((PlanArm(name, Role.INCUMBENT, make_skill(name)),), found) for name, found in tasks.items())
    request = SweepRequest("baseline", "g", groups, 1, {"adapter": "fake"}, Host())
    plan = planned(request, index_of(list(planned(request).cells)))
    assert Counter((cell.arm, cell.action) for cell in plan.cells) == {
        ("greeter", "canary"): 1,
        ("greeter", "reuse"): 1,
        ("other", "canary"): 1,
        ("other", "reuse"): 2,
    }
    assert plan.sweep.startswith("baseline-all-skills-")


def test_a_reason_says_why_a_cell_is_paid_for_or_reused() -> None:
    request = make_request(skills=(INCUMBENT, CANDIDATE), tasks=TASKS[:2])
    cells = planned(request).cells
    incumbents = [cell for cell in cells if cell.arm == "incumbent"]
    index = index_of(incumbents[:1])
    index.refusals[incumbents[1].identity.digest()] = "two sources differ"
    reasons = {(cell.arm, cell.identity.task): cell.reason for cell in planned(request, index).cells}
    assert reasons["candidate", "task-1"] == "a candidate's cell"
    assert reasons["incumbent", incumbents[0].identity.task] == "measured 2026-02-26 in older"
    assert reasons["incumbent", incumbents[1].identity.task] == "two sources differ"
    assert {cell.reason for cell in cells if cell.arm == "incumbent"} == {"never measured"}


def test_the_same_request_has_the_same_plan_and_id() -> None:
    request = make_request(skills=(INCUMBENT, CANDIDATE), tasks=TASKS, runs=2)
    again = make_request(skills=(INCUMBENT, CANDIDATE), tasks=TASKS, runs=2)
    assert planned(request) == planned(again)
    assert request.sweep_id().startswith("selection-greeter-")


def test_the_id_of_a_sweep_changes_with_everything_that_is_to_be_measured() -> None:
    requests = [
        make_request(skills=(INCUMBENT, CANDIDATE), tasks=TASKS),
        make_request(skills=(INCUMBENT, CONTROL), tasks=TASKS),
        make_request(skills=(INCUMBENT, CANDIDATE), tasks=TASKS[:4]),
        make_request(skills=(INCUMBENT, CANDIDATE), tasks=(*TASKS[:4], make_task("task-5", prompt="Another one."))),
        make_request(skills=(INCUMBENT, CANDIDATE), tasks=TASKS, runs=2),
        make_request(skills=(INCUMBENT, CANDIDATE), tasks=TASKS, context="another generation"),
    ]
    assert len({request.sweep_id() for request in requests}) == len(requests)


def test_the_plan_holds_what_the_policy_says_about_attempts() -> None:
    plan = planned(make_request(skills=(INCUMBENT,), tasks=TASKS), max_attempts=7, outage_streak=9)
    assert (plan.max_attempts, plan.outage_streak, plan.created_at) == (7, 9, NOW)
    assert [(arm.name, arm.fingerprint) for arm in plan.arms] == [("incumbent", INCUMBENT[2].fingerprint)]


@pytest.mark.parametrize("seed_part", ["context-1", "context-2", "context-3"])
def test_both_arms_of_a_pair_share_the_seed(seed_part: str) -> None:
    plan = planned(make_request(skills=(INCUMBENT, CANDIDATE), tasks=TASKS, runs=2, context=seed_part))
    seeds: dict[tuple[str, int], set[int]] = {}
    for cell in plan.cells:
        seeds.setdefault((cell.identity.task, cell.identity.run), set()).add(cell.identity.seed)
    assert len(seeds) == 10
    assert all(len(found) == 1 for found in seeds.values())


@given(st.integers(2, 6), st.integers(1, 8))
def test_of_any_two_arms_each_goes_before_the_other_equally_often(arms: int, rounds: int) -> None:
    orders = balanced_orders(arms, 2 * arms * rounds, random.Random(f"{arms}-{rounds}"))
    for a in range(arms):
        assert sum(order[0] == a for order in orders) == 2 * rounds
        for b in range(a):
            assert sum(order.index(a) < order.index(b) for order in orders) == arms * rounds


@given(st.integers(1, 4), st.integers(1, 40))
def test_comparators_never_stand_between_the_pair_and_never_on_one_side(beside: int, blocks: int) -> None:
    roles = [Role.INCUMBENT, Role.CANDIDATE, *([Role.COMPARATOR] * beside)]
    arms = tuple(PlanArm(f"arm-{n}", role, make_skill()) for n, role in enumerate(roles))
    orders = orders_of(Group(arms, ()), blocks, random.Random(f"{beside}-{blocks}"))
    pairs = [[place for place in order if place < 2] for order in orders]
    assert all(abs(order.index(0) - order.index(1)) == 1 for order in orders)
    assert abs(sum(pair == [0, 1] for pair in pairs) - sum(pair == [1, 0] for pair in pairs)) <= 2
    last = sum(order[0] >= 2 for order in orders)
    assert abs(2 * last - blocks) <= 1, "comparators come first as often as last"
