"""What a page says, without its markup."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evolve.promote.evidence import Evidence
from evolve.records.decision import Reason, TaskResult
from evolve.records.kinds import ErrorKind, Outcome
from evolve.records.policy import Metric
from evolve.records.promotion import CanaryRecord, ReuseRecord
from evolve.records.row import CheckOutcome, Row, Usage
from evolve.report.page.matrix import PairOfArms, Standing, matrix
from evolve.report.page.rests import Ancestor, drift_sentence, failures_table, lineage_of
from evolve.report.page.usage import QUANTITIES, usage_view
from evolve.report.page.verdict import caveats_of, effect_of, verdict_of
from evolve.report.page.view import Around, page_of
from tests.report.test_markdown import large

WON, LOST, VOID = "won", "lost", "void"


def row_like(row: Row, ending: str | None, score: float | None = None) -> Row | None:
    if ending is None:
        return None
    kind = {WON: None, LOST: ErrorKind.ORACLE_FAILED, VOID: ErrorKind.INFRA_ERROR}[ending]
    oracle = None if score is None else CheckOutcome(passed=ending == WON, score=score)
    return row.model_copy(update={"resolved": kind is None, "kind": kind, "oracle": oracle})


def two_rows(evidence: Evidence) -> tuple[Row, Row]:
    first = next(row for row in evidence.rows if row.arm == "incumbent" and row.identity.run == 0)
    return first, first.model_copy(update={"arm": "candidate"})


def pair(evidence: Evidence, before: Row | None, after: Row | None, metric: Metric, *results: TaskResult) -> PairOfArms:
    rows = [row for row in (before, after) if row is not None]
    task = evidence.rows[0].identity.task
    return PairOfArms("m", "title", "incumbent", "candidate", rows, [task], 1, metric, results)


@pytest.mark.parametrize(
    ("before", "after", "standing", "sign"),
    [
        (LOST, WON, "win", "+"),
        (WON, LOST, "loss", "\u2212"),
        (WON, WON, "equal", "="),
        (LOST, LOST, "equal", "="),
        (VOID, WON, "open", "?"),
        (WON, None, "open", "?"),
        (None, None, "open", "?"),
    ],
)
def test_a_pair_of_runs_has_a_sign(
    evidence: Evidence, before: str | None, after: str | None, standing: Standing, sign: str
) -> None:
    first, second = two_rows(evidence)
    found = matrix(pair(evidence, row_like(first, before), row_like(second, after), Metric.RESOLVE_RATE)).rows[0]
    assert (found.cells[0].standing, found.cells[0].sign) == (standing, sign)
    assert found.regressed == (standing == "loss")
    assert found.standing == standing


def test_a_score_tells_apart_what_is_resolved_in_neither_arm(evidence: Evidence) -> None:
    first, second = two_rows(evidence)
    rows = row_like(first, LOST, 0.8), row_like(second, LOST, 0.5)
    cell = matrix(pair(evidence, *rows, Metric.SCORE)).rows[0].cells[0]
    assert (cell.standing, cell.incumbent, cell.candidate) == ("loss", "\u2717 80", "\u2717 50")
    assert matrix(pair(evidence, *rows, Metric.RESOLVE_RATE)).rows[0].cells[0].standing == "equal"


def test_a_task_that_was_decided_on_is_told_as_it_was_decided(evidence: Evidence) -> None:
    first, second = two_rows(evidence)
    result = TaskResult(
        task=first.identity.task, tier="open", runs=3, incumbent_resolved=3, candidate_resolved=1, extra_runs=12
    )
    found = matrix(pair(evidence, first, second, Metric.RESOLVE_RATE, result)).rows[0]
    assert (found.tier, found.incumbent, found.candidate, found.change) == ("open", "3/3", "1/3", -2)
    assert found.regressed and "12 more runs" in found.note


def test_a_figure_that_is_missing_is_said_to_be_missing(evidence: Evidence) -> None:
    first, second = two_rows(evidence)
    task = first.identity.task
    rows = [
        first.model_copy(update={"usage": Usage(cost_usd_micros=0, turns=4)}),
        first.model_copy(update={"usage": Usage(turns=6)}),
        second.model_copy(update={"usage": Usage(turns=8)}),
    ]
    found = usage_view(PairOfArms("m", "t", "incumbent", "candidate", rows, [task, "other"], 2, Metric.RESOLVE_RATE))
    texts = {
        one.name: tuple(median.text for median in medians)
        for one, medians in zip(QUANTITIES, found.tasks[0].pairs, strict=True)
    }
    assert texts["cost"] == ("0 (1 of 2 runs report it)", "missing")
    assert texts["turns"] == ("5", "8")
    assert texts["input"] == ("missing", "missing")
    assert {median.text for medians in found.tasks[1].pairs for median in medians} == {"not measured"}
    dots = {one.quantity.name: one for one in found.dots}
    assert dots["cost"].tasks == () and "missing is not 0" in dots["cost"].caption
    assert dots["turns"].tasks == ((task, 5.0, 8.0),) and "1 task has no figure" in dots["turns"].caption


def test_what_is_nothing_everywhere_is_said_and_not_drawn(evidence: Evidence) -> None:
    first, second = two_rows(evidence)
    rows = [row.model_copy(update={"usage": Usage(cost_usd_micros=0, turns=0)}) for row in (first, second)]
    rows[1] = rows[1].model_copy(update={"usage": Usage(cost_usd_micros=0, turns=1)})
    pair = PairOfArms("m", "t", "incumbent", "candidate", rows, [first.identity.task], 1, Metric.RESOLVE_RATE)
    dots = {one.quantity.name: one for one in usage_view(pair).dots}
    assert dots["cost"].tasks == ()
    assert dots["cost"].caption == "cost, USD: the median of 1 task is 0 in both arms, so that nothing is drawn"
    assert dots["turns"].tasks == ((first.identity.task, 0.0, 1.0),)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (("improvement", "floor-tasks", "tier-sign-flip"), ["tier-sign-flip", "floor-tasks", "few-tasks-differ"]),
        (("stopped-early", "improvement"), ["stopped-early", "few-tasks-differ"]),
        (("too-few-tasks",), ["too-few-tasks", "few-tasks-differ"]),
        (("improvement", "significant"), ["few-tasks-differ"]),
    ],
)
def test_caveats_stand_apart_and_the_gravest_first(
    evidence: Evidence, codes: tuple[str, ...], expected: list[str]
) -> None:
    reasons = tuple(Reason(code=code, text=f"of {code}", blocking=False) for code in codes)
    found = large(evidence, reasons=reasons).promotion
    assert [one.code for one in caveats_of(found)] == expected
    assert all(one.meaning for one in verdict_of(found).reasons)


@pytest.mark.parametrize(
    ("wins", "losses", "alpha", "told"),
    [
        (8, 0, 0.0304, True),  # 9/256 = 0.0352
        (8, 0, 9 / 256, False),
        (9, 0, 0.0304, False),  # 10/512 = 0.0195
        (4, 5, 0.0304, False),
        (1, 0, 0.9, True),
        (0, 0, 0.0304, False),
    ],
)
def test_too_few_tasks_that_differ_are_a_caveat(
    evidence: Evidence, wins: int, losses: int, alpha: float, told: bool
) -> None:
    decision = evidence.promotion.decision
    assert decision.test is not None
    test = decision.test.model_copy(update={"wins": wins, "losses": losses, "ties": 3, "alpha": alpha})
    promotion = evidence.promotion.model_copy(update={"decision": decision.model_copy(update={"test": test})})
    found = [one for one in caveats_of(promotion) if one.code == "few-tasks-differ"]
    assert bool(found) == told
    assert not told or f"only {wins + losses} of {wins + losses + 3} tasks differ" in found[0].text


def test_what_the_records_hold_against_a_verdict_is_a_caveat(evidence: Evidence) -> None:
    promotion = evidence.promotion
    health = promotion.health[0].model_copy(update={"health": "degraded", "void": 9})
    reuse = promotion.reuse.model_copy(update={"dropped_arms": ("incumbent",)})
    fields = {"left_out": ("dear",), "stopped_early": True, "health": (health,), "reuse": reuse}
    found = caveats_of(promotion.model_copy(update=fields))
    assert [one.code for one in found] == ["few-tasks-differ", "left-out", "ended-early", "health", "drift"]


def test_the_verdict_is_one_sentence_with_what_blocks(evidence: Evidence) -> None:
    reasons = (
        Reason(code="improvement", text="it gains", blocking=False),
        Reason(code="task-lost", text="a task is lost", blocking=True),
    )
    found = verdict_of(large(evidence, outcome=Outcome.KEEP_INCUMBENT, reasons=reasons).promotion)
    assert found.sentence == "Keep the incumbent: the candidate did not pass the gate: a task is lost."


def test_estimates_carry_unit_interval_tasks_and_runs(evidence: Evidence) -> None:
    effect = effect_of(evidence.promotion)
    first, second = effect.estimates[:2]
    assert first.value == "+100.0 percentage points" and first.over == "8 tasks \u00d7 3 runs" and first.decides
    assert first.interval == "+100.0 to +100.0 percentage points (95 %, paired t over tasks)"
    assert second.value.startswith("not comparable: ") and second.interval == "none"
    assert [panel.unit for panel in effect.panels] == ["percentage points"]
    assert [line.value for line in effect.panels[0].thresholds] == [evidence.promotion.policy.min_improvement_pct]


def test_canaries_that_came_out_otherwise_are_counted(evidence: Evidence) -> None:
    promotion = evidence.promotion
    assert drift_sentence(promotion).startswith("No row was reused")
    canary = CanaryRecord(
        arm="incumbent", task="t", run=0, source="s", reused_resolved=True, reused_usage=Usage(), canary_resolved=False
    )
    reuse = ReuseRecord(reused_rows=12, dropped_arms=(), canaries=(canary,))
    told = drift_sentence(promotion.model_copy(update={"reuse": reuse}))
    assert "12 rows were reused, vouched for by 1 canary, of which 1 came out otherwise" in told


def depth(ancestor: Ancestor) -> int:
    return 1 + max(map(depth, ancestor.parents), default=0)


def test_ancestors_are_nested_and_a_circle_ends(evidence: Evidence) -> None:
    promotion = evidence.promotion
    own, arm = promotion.overlay_sha256, promotion.arms[0].fingerprint
    first, second = "1" * 64, "2" * 64
    lineage = promotion.lineage.model_copy(update={"parents": (first,)})
    found = lineage_of(promotion.model_copy(update={"lineage": lineage}), {first: (second, arm), second: (own, first)})
    assert depth(found) == 4
    assert [one.text for one in found.parents[0].parents] == [
        "an overlay",
        f"the skills of arm {promotion.arms[0].name}",
    ]
    assert {one.text for one in found.parents[0].parents[0].parents} == {"and further"}
    wide = {digest * 64: tuple(other * 64 for other in "0123456789abcdef") for digest in "0123456789abcdef"}
    lineage = lineage.model_copy(update={"parents": tuple(wide)})
    assert count(lineage_of(promotion.model_copy(update={"lineage": lineage}), wide)) == 101


def count(ancestor: Ancestor) -> int:
    return 1 + sum(map(count, ancestor.parents))


def test_more_failures_than_are_shown_are_counted(evidence: Evidence) -> None:
    failed = [row_like(evidence.rows[0], LOST)] * 250
    found = failures_table([row for row in failed if row is not None])
    assert len(found.rows) == 200 and "50 more are left out" in found.caption


def test_a_page_needs_no_row_to_say_what_was_decided(evidence: Evidence) -> None:
    page = page_of(replace(evidence, rows=()), Around())
    assert page.verdict is not None and page.verdict.outcome == "promote"
    assert page.matrices[0].rows[0].cells[0].words.startswith("not compared")


def test_no_number_of_runs_is_too_large_to_be_shown(evidence: Evidence) -> None:
    first, second = two_rows(evidence)
    found = matrix(replace(pair(evidence, first, second, Metric.RESOLVE_RATE), runs=10**9))
    assert len(found.runs) == 100 and "first 100 of 1,000,000,000 runs" in found.caption


@pytest.mark.parametrize("figure", [1e308, -1e308, float("inf"), float("nan")])
def test_an_estimate_that_no_axis_holds_is_in_the_table_alone(evidence: Evidence, figure: float) -> None:
    estimate = evidence.promotion.decision.estimates[0].model_copy(update={"value": 1.0, "high": figure})
    effect = effect_of(large(evidence, estimates=(estimate,)).promotion)
    assert len(effect.estimates) == 1 and effect.panels == ()
