"""The promotion gate."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.gate import early
from evolve.gate.decide import GateInput, decide, is_decided
from evolve.gate.table import tables_of
from evolve.records.decision import Decision, Reason
from evolve.records.kinds import ErrorKind, Outcome, Role, Split
from evolve.records.row import Row
from evolve.stats.multiplicity import alpha_at
from tests.builders import digest_of, make_identity, make_policy, make_row

ALPHA = alpha_at(1, 0.05)


def cannot_pass(given: GateInput) -> tuple[Reason, ...]:
    return early.cannot_pass(given, tables_of(given, given.policy.metric))


def cannot_fail(given: GateInput) -> bool:
    return early.cannot_fail(given, tables_of(given, given.policy.metric))


RANK = {Outcome.PROMOTE: 2, Outcome.KEEP_INCUMBENT: 1, Outcome.INSUFFICIENT_EVIDENCE: 0}

# One task: how many of three runs each arm resolved.
Counts = tuple[int, int]


def task_rows(task: str, counts: Counts, runs: int = 3) -> list[Row]:
    return [
        make_row(task, run, role=role, resolved=run < resolved)
        for role, resolved in zip((Role.INCUMBENT, Role.CANDIDATE), counts, strict=True)
        for run in range(runs)
    ]


def rows_of(table: Sequence[Counts], runs: int = 3) -> tuple[Row, ...]:
    return tuple(row for number, counts in enumerate(table) for row in task_rows(f"t-{number}", counts, runs))


def given_of(rows: Sequence[Row], tasks: int, *, alpha: float = ALPHA, runs: int = 3, **policy: Any) -> GateInput:
    return GateInput(tuple(rows), tuple(f"t-{n}" for n in range(tasks)), runs, make_policy(**policy), alpha)


def decided(table: Sequence[Counts], **policy: Any) -> Decision:
    return decide(given_of(rows_of(table), len(table), **policy))


def codes(decision: Decision) -> dict[str, Reason]:
    return {reason.code: reason for reason in decision.reasons}


def blocking(decision: Decision) -> set[str]:
    return {reason.code for reason in decision.reasons if reason.blocking}


tables = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=6, max_size=12)
winning_tables = st.lists(
    st.sampled_from([(0, 3), (1, 3), (0, 2), (2, 3), (1, 1), (3, 3), (2, 2)]), min_size=6, max_size=12
)


def test_a_clear_win_is_promoted_with_its_reasons_and_numbers() -> None:
    decision = decided([(1, 3)] * 6 + [(3, 3)] * 2)
    assert decision.outcome is Outcome.PROMOTE
    assert set(codes(decision)) == {"improvement", "significant", "ceiling-tasks"}
    assert blocking(decision) == set()
    estimate, test = decision.estimates[0], decision.test
    assert (estimate.value, estimate.tasks, estimate.runs, estimate.unit) == (50, 8, 3, "percentage points")
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < 50 < estimate.high
    assert test is not None
    assert (test.p_value, test.alpha, test.wins, test.losses, test.ties) == (1 / 64, ALPHA, 6, 0, 2)
    assert [(t.incumbent_resolved, t.candidate_resolved) for t in decision.tasks] == [(1, 3)] * 6 + [(3, 3)] * 2


@pytest.mark.parametrize(
    ("table", "policy", "outcome", "expected"),
    [
        ([(1, 3)] * 6, {}, Outcome.PROMOTE, {"improvement", "significant"}),
        ([(2, 2)] * 6, {}, Outcome.KEEP_INCUMBENT, {"improvement-too-small", "too-few-wins", "not-significant"}),
        ([(1, 3)] * 4 + [(2, 2)] * 2, {}, Outcome.KEEP_INCUMBENT, {"improvement", "not-significant"}),
        (
            [(1, 2)] * 6 + [(2, 2)] * 6,
            {"min_improvement_pct": 17},
            Outcome.KEEP_INCUMBENT,
            {"improvement-too-small", "significant"},
        ),
        (
            [(0, 3)] * 11 + [(3, 0)],
            {"max_task_regression_pct": 100},
            Outcome.KEEP_INCUMBENT,
            {"task-lost", "improvement", "significant"},
        ),
        (
            [(0, 3)] * 11 + [(2, 1)],
            {},
            Outcome.INSUFFICIENT_EVIDENCE,
            {"needs-extra-runs", "improvement", "significant"},
        ),
        (
            [(0, 3)] * 11 + [(2, 1)],
            {"extra_runs": 0},
            Outcome.KEEP_INCUMBENT,
            {"task-regression", "improvement", "significant"},
        ),
        (
            [(0, 3)] * 11 + [(2, 1)],
            {"preset": "thresholds"},
            Outcome.KEEP_INCUMBENT,
            {"task-regression", "improvement"},
        ),
        ([(1, 3)] * 4 + [(2, 2)] * 2, {"preset": "thresholds"}, Outcome.PROMOTE, {"improvement"}),
        ([(1, 3)] + [(2, 2)] * 7, {"preset": "thresholds"}, Outcome.KEEP_INCUMBENT, {"improvement", "too-few-wins"}),
        (
            [(0, 3)] * 11 + [(3, 0)],
            {},
            Outcome.KEEP_INCUMBENT,
            {"task-lost", "task-regression", "improvement", "significant"},
        ),
        ([(1, 3)] * 6 + [(0, 0)], {}, Outcome.PROMOTE, {"improvement", "significant", "floor-tasks"}),
        ([(1, 3)] * 6 + [(3, 3)], {}, Outcome.PROMOTE, {"improvement", "significant", "ceiling-tasks"}),
        ([(1, 3)] * 5, {}, Outcome.INSUFFICIENT_EVIDENCE, {"too-few-tasks"}),
        ([(1, 3)] * 6, {"min_runs": 4}, Outcome.INSUFFICIENT_EVIDENCE, {"too-few-runs"}),
        ([(1, 3)] * 7 + [(2, 1)], {"max_task_regression_pct": 34}, Outcome.PROMOTE, {"improvement", "significant"}),
    ],
)
def test_each_reason_stands_where_it_belongs(
    table: list[Counts], policy: dict[str, Any], outcome: Outcome, expected: set[str]
) -> None:
    decision = decided(table, **policy)
    assert (decision.outcome, set(codes(decision))) == (outcome, expected)


def test_the_harm_reasons_name_their_tasks() -> None:
    found = codes(decided([(0, 3)] * 10 + [(3, 0), (2, 1)]))
    assert found["task-lost"].tasks == ("t-10",)
    assert found["task-regression"].tasks == ("t-10",)
    found = codes(decided([(0, 3)] * 10 + [(3, 0), (2, 1)], extra_runs=0))
    assert found["task-regression"].tasks == ("t-10", "t-11")


@pytest.mark.parametrize(("limit", "blocked"), [(33, True), (33.333333, True), (33.333334, False), (34, False)])
def test_a_regression_at_the_limit_is_decided_by_its_exact_size(limit: float, blocked: bool) -> None:
    decision = decided([(0, 3)] * 11 + [(2, 1)], max_task_regression_pct=limit, extra_runs=0)
    assert ("task-regression" in blocking(decision)) == blocked


@pytest.mark.parametrize(("wanted", "enough"), [(25, True), (25.000001, False)])
def test_an_improvement_of_exactly_what_is_asked_for_is_enough(wanted: float, enough: bool) -> None:
    decision = decided([(1, 2)] * 9 + [(2, 2)] * 3, min_improvement_pct=wanted)
    assert ("improvement" in codes(decision)) == enough


def test_the_sign_flip_test_and_mcnemar_count_differently() -> None:
    table: list[Counts] = [(0, 3)] * 6 + [(2, 1)]
    flip = decided(table, max_task_regression_pct=50).test
    mcnemar = decided(table, max_task_regression_pct=50, test="mcnemar_exact").test
    assert flip is not None and mcnemar is not None
    assert (flip.p_value, mcnemar.p_value) == (2 / 128, 8 / 128)


def _without(rows: list[Row], number: int) -> list[Row]:
    return rows[:number] + rows[number + 1 :]


def _replaced(rows: list[Row], number: int, **identity: Any) -> list[Row]:
    row = rows[number]
    values = {**row.identity.model_dump(), **identity}
    changed = make_row(role=row.role, resolved=row.resolved, identity=make_identity(**values))
    return [*rows[:number], changed, *rows[number + 1 :]]


def _voided(rows: list[Row], number: int, kind: ErrorKind = ErrorKind.INFRA_ERROR) -> list[Row]:
    row = rows[number]
    void = make_row(row.identity.task, row.identity.run, role=row.role, kind=kind)
    return [*rows[:number], void, *rows[number + 1 :]]


@pytest.mark.parametrize("number", [0, 5, 17, 35])
def test_a_missing_a_void_and_a_doubled_row_are_insufficient_evidence(number: int) -> None:
    rows = list(rows_of([(1, 3)] * 6))
    task = rows[number].identity.task
    foreign = make_row("foreign", 0)
    for broken in (
        _without(rows, number),
        _voided(rows, number),
        _voided(rows, number, ErrorKind.CONTAMINATED),
        [*rows, rows[number]],
        _replaced(rows, number, run=3),
    ):
        decision = decide(given_of(broken, 6))
        assert decision.outcome is Outcome.INSUFFICIENT_EVIDENCE
        assert codes(decision)["incomplete"].tasks == (task,)
    assert codes(decide(given_of([*rows, foreign], 6)))["incomplete"].tasks == ("foreign",)
    assert codes(decide(given_of([*rows, _voided(rows, number)[number]], 6))).keys() == {"improvement", "significant"}


@pytest.mark.parametrize("role", [Role.INCUMBENT, Role.CANDIDATE])
def test_an_arm_without_any_row_is_insufficient_evidence(role: Role) -> None:
    rows = [row for row in rows_of([(1, 3)] * 6) if row.role is not role]
    assert set(codes(decide(given_of(rows, 6)))["incomplete"].tasks) == {f"t-{n}" for n in range(6)}


def test_no_rows_and_no_tasks_are_insufficient_evidence() -> None:
    assert codes(decide(given_of([], 6))).keys() == {"incomplete"}
    assert decide(given_of([], 0)).outcome is Outcome.INSUFFICIENT_EVIDENCE


@pytest.mark.parametrize(
    "change",
    [
        {"fingerprint": digest_of("another text")},
        {"agent_sha256": digest_of("another agent")},
        {"runtime_sha256": digest_of("another runtime")},
        {"seed": 4242},
        {"task_sha256": digest_of("another task")},
        {"oracle_sha256": digest_of("another oracle")},
        {"sandbox": "host"},
    ],
)
@pytest.mark.parametrize("number", [0, 5])
def test_rows_of_different_origin_are_mixed_evidence(change: dict[str, Any], number: int) -> None:
    rows = _replaced(list(rows_of([(1, 3)] * 6)), number, **change)
    decision = decide(given_of(rows, 6))
    assert decision.outcome is Outcome.INSUFFICIENT_EVIDENCE
    assert "mixed-evidence" in codes(decision)


def test_all_faults_of_the_evidence_are_listed() -> None:
    rows = _replaced(list(rows_of([(1, 3)] * 6)), 0, runtime_sha256=digest_of("x"))[:-1]
    assert codes(decide(given_of(rows, 6, min_runs=4))).keys() == {"too-few-runs", "incomplete", "mixed-evidence"}


def control_rows(resolved: Sequence[int], text: str = "incumbent") -> list[Row]:
    return [
        make_row(
            f"t-{n}", run, role=Role.CONTROL, resolved=run < count, identity=make_identity(f"t-{n}", run, text=text)
        )
        for n, count in enumerate(resolved)
        for run in range(3)
    ]


def test_a_control_that_is_like_the_incumbent_changes_nothing() -> None:
    rows = rows_of([(1, 3)] * 6)
    for resolved in ([1] * 6, [2, 0, 1, 1, 1, 1], [3, 1, 1, 1, 1, 1]):
        assert decide(given_of([*rows, *control_rows(resolved)], 6)) == decide(given_of(rows, 6))


@pytest.mark.parametrize("resolved", [0, 2, 3])
def test_a_control_that_differs_from_the_incumbent_makes_the_evidence_unusable(resolved: int) -> None:
    rows = rows_of([(1, 3)] * 8)
    decision = decide(given_of([*rows, *control_rows([resolved] * 8)], 8))
    assert (decision.outcome, set(codes(decision))) == (Outcome.INSUFFICIENT_EVIDENCE, {"control-differs"})
    numbers = codes(decision)["control-differs"].numbers
    assert numbers == {"p_value": 2 / 256, "control_alpha": 0.05}


def test_a_control_must_be_whole_have_the_incumbents_text_and_be_there_when_asked_for() -> None:
    rows = rows_of([(1, 3)] * 8)
    assert codes(decide(given_of(rows, 8, control=True))).keys() == {"no-control"}
    partial = control_rows([1] * 8)[:-1]
    assert codes(decide(given_of([*rows, *partial], 8)))["control-incomplete"].tasks == ("t-7",)
    other = control_rows([1] * 8, text="another")
    assert codes(decide(given_of([*rows, *other], 8))).keys() == {"mixed-evidence"}
    assert decide(given_of([*rows, *control_rows([1] * 8)], 8, control=True)).outcome is Outcome.PROMOTE


@given(tables, st.randoms())
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_rows_does_not_change_a_byte(table: list[Counts], rng: random.Random) -> None:
    rows = list(rows_of(table))
    expected = decide(given_of(rows, len(table))).canonical()
    rng.shuffle(rows)
    tasks = [f"t-{n}" for n in range(len(table))]
    rng.shuffle(tasks)
    assert decide(GateInput(tuple(rows), tuple(tasks), 3, make_policy(), ALPHA)).canonical() == expected


@given(winning_tables, st.data(), st.sampled_from(["sign_flip", "mcnemar_exact"]))
@settings(max_examples=80, deadline=None)
def test_a_candidate_that_fails_once_more_is_never_better_off(
    table: list[Counts], data: st.DataObject, test: str
) -> None:
    rows = list(rows_of(table))
    resolved = [n for n, row in enumerate(rows) if row.role is Role.CANDIDATE and row.resolved]
    number = data.draw(st.sampled_from(resolved))
    row = rows[number]
    failed = make_row(row.identity.task, row.identity.run, role=row.role, resolved=False)
    policy: dict[str, Any] = {"test": test, "max_task_regression_pct": 40}
    before = decide(given_of(rows, len(table), **policy))
    after = decide(given_of([*rows[:number], failed, *rows[number + 1 :]], len(table), **policy))
    assert RANK[after.outcome] <= RANK[before.outcome]
    assert before.test is not None and after.test is not None
    assert after.test.p_value >= before.test.p_value
    assert (after.estimates[0].value or 0) < (before.estimates[0].value or 0)
    assert blocking(before) <= blocking(after)


@pytest.mark.parametrize("test", ["sign_flip", "mcnemar_exact"])
@pytest.mark.parametrize("tasks", [1, 2, 6, 12, 20])
@pytest.mark.parametrize("flip", [(0, 3), (0, 1), (2, 3)])
def test_exactly_one_flipped_task_is_never_enough(tasks: int, flip: Counts, test: str) -> None:
    table = [flip] + [(1, 1)] * (tasks - 1)
    decision = decided(table, test=test, min_improvement_pct=0)
    assert decision.outcome is not Outcome.PROMOTE


@given(tables)
@settings(max_examples=40, deadline=None)
def test_swapping_the_arms_never_promotes_both(table: list[Counts]) -> None:
    swapped = [(candidate, incumbent) for incumbent, candidate in table]
    outcomes = (decided(table).outcome, decided(swapped).outcome)
    assert outcomes != (Outcome.PROMOTE, Outcome.PROMOTE)


@given(st.lists(st.integers(0, 3), min_size=6, max_size=12))
@settings(max_examples=30, deadline=None)
def test_equal_arms_are_never_promoted(resolved: list[int]) -> None:
    decision = decided([(count, count) for count in resolved], min_improvement_pct=0)
    assert decision.outcome is Outcome.KEEP_INCUMBENT
    assert decision.estimates[0].value == 0


@pytest.mark.parametrize(("look", "promoted"), [(1, True), (2, False)])
def test_a_later_look_needs_stronger_evidence(look: int, promoted: bool) -> None:
    rows = rows_of([(1, 3)] * 6 + [(2, 2)] * 2)
    decision = decide(given_of(rows, 8, alpha=alpha_at(look, 0.05)))
    assert (decision.outcome is Outcome.PROMOTE) == promoted


def test_one_task_has_a_bounded_interval_and_is_too_few() -> None:
    decision = decided([(0, 3)])
    assert decision.outcome is Outcome.INSUFFICIENT_EVIDENCE
    assert (decision.estimates[0].low, decision.estimates[0].high) == (-100, 100)
    decision.canonical()


def test_rows_of_another_split_decide_nothing() -> None:
    rows = [row.model_copy(update={"split": Split.SELECTION}) for row in rows_of([(0, 3)] * 8)]
    decision = decide(given_of(rows, 8))
    assert decision.outcome is Outcome.INSUFFICIENT_EVIDENCE
    assert set(codes(decision)) == {"mixed-evidence"}


def test_counts_of_runs_are_tested_exactly_whatever_their_number() -> None:
    few, many = decided([(0, 3)] * 8).test, decided([(0, 3)] * 122).test
    assert few is not None
    assert many is not None
    assert few.name == many.name == "exact sign-flip test over tasks"
    assert many.p_value == 0.5**122


anything = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
nearly_won = st.tuples(st.integers(0, 1), st.integers(2, 3), st.integers(1, 3), st.integers(2, 3))
partial_tables = st.one_of(
    st.lists(anything, min_size=6, max_size=9),
    st.lists(st.one_of(nearly_won, nearly_won, anything), min_size=7, max_size=9),
)


@settings(max_examples=60, deadline=None)
@given(partial_tables, st.randoms(use_true_random=False))
def test_what_is_decided_early_is_decided_so_by_every_outcome_of_the_rest(
    table: list[tuple[int, int, int, int]], rng: random.Random
) -> None:
    """A partial table that is cut short must be decided the same, however the missing cells turn out."""
    known, full = [], []
    for number, (incumbent, candidate, seen_incumbent, seen_candidate) in enumerate(table):
        rows = task_rows(f"t-{number}", (incumbent, candidate))
        known += rows[:seen_incumbent] + rows[3 : 3 + seen_candidate]
        rest = [row for row in rows if row not in known]
        full += [*(row for row in rows if row in known), *(with_outcome(row, rng.random() < 0.5) for row in rest)]
    partial = given_of(known, len(table), futility=0)
    stopped = decide(replace(partial, stopped_early=True))
    if cannot_pass(partial):
        assert decide(given_of(full, len(table), futility=0)).outcome is not Outcome.PROMOTE
        assert stopped.outcome is Outcome.KEEP_INCUMBENT
    elif cannot_fail(partial):
        assert decide(given_of(full, len(table), futility=0)).outcome is Outcome.PROMOTE
        assert stopped.outcome is Outcome.PROMOTE
    else:
        assert stopped.outcome is Outcome.INSUFFICIENT_EVIDENCE
        return
    assert is_decided(partial)
    assert "stopped-early" in codes(stopped)


def with_outcome(row: Row, resolved: bool) -> Row:
    kind = None if resolved else ErrorKind.ORACLE_FAILED
    return row.model_copy(update={"resolved": resolved, "kind": kind})


def test_what_has_won_already_is_promoted_with_the_worst_of_the_rest_as_its_figures() -> None:
    rows = [row for number in range(8) for row in task_rows(f"t-{number}", (0, 3)) if row.identity.run < 2]
    stopped = decide(replace(given_of(rows, 8), stopped_early=True))
    assert stopped.outcome is Outcome.PROMOTE
    assert codes(stopped)["stopped-early"].numbers == {"measured": 32, "planned": 48}
    assert [(t.incumbent_resolved, t.candidate_resolved) for t in stopped.tasks] == [(1, 2)] * 8
    assert stopped.estimates[0].value == pytest.approx(33.3, abs=0.1)


def test_a_void_cell_leaves_everything_open() -> None:
    rows = task_rows("t-0", (3, 0))
    assert is_decided(given_of(rows, 8))
    void = task_rows("t-1", (3, 3))[0].model_copy(update={"kind": ErrorKind.SESSION_ERROR, "resolved": False})
    assert not is_decided(given_of([*rows, void], 8))
    stopped = decide(replace(given_of([*rows, void], 8), stopped_early=True))
    assert stopped.outcome is Outcome.INSUFFICIENT_EVIDENCE


def test_a_lost_task_ends_it_at_once_and_says_what_was_measured() -> None:
    rows = task_rows("t-0", (3, 0))
    stopped = decide(replace(given_of(rows, 8), stopped_early=True))
    assert stopped.outcome is Outcome.KEEP_INCUMBENT
    assert codes(stopped)["stopped-early"].numbers == {"measured": 6, "planned": 48}
    assert "best-case-task-lost" in codes(stopped)


def test_rows_that_leave_everything_open_are_no_reason_to_stop() -> None:
    assert cannot_pass(given_of([], 8)) == ()
    stopped = decide(replace(given_of([], 8), stopped_early=True))
    assert set(codes(stopped)) == {"stopped-too-early"}


def test_a_row_that_stands_twice_is_found_in_partial_evidence_too() -> None:
    rows = task_rows("t-0", (3, 0))
    stopped = decide(replace(given_of([*rows, rows[0]], 8), stopped_early=True))
    assert stopped.outcome is Outcome.INSUFFICIENT_EVIDENCE
    assert set(codes(stopped)) == {"incomplete"}
