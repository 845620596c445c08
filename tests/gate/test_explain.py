"""Every code that the gate can give is explained, and tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evolve.cli.decisions import decision_text
from evolve.gate.explain import CAVEATS, EXPLANATIONS, explanation
from evolve.records.decision import Decision, Estimate, Reason, TaskResult
from evolve.records.kinds import Outcome
from tests.gate.test_decide import decided

ROOT = Path(__file__).parents[2]
CODE = re.compile(r'(?:code=|code = |_fault\(|_RUNS = |else )"([a-z]+(?:-[a-z]+)+|[a-z]+)"')
SOURCES = sorted(path for path in (ROOT / "evolve/gate").glob("*.py") if path.name != "explain.py")


def codes_in_source() -> set[str]:
    found = {code for path in SOURCES for code in CODE.findall(path.read_text())}
    return {code for code in found if code not in ("main", "lower", "exact", "resampled", "cost", "lose")}


def test_every_code_of_the_source_is_explained_and_no_other() -> None:
    assert len(codes_in_source()) >= 28
    assert codes_in_source() <= EXPLANATIONS.keys()
    texts = "".join(path.read_text() for path in SOURCES)
    assert [code for code in EXPLANATIONS if f'"{code}"' not in texts] == []


@pytest.mark.parametrize("code", EXPLANATIONS)
def test_every_code_has_a_test(code: str) -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests/gate").glob("test_*.py") if path != Path(__file__))
    assert f'"{code}"' in tests or f'-{code}"' in tests


@pytest.mark.parametrize("code", EXPLANATIONS)
def test_an_explanation_is_a_sentence_or_two(code: str) -> None:
    text = EXPLANATIONS[code]
    assert text.endswith(".")
    assert 30 < len(text) < 120
    assert explanation(Reason(code=f"best-case-{code}", text="", blocking=True)) == text


def test_caveats_are_codes() -> None:
    assert EXPLANATIONS.keys() >= CAVEATS


def test_a_sign_that_flips_between_tiers_is_told_first() -> None:
    reasons = (
        Reason(code="improvement", text="better", blocking=False),
        Reason(code="floor-tasks", text="floor", blocking=False),
        Reason(code="tier-sign-flip", text="flips", blocking=False),
    )
    lines = decision_text(Decision(outcome=Outcome.PROMOTE, reasons=reasons)).splitlines()
    assert lines == ["decision: promote", "  !   flips", "  yes better", "      floor"]


def test_a_decision_is_told_with_what_each_reason_means_its_figures_and_its_level() -> None:
    text = decision_text(decided([(1, 3)] * 6 + [(3, 3)] * 2), explained=True)
    assert text.startswith("decision: promote\n  yes +50.0 points over 8 tasks x 3 runs")
    assert EXPLANATIONS["significant"] in text
    assert re.search(r"mean difference of the resolve rate, .* \+50\.0 percentage points .* 8 x 3 +decides", text)
    assert re.search(r"t-0 +tight +1/3 +3/3", text)
    assert "level of this look: 0.0304, one-sided (account inverse-square; looks before it were granted 0)" in text
    assert "means" not in decision_text(decided([(1, 3)] * 6))


def test_what_cannot_be_compared_is_said_to_be_so_with_its_reason() -> None:
    estimate = Estimate(
        estimand="cost",
        value=None,
        low=None,
        high=None,
        confidence=0.95,
        interval="none",
        unit="per cent",
        tasks=3,
        runs=1,
        not_comparable="nobody knows",
    )
    task = TaskResult(
        task="t-0",
        tier="open",
        runs=3,
        incumbent_resolved=0,
        candidate_resolved=1,
        incumbent=1200,
        candidate=800.5,
        counted=False,
        extra_runs=3,
    )
    decision = Decision(outcome=Outcome.KEEP_INCUMBENT, reasons=(), estimates=(estimate,), tasks=(task,))
    text = decision_text(decision, explained=True)
    assert re.search(r"cost +not comparable +nobody knows +3 x 1 +decides", text)
    assert re.search(r"t-0 +open +1,200 \(0/3\) +800\.5 \(1/3\) +not counted: .*; 3 more runs of each arm", text)
