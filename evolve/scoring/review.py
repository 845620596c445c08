"""Scoring a review against hidden labels: matching, weights, and what was found of what there was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evolve.errors import InputError
from evolve.records.base import parse_json
from evolve.records.checks import ReviewCheck
from evolve.records.review import SEVERITIES, WEIGHTS, Finding, Label, Review
from evolve.records.row import ReviewFigures
from evolve.replies.fences import code_blocks

# Each term outweighs all that follow it, summed over a hundred pairs; the sum stays below 2**53.
_CLIP = 99
_DISTANCE, _SEVERITY, _CATEGORY, _PAIR = 10**4, 10**8, 301 * 10**8, 31 * 10**11


@dataclass(frozen=True)
class ReviewScore:
    """How a review did.

    Precision, recall and F1 are weighted by severity (8, 5, 2, 1): a match earns the lesser weight of finding and
    label, a finding that matches nothing costs its own. ``score`` is F1, or whether a clean control was left be.
    """

    passed: bool
    score: float
    figures: ReviewFigures


def read_review(text: str) -> Review:
    """Read a review; one fence around it is no fault.

    Raises:
        InputError: It is none; the message says what is wrong with it, and where.

    """
    blocks = code_blocks(text.strip())
    body = blocks[0].content if len(blocks) == 1 and blocks[0].start == 0 else text
    if not body.strip():
        raise InputError("the review is empty", code="review-empty")
    try:
        value = json.loads(body)
    except RecursionError as error:
        raise InputError("the review is nested too deep", code="review-not-json") from error
    except ValueError as error:
        raise InputError(f"the review is no JSON: {error}", code="review-not-json") from error
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else "a bare value"
        raise InputError(f"the review is {kind}, not an object with verdict and findings", code="review-not-object")
    try:
        return parse_json(Review, body.encode("utf-8", errors="replace"), "review")
    except InputError as error:
        raise InputError(error.message, code="review-invalid") from error


def _overlaps(finding: Finding, label: Label, tolerance: int) -> bool:
    if _path(finding.path) != _path(label.path):
        return False
    return finding.line <= label.last + tolerance and label.line <= finding.last + tolerance


def _path(text: str) -> str:
    return re.sub(r"^(?:\./|[ab]/(?=.*/))", "", text.strip())


def _cost(finding: Finding, label: Label) -> int:
    """Return what a pair costs: nothing but the order of its terms matters."""
    distance = max(finding.line - label.last, label.line - finding.last, 0)
    span = abs((finding.last - finding.line) - (label.last - label.line))
    severity = abs(SEVERITIES.index(finding.severity) - SEVERITIES.index(label.severity))
    category = int(finding.category != label.category)
    return category * _CATEGORY + severity * _SEVERITY + min(distance, _CLIP) * _DISTANCE + min(span, _CLIP)


def match(findings: Sequence[Finding], labels: Sequence[Label], tolerance: int) -> list[tuple[Finding, Label]]:
    """Return as many pairs of finding and label as there can be; among those, the ones that fit best.

    A pair needs the same path and lines that overlap within the tolerance. Ties are broken by category, severity,
    distance and span, each summed over all pairs; the order of the findings does not matter.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    findings = sorted(findings, key=lambda one: (one.path, one.line, one.last, one.severity, one.category, one.id))
    labels = sorted(labels, key=lambda one: one.id)
    if not findings or not labels:
        return []
    costs = np.zeros((len(findings), len(labels)))
    for row, finding in enumerate(findings):
        for column, label in enumerate(labels):
            if _overlaps(finding, label, tolerance):
                costs[row, column] = _cost(finding, label) - _PAIR
    rows, columns = linear_sum_assignment(costs)
    return [(findings[r], labels[c]) for r, c in zip(rows, columns, strict=True) if costs[r, c] < 0]


def score_review(review: Review, check: ReviewCheck, text_of: Callable[[str], str | None]) -> ReviewScore:
    """Score a review.

    Args:
        review: What was written.
        check: The labels, and what passes.
        text_of: Returns a file of the reviewed work, to see whether quoted evidence stands in it.

    """
    pairs = match(review.findings, check.labels, check.line_tolerance)
    earned = sum(min(WEIGHTS[finding.severity], WEIGHTS[label.severity]) for finding, label in pairs)
    said = sum(WEIGHTS[finding.severity] for finding in review.findings)
    there = sum(WEIGHTS[label.severity] for label in check.labels)
    precision, recall = _share(earned, said), _share(earned, there)
    f1 = None if not check.labels else _share(2 * earned, said + there)
    blockers = [label for label in check.labels if label.blocking]
    found = {label.id for _, label in pairs}
    clean = None if check.labels else _clean(review)
    passed = clean if clean is not None else (f1 or 0.0) >= check.min_f1
    figures = ReviewFigures(
        matched=len(pairs),
        precision=precision,
        recall=recall,
        f1=f1,
        blocker_recall=_share(sum(label.id in found for label in blockers), len(blockers)),
        severity_accuracy=_share(sum(f.severity == label.severity for f, label in pairs), len(pairs)),
        category_accuracy=_share(sum(f.category == label.category for f, label in pairs), len(pairs)),
        grounded=_share(sum(_grounded(finding, text_of) for finding in review.findings), len(review.findings)),
        clean_pass=clean,
    )
    return ReviewScore(passed, float(passed) if clean is not None else (f1 or 0.0), figures)


def _clean(review: Review) -> bool:
    """Whether a review of a change without fault leaves it be: no demand, nothing blocking, nothing grave."""
    grave = any(finding.blocking or finding.severity in ("critical", "high") for finding in review.findings)
    return review.verdict != "request_changes" and not grave


def _grounded(finding: Finding, text_of: Callable[[str], str | None]) -> bool:
    """Whether the quoted evidence stands in the file that it is about, white space aside."""
    text = text_of(_path(finding.path))
    quoted = _flat(finding.evidence)
    return text is not None and bool(quoted) and quoted in _flat(text)


def _flat(text: str) -> str:
    return " ".join(text.replace("`", " ").split())


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None
