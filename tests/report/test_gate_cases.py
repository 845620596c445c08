"""The decision of the gate as JUnit XML."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evolve.promote.evidence import Evidence
from evolve.records.decision import ArmDecision, Estimate, Reason, TaskResult
from evolve.records.kinds import ErrorKind, Outcome, Role
from evolve.report.gate_cases import estimate_sentence, gate_junit
from evolve.report.junit import Case, Ending, suite

HOSTILE = 'a <b> "c" & \x00\x1b[31m\ud800 ]]> \ufffe'


def decided(evidence: Evidence, **fields: object) -> Evidence:
    promotion = evidence.promotion
    return replace(
        evidence,
        promotion=promotion.model_copy(update={"decision": promotion.decision.model_copy(update=fields)}),
    )


def endings(data: bytes) -> dict[tuple[str, str], str]:
    root = ElementTree.fromstring(data)
    kinds = ("failure", "error", "skipped")
    found = {
        (case.attrib["classname"], case.attrib["name"]): next((k for k in kinds if case.find(k) is not None), "passed")
        for case in root.findall("testcase")
    }
    assert len(found) == int(root.attrib["tests"]), "a name stands for one case"
    counts = [(kind, list(found.values()).count(kind)) for kind in kinds]
    attributes = ("failures", "errors", "skipped")
    assert [count for _, count in counts] == [int(root.attrib[name]) for name in attributes]
    return found


def test_what_is_proven_passes_each_check_and_each_task(evidence: Evidence) -> None:
    found = endings(gate_junit(evidence))
    assert set(found.values()) == {"passed"}
    assert {name for place, name in found if place == "gate"} == {"improvement", "significant"}
    assert {name for place, name in found if place != "gate"} == {one.task for one in evidence.promotion.sealed}


def test_blocking_reasons_fail_and_the_others_pass(evidence: Evidence) -> None:
    reasons = (
        Reason(code="task-regression", text="worse", blocking=True, tasks=("a", "b")),
        Reason(code="task-regression", text="worse again", blocking=True),
        Reason(code="floor-tasks", text="told", blocking=False),
    )
    data = gate_junit(decided(evidence, reasons=reasons))
    found = endings(data)
    assert found["gate", "task-regression"] == found["gate", "task-regression (2)"] == "failure"
    assert found["gate", "floor-tasks"] == "passed"
    assert b'message="worse: a, b"' in data


@pytest.mark.parametrize(
    ("before", "after", "metric", "ending"),
    [
        (3, 2, None, "failure"),
        (2, 3, None, "passed"),
        (3, 3, (0.9, 0.8), "failure"),
        (2, 3, (0.9, 0.8), "passed"),
        (3, 3, (0.8, 0.9), "passed"),
    ],
)
def test_a_task_fails_that_the_candidate_lost(
    evidence: Evidence, before: int, after: int, metric: tuple[float, float] | None, ending: str
) -> None:
    first = evidence.promotion.sealed[0].task
    figures = {} if metric is None else {"incumbent": metric[0], "candidate": metric[1]}
    one = TaskResult(task=first, tier="tight", runs=3, incumbent_resolved=before, candidate_resolved=after, **figures)
    tasks = (one, *evidence.promotion.decision.tasks[1:])
    assert endings(gate_junit(decided(evidence, tasks=tasks)))["sealed tasks", first] == ending


def test_a_task_that_costs_less_is_not_lost(evidence: Evidence) -> None:
    first = evidence.promotion.sealed[0].task
    policy = evidence.promotion.policy.model_copy(update={"metric": "cost_usd"})
    evidence = replace(evidence, promotion=evidence.promotion.model_copy(update={"policy": policy}))
    one = TaskResult(
        task=first, tier="tight", runs=3, incumbent_resolved=3, candidate_resolved=3, incumbent=2.0, candidate=1.0
    )
    assert endings(gate_junit(decided(evidence, tasks=(one,))))["sealed tasks", first] == "passed"


@pytest.mark.parametrize("gone", ["missing", "void"])
def test_a_task_of_which_a_run_was_not_validly_measured_is_an_error(evidence: Evidence, gone: str) -> None:
    first = next(row for row in evidence.rows if row.role is Role.CANDIDATE)
    rows = [row for row in evidence.rows if row is not first]
    if gone == "void":
        rows.append(first.model_copy(update={"kind": ErrorKind.INFRA_ERROR, "resolved": False}))
    data = gate_junit(replace(evidence, rows=tuple(rows)))
    found = endings(data)
    assert found.pop(("sealed tasks", first.identity.task)) == "error"
    assert set(found.values()) == {"passed"}
    assert b"not validly measured: 1 of 3 runs of the candidate" in data


def test_undecided_evidence_has_its_tasks_all_the_same(evidence: Evidence) -> None:
    found = endings(gate_junit(replace(decided(evidence, tasks=(), estimates=(), test=None), rows=())))
    assert [found["sealed tasks", one.task] for one in evidence.promotion.sealed] == ["error"] * 8


def test_tasks_left_out_are_skipped_and_required_arms_have_cases_of_their_own(evidence: Evidence) -> None:
    arm = ArmDecision(
        arm=HOSTILE,
        outcome=Outcome.KEEP_INCUMBENT,
        reasons=(Reason(code="not-significant", text=HOSTILE, blocking=True),),
    )
    found = decided(evidence, required=(arm,))
    found = replace(found, promotion=found.promotion.model_copy(update={"left_out": ("dear-task",)}))
    ended = endings(gate_junit(found))
    assert ended["sealed tasks", "dear-task"] == "skipped"
    assert sum(place.startswith("gate: a <b>") and ending == "failure" for (place, _), ending in ended.items()) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(), st.text(), st.text(), st.sampled_from(("passed", "failure", "error", "skipped")))
def test_a_suite_is_xml_whatever_its_texts_hold(place: str, name: str, text: str, ending: Ending) -> None:
    root = ElementTree.fromstring(suite(HOSTILE, [Case(place, name, ending, text)], {name: text, HOSTILE: HOSTILE}))
    assert len(root.findall("testcase")) == 1


def test_an_estimate_never_stands_alone() -> None:
    fields = {"estimand": "e", "confidence": 0.95, "interval": "paired t", "unit": "points", "tasks": 8, "runs": 3}
    known = Estimate.model_validate({**fields, "value": 5.0, "low": 1.0, "high": 9.0})
    assert estimate_sentence(known) == "+5.0 points (95 % interval +1.0 to +9.0, paired t); 8 tasks x 3 runs"
    unknown = Estimate.model_validate({**fields, "value": None, "low": None, "high": None, "not_comparable": "no rows"})
    assert estimate_sentence(unknown) == "not comparable: no rows; 8 tasks x 3 runs"
