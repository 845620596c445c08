"""The Markdown of a candidate's evidence, however large the evidence is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evolve.promote.evidence import Evidence
from evolve.promote.pull_request import text_for
from evolve.records.decision import ArmDecision, Reason, TaskResult
from evolve.records.kinds import Outcome
from evolve.report.markdown import VERDICTS, promotion_report
from evolve.report.shorten import LIMIT_BYTES
from tests.report.test_shorten import assert_whole

MANY = tuple(f"task-{number:05}" for number in range(4_000))


def task(name: str) -> TaskResult:
    return TaskResult(task=name, tier="tight", runs=3, incumbent_resolved=0, candidate_resolved=3)


def large(evidence: Evidence, **fields: object) -> Evidence:
    decision = evidence.promotion.decision.model_copy(update=fields)
    return replace(evidence, promotion=evidence.promotion.model_copy(update={"decision": decision}))


def required(number: int) -> ArmDecision:
    return ArmDecision(arm=f"arm {number}", outcome=Outcome.PROMOTE, reasons=(), tasks=tuple(map(task, MANY[:50])))


HARMED = Reason(code="task-regression", text="worse than is allowed", blocking=True, tasks=MANY)
NO_DIFF: list[str] = []


@pytest.mark.parametrize(
    ("fields", "diff"),
    [
        ({"tasks": tuple(map(task, MANY))}, NO_DIFF),
        ({}, ["+" + "é" * 70] * 5_000),
        ({"tasks": tuple(map(task, MANY))}, ["+" + "`" * 70] * 5_000),
        ({"reasons": (HARMED,) * 40}, NO_DIFF),
        ({"reasons": (HARMED, *(HARMED.model_copy(update={"text": "<b>" * 40_000}),) * 9)}, NO_DIFF),
        ({"required": tuple(map(required, range(300)))}, ["+x"] * 5_000),
    ],
    ids=["tasks", "diff", "both", "reasons", "texts", "arms"],
)
def test_a_report_fits_a_pull_request_and_begins_with_the_decision_and_what_it_rests_on(
    evidence: Evidence, fields: dict[str, object], diff: list[str]
) -> None:
    found = large(evidence, **fields)
    _, body = text_for(found, promotion_report(found, "\n".join(diff)))
    assert len(body.encode()) <= LIMIT_BYTES < 65_536
    assert body.startswith(f"# bracket\n\n**{VERDICTS[Outcome.PROMOTE]}**\n")
    for reason in found.promotion.decision.reasons[:1]:
        assert reason.text in body
    assert "## What it rests on\n\n- Spend: " in body
    assert body.index("## What it rests on") < body.index("## Tasks")
    assert "left out" in body
    assert_whole(body)


def test_tasks_of_a_reason_are_listed_below_it(evidence: Evidence) -> None:
    text = promotion_report(large(evidence, reasons=(HARMED.model_copy(update={"tasks": MANY[:30]}),)), "")
    assert "- **worse than is allowed**: task-00000, " in text
    assert "task-00005 and 24 more" in text
    folded = text.split("<details><summary>Tasks of reasons: 30 rows</summary>")[1].split("</details>")[0]
    assert [name for name in MANY[:30] if f"| task-regression | {name} |" in folded.replace("\\", "")] == [*MANY[:30]]
