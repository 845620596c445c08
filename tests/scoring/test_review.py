"""Reviews: read, matched, weighed."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import InputError
from evolve.records.checks import ReviewCheck
from evolve.records.review import SEVERITIES, Finding, Label, Review
from evolve.scoring.review import match, read_review, score_review

FILES = {"a.py": "one\ntwo = secret\nthree\n", "b.py": "other\n"}


def finding(identifier: str = "f1", **fields: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "path": "a.py",
        "line": 2,
        "severity": "high",
        "category": "security",
        "scenario": "It leaks.",
        "evidence": "two = secret",
        "recommendation": "Do not.",
        "blocking": True,
        **fields,
    }


def review(*findings: dict[str, Any], verdict: str = "request_changes") -> str:
    return json.dumps({"verdict": verdict, "findings": list(findings)})


def label(identifier: str = "l1", **fields: Any) -> dict[str, Any]:
    value = {"id": identifier, "path": "a.py", "line": 2, "severity": "high", "category": "security"}
    return {**value, **fields}


def check(*labels: dict[str, Any], **fields: Any) -> ReviewCheck:
    value = {"id": "r", "rule": "Find it.", "kind": "review", "labels": list(labels), **fields}
    return ReviewCheck.model_validate(value)


def score(text: str, *labels: dict[str, Any], **fields: Any) -> Any:
    return score_review(read_review(text), check(*labels, **fields), FILES.get)


def test_a_review_that_finds_all_of_it_and_nothing_else_has_full_marks() -> None:
    found = score(review(finding()), label(blocking=True))
    assert (found.passed, found.score) == (True, 1.0)
    figures = found.figures
    assert (figures.precision, figures.recall, figures.f1, figures.blocker_recall) == (1, 1, 1, 1)
    assert (figures.severity_accuracy, figures.category_accuracy, figures.grounded) == (1, 1, 1)
    assert figures.clean_pass is None


@pytest.mark.parametrize(
    ("found", "labelled", "precision", "recall"),
    [
        (["critical"], ["critical"], 1, 1),
        (["low"], ["critical"], 1, 1 / 8),
        (["critical"], ["low"], 1 / 8, 1),
        (["high", "medium"], ["high"], 5 / 7, 1),
        (["low"], ["high", "medium"], 1, 1 / 7),
        ([], ["medium"], None, 0),
    ],
)
def test_a_match_earns_the_lesser_weight_and_a_false_positive_costs_its_own(
    found: list[str], labelled: list[str], precision: float | None, recall: float
) -> None:
    text = review(*(finding(f"f{n}", severity=s, line=2 + 20 * n) for n, s in enumerate(found)))
    labels = [label(f"l{n}", severity=s, line=2 + 20 * n) for n, s in enumerate(labelled)]
    figures = score(text, *labels).figures
    assert figures.recall == pytest.approx(recall, abs=1e-6)
    assert figures.precision == (None if precision is None else pytest.approx(precision, abs=1e-6))
    said = sum({"critical": 8, "high": 5, "medium": 2, "low": 1}[s] for s in found)
    there = sum({"critical": 8, "high": 5, "medium": 2, "low": 1}[s] for s in labelled)
    assert figures.f1 == pytest.approx(2 * recall * there / (said + there), abs=1e-6)


@pytest.mark.parametrize(
    ("place", "matched"),
    [
        ({"line": 10}, 1),
        ({"line": 12}, 1),
        ({"line": 13}, 0),
        ({"line": 8}, 1),
        ({"line": 7}, 0),
        ({"line": 1, "end_line": 7}, 0),
        ({"line": 1, "end_line": 8}, 1),
        ({"line": 10, "path": "./a.py"}, 1),
        ({"line": 10, "path": "b.py"}, 0),
    ],
)
def test_lines_overlap_within_the_tolerance(place: dict[str, Any], matched: int) -> None:
    assert score(review(finding(**place)), label(line=10)).figures.matched == matched


def test_the_tolerance_is_the_checks_own() -> None:
    assert score(review(finding(line=15)), label(line=10), line_tolerance=5).figures.matched == 1
    assert score(review(finding(line=11)), label(line=10), line_tolerance=0).figures.matched == 0


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"category": "security"}, {"category": "style"}),
        ({"severity": "high"}, {"severity": "low"}),
        ({"line": 10}, {"line": 11}),
        ({"line": 10, "end_line": 12}, {"line": 10, "end_line": 30}),
        ({"category": "security", "severity": "low"}, {"category": "style", "severity": "high"}),
        ({"severity": "high", "line": 12}, {"severity": "low", "line": 10}),
    ],
)
def test_ties_are_broken_by_category_then_severity_then_distance_then_span(
    better: dict[str, Any], worse: dict[str, Any]
) -> None:
    wanted = Label.model_validate(label(line=10, end_line=12))
    findings = [Finding.model_validate(finding(n, **{"line": 10, **f})) for n, f in (("good", better), ("bad", worse))]
    for order in (findings, findings[::-1]):
        assert [one.id for one, _ in match(order, [wanted], 2)] == ["good"]


spans = st.tuples(st.integers(1, 12), st.integers(0, 4), st.sampled_from(SEVERITIES), st.sampled_from(["x", "y"]))


@given(st.lists(spans, max_size=5), st.lists(spans, max_size=5), st.randoms())
def test_there_are_as_many_pairs_as_there_can_be_in_whatever_order(
    said: list[tuple[Any, ...]], there: list[tuple[Any, ...]], shuffler: random.Random
) -> None:
    findings = [
        Finding.model_validate(finding(f"f{n}", line=a, end_line=a + b, severity=s, category=c))
        for n, (a, b, s, c) in enumerate(said)
    ]
    labels = [
        Label.model_validate(label(f"l{n}", line=a, end_line=a + b, severity=s, category=c))
        for n, (a, b, s, c) in enumerate(there)
    ]
    pairs = match(findings, labels, 1)
    edges = {(f.id, w.id) for f in findings for w in labels if f.line <= w.last + 1 and w.line <= f.last + 1}
    assert all((f.id, w.id) in edges for f, w in pairs)
    assert len(pairs) == _most(edges, len(findings))
    shuffled = list(findings)
    shuffler.shuffle(shuffled)
    assert match(shuffled, labels[::-1], 1) == pairs


def _most(edges: set[tuple[str, str]], findings: int) -> int:
    """Return the size of a largest matching, by trying all."""
    names = [f"f{n}" for n in range(findings)]
    for size in range(min(findings, len({right for _, right in edges})), 0, -1):
        for chosen in itertools.combinations(names, size):
            rights = [[right for left, right in edges if left == name] for name in chosen]
            if any(len(set(pick)) == size for pick in itertools.product(*rights)):
                return size
    return 0


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        (review(verdict="approve"), True),
        (review(verdict="comment"), True),
        (review(finding(severity="low", blocking=False), verdict="comment"), True),
        (review(verdict="request_changes"), False),
        (review(finding(severity="low", blocking=True), verdict="comment"), False),
        (review(finding(severity="high", blocking=False), verdict="approve"), False),
    ],
)
def test_a_clean_control_is_left_be(text: str, passed: bool) -> None:
    found = score(text)
    assert (found.passed, found.score, found.figures.clean_pass) == (passed, float(passed), passed)
    assert found.figures.f1 is None


@pytest.mark.parametrize(
    ("evidence", "path", "grounded"),
    [
        ("`two   =\nsecret`", "a.py", 1),
        ("two = public", "a.py", 0),
        ("", "a.py", 0),
        ("other", "gone.py", 0),
    ],
)
def test_evidence_is_grounded_when_it_stands_in_the_file(evidence: str, path: str, grounded: int) -> None:
    assert score(review(finding(evidence=evidence, path=path)), label()).figures.grounded == grounded


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "review-empty", "the review is empty"),
        ("   \n", "review-empty", "the review is empty"),
        ("Looks good to me!", "review-not-json", "no JSON: Expecting value: line 1"),
        ('{"verdict": "approve",}', "review-not-json", "line 1 column"),
        ("[]", "review-not-object", "a list, not an object"),
        ('"approve"', "review-not-object", "a bare value, not an object"),
        ("[" * 100_000, "review-not-json", "nested too deep"),
        ("{}", "review-invalid", "verdict: is missing"),
        ('{"verdict": "lgtm", "findings": []}', "review-invalid", "verdict: "),
        ('{"verdict": "approve"}', "review-invalid", "findings: is missing"),
        (review(finding(severity="blocker")), "review-invalid", "findings[0].severity"),
        (review(finding(line=0)), "review-invalid", "findings[0].line"),
        (review(finding(line="2")), "review-invalid", "findings[0].line"),
        (review(finding(line=9, end_line=3)), "review-invalid", "end_line lies before line"),
        (review(finding(), finding()), "review-invalid", "two findings have the id 'f1'"),
        (review(*(finding(f"f{n}") for n in range(101))), "review-invalid", "findings"),
        (review(finding(extra=1)), "review-invalid", "extra: unknown key"),
        (review({**finding(), "evidence": "x" * 9000}), "review-invalid", "evidence"),
    ],
)
def test_each_way_to_be_no_review_has_its_own_words(text: str, code: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_review(text)
    assert caught.value.code == code
    assert said in caught.value.message


def test_one_fence_around_a_review_is_no_fault() -> None:
    assert read_review(f"```json\n{review(finding())}\n```\n") == read_review(review(finding()))


def test_the_schema_of_a_review_is_a_record() -> None:
    assert Review.model_json_schema()["properties"]["verdict"]["enum"] == ["approve", "comment", "request_changes"]
