"""The page of a decision: it loads nothing, is well-formed and accessible, and takes untrusted text for text."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from evolve.bench.arms import candidate_name
from evolve.bench.books import PLAN_FILE
from evolve.errors import EnvironmentFault, InputError
from evolve.promote.difference import evidence_diff
from evolve.promote.evidence import Evidence
from evolve.promote.git import Repository
from evolve.promote.signatories import signatories
from evolve.propose.diagnostics.columns import ArmDiagnostics
from evolve.propose.diagnostics.finding import FindingKind
from evolve.records.base import read_json
from evolve.records.decision import ArmDecision, Reason, TaskResult
from evolve.records.kinds import ErrorKind, Outcome
from evolve.records.plan import Plan
from evolve.records.row import Row, Usage
from evolve.report.page.html import environment
from evolve.report.page.rests import Fact
from evolve.report.page.sweep import Beside, page_of_sweep
from evolve.report.page.view import Around
from evolve.report.page.write import SECTIONS, page_html
from evolve.workspace import find_workspace
from tests.builders import NOW
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.report.reading import by_id, named, read_page
from tests.report.test_golden import assert_golden
from tests.report.test_markdown import large

SVG = re.compile(rb"<svg .*?</svg>", re.DOTALL)
CONTROLS = "\x00 \x1b[31m \u202e \u2066 \u200f \ud800 \r"
HOSTILE = f'<script>alert(1)</script></style></title>--><!-- "onload="alert(1)\' {{{{ 7 * 7 }}}} $x$ {CONTROLS}'
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def around(measured: Measured, evidence: Evidence) -> Around:
    workspace = find_workspace(measured.root)
    diff = evidence_diff(workspace, Repository(workspace.root), measured.evidence())
    return Around(diff=diff, signed=signatories(evidence).lines)


def with_usage(evidence: Evidence, **figures: int) -> Evidence:
    rows = tuple(row.model_copy(update={"usage": row.usage.model_copy(update=figures)}) for row in evidence.rows)
    return replace(evidence, rows=rows)


def test_a_page_is_well_formed_loads_nothing_and_says_all_in_order(measured: Measured, evidence: Evidence) -> None:
    page = read_page(page_html(with_usage(evidence, cost_usd_micros=1_000, turns=3), around(measured, evidence)))
    sections = [element.attributes["id"] for element in named(page, "section")]
    assert sections == [name for name, _ in SECTIONS]
    assert len(named(page, "svg")) == 6
    assert {ins.text for ins in named(page, "ins")} >= {"## Examples"}


def test_the_policy_of_the_page_lets_its_own_script_run_and_no_other(evidence: Evidence) -> None:
    page = read_page(page_html(evidence, Around()))
    policy = next(m.attributes["content"] for m in named(page, "meta") if "http-equiv" in m.attributes)
    script = named(page, "script")[0].text.encode()
    assert base64.b64encode(hashlib.sha256(script).digest()).decode() in policy
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")


def test_the_same_evidence_gives_the_same_bytes(measured: Measured, evidence: Evidence) -> None:
    given = with_usage(evidence, cost_usd_micros=1_000), around(measured, evidence)
    assert page_html(*given) == page_html(*given)


def test_the_page_of_the_small_promotion(measured: Measured, evidence: Evidence) -> None:
    released = replace(evidence, promotion=evidence.promotion.model_copy(update={"evolve_version": "0"}))
    data = page_html(released, around(measured, evidence))
    body = data[data.index(b"<body>") : data.index(b"<script>")]
    assert_golden("promotion.html", SVG.sub(b"<svg></svg>", body))


def hostile(evidence: Evidence, text: str) -> Evidence:
    promotion = evidence.promotion
    reason = Reason(code="floor-tasks", text=text, blocking=False)
    strange = reason.model_copy(update={"code": text[:500], "blocking": True})
    estimate = promotion.decision.estimates[0].model_copy(update={"estimand": text, "interval": text, "unit": text})
    arm = ArmDecision(arm=text, outcome=Outcome.KEEP_INCUMBENT, reasons=(reason,), estimates=(estimate,))
    decision = promotion.decision.model_copy(
        update={"reasons": (reason, strange), "estimates": (estimate,), "required": (arm,)}
    )
    lineage = promotion.lineage.model_copy(
        update={"rationale": text, "expected_effect": text, "risks": (text,), "model": text}
    )
    fields = {"decision": decision, "lineage": lineage, "sweep": text, "evolve_version": text}
    rows = (*evidence.rows[:-1], failed(evidence.rows[-1], text))
    return replace(evidence, promotion=promotion.model_copy(update=fields), rows=rows)


def failed(row: Row, detail: str) -> Row:
    return row.model_copy(update={"resolved": False, "kind": ErrorKind.VERIFY_FAILED, "detail": detail})


def test_untrusted_text_is_text_and_what_hides_is_seen(evidence: Evidence) -> None:
    diff = f"--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-{HOSTILE}\n+{HOSTILE} and more".replace("\r", "")
    data = page_html(hostile(evidence, HOSTILE), Around(diff=diff, signed=(HOSTILE,)))
    page = read_page(data)
    assert b"alert(1)</script>" not in data
    assert not STEERING.search(data.decode())
    for place in ("verdict", "effect", "tasks", "change", "provenance"):
        text = by_id(page, place).text
        assert "<script>alert(1)</script></style>" in text, place
        assert "{{ 7 * 7 }}" in text
        assert "\\x00 \\x1b[31m \\u202e \\u2066 \\u200f \\ud800" in text, place


def test_endless_text_is_shortened_and_what_was_left_out_is_counted(evidence: Evidence) -> None:
    endless = "x<" * 5_000_000
    diff = f"--- a/x\n+++ b/x\n@@ -0,0 +1,1 @@\n+{endless}"
    data = page_html(hostile(evidence, endless), Around(diff=diff, signed=(endless,)))
    assert len(data) < 300_000
    texts = [by_id(read_page(data), place).text for place in ("verdict", "tasks", "change", "provenance")]
    assert all("more characters)" in text for text in texts)
    assert "(9,999,000 more characters)" in texts[2]


def test_without_matplotlib_the_remedy_is_named(
    measured: Measured, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = evolve("report", str(measured.folder), "--html")
    assert ran.code == EnvironmentFault.exit_code
    assert "needs matplotlib" in ran.err and "pip install matplotlib" in ran.err


def test_the_command_writes_the_page(measured: Measured, evolve: CommandLine) -> None:
    ran = evolve("report", str(measured.folder), "--html", "--output", "page.html")
    assert (ran.code, ran.out, ran.err) == (0, "", "written: page.html\n")
    assert by_id(read_page(Path("page.html").read_bytes()), "verdict").attributes["class"] == "verdict promote"


def test_a_large_promotion_is_a_small_page_in_time(evidence: Evidence) -> None:
    began = time.perf_counter()
    data = page_html(many(evidence, 834), Around())
    assert time.perf_counter() - began < 20
    assert len(data) < 2_000_000
    assert len(by_id(read_page(data), "matrix-1").children[2].children) == 834


def many(evidence: Evidence, tasks: int) -> Evidence:
    """Return evidence of so many tasks with six rows each."""
    names = [f"task-{number:05}" for number in range(tasks)]
    sealed = tuple(evidence.promotion.sealed[0].model_copy(update={"task": name}) for name in names)
    kept = [row for row in evidence.rows if row.identity.task == evidence.rows[0].identity.task]
    usage = kept[0].usage.model_copy(update={"cost_usd_micros": 1_234_567, "turns": 12, "session_ms": 65_432})
    rows = tuple(
        row.model_copy(update={"identity": row.identity.model_copy(update={"task": name}), "usage": usage})
        for name in names
        for row in kept
    )
    results = tuple(
        TaskResult(task=name, tier="tight", runs=3, incumbent_resolved=0, candidate_resolved=3) for name in names
    )
    found = large(evidence, tasks=results)
    return replace(found, promotion=found.promotion.model_copy(update={"sealed": sealed}), rows=rows)


def test_a_sweep_has_a_page_without_a_verdict(measured: Measured, evolve: CommandLine) -> None:
    ran = evolve("report", measured.evidence().promotion.sweep, "--html")
    page = read_page(ran.out.encode())
    sections = [element.attributes["id"] for element in named(page, "section")]
    assert sections == ["tasks", "usage", "spend", "position", "provenance"]
    assert "It decides nothing" in named(page, "header")[0].text
    assert "24 won, 0 lost" in by_id(page, "matrix-1").children[0].text


def test_a_sweep_tells_what_was_voided_and_what_transcripts_show(measured: Measured, evidence: Evidence) -> None:
    plan = read_json(Plan, find_workspace(measured.root).sweeps / measured.evidence().promotion.sweep / PLAN_FILE)
    usage = Usage(cost_usd_micros=2_000_000)
    void = evidence.rows[0].model_copy(update={"resolved": False, "kind": ErrorKind.INFRA_ERROR, "usage": usage})
    column = ArmDiagnostics("incumbent", 24, 12, {kind: 1.5 for kind in FindingKind})
    found = page_of_sweep(plan, evidence.rows, beside=Beside((void, void), (column,)))
    assert Fact("voided attempts", "2, which cost 4.00 USD") in found.spend
    assert found.health is not None and found.diagnostics is not None
    assert {row[0]: row[1:] for row in found.health.rows} == {
        "candidate": ("degraded", "24", "0", "2"),
        "incumbent": ("ok", "24", "0", "0"),
    }
    assert found.diagnostics.rows[0] == ("cells diagnosed", "12/24")
    assert found.diagnostics.rows[1][1] == "1.50"
    quiet = page_of_sweep(plan, evidence.rows)
    assert quiet.diagnostics is None and Fact("voided attempts", "none") in quiet.spend


def test_a_sweep_of_one_arm_has_no_page(evidence: Evidence) -> None:
    plan = Plan(
        sweep="s-one",
        purpose="baseline",
        context="",
        created_at=NOW,
        runs=1,
        max_attempts=1,
        outage_streak=1,
        cache="warm",
        agent={},
        arms=evidence.promotion.arms[:1],
        cells=(),
    )
    with pytest.raises(InputError, match="no arm stands beside"):
        page_of_sweep(plan, ())


def test_whatever_a_template_is_given_is_escaped_and_visible() -> None:
    shown = environment().from_string("{{ text }}").render(text="<b>\u202e")
    assert shown == "&lt;b&gt;\\u202e"


def test_each_arm_that_it_must_win_in_has_its_own_matrix_and_figures(evidence: Evidence) -> None:
    incumbent, candidate = evidence.promotion.arms
    arms = (
        *evidence.promotion.arms,
        incumbent.model_copy(update={"name": "other"}),
        candidate.model_copy(update={"name": candidate_name("other")}),
    )
    names = {"incumbent": "other", "candidate": candidate_name("other")}
    rows = (*evidence.rows, *(row.model_copy(update={"arm": names[row.arm]}) for row in evidence.rows))
    promotion = evidence.promotion.model_copy(update={"arms": arms})
    page = read_page(page_html(replace(evidence, promotion=promotion, rows=rows), Around()))
    for name in ("matrix-1", "matrix-2"):
        assert "24 won, 0 lost" in by_id(page, name).children[0].text
    assert by_id(page, "h-matrix-2").text == f"other beside {candidate_name('other')}"
    assert len(named(page, "svg")) == 7
