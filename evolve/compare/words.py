"""Comparisons in words: the same for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evolve.compare.compare import Comparison, Finding, scaled
from evolve.compare.figures import Metric
from evolve.stats.paired import MAX_ENUMERATED

HEADER: Final = ("metric", "unit", "A", "B", "change", "95 % interval", "estimand", "n", "p", "verdict")
LEGEND: Final = (
    "n: tasks x runs. A and B: sums over the tasks; of completed the mean, in points",
    f"p: sign-flip test over tasks, two-sided, exact up to {MAX_ENUMERATED} tasks, resampled beyond",
)


def size_of(found: Comparison) -> str:
    """Return how many tasks and runs stand behind a comparison."""
    counts = (found.before.run_counts(found.tasks), found.after.run_counts(found.tasks))
    return f"{len(found.tasks)} x {runs_in_words(*counts)}"


def computed(found: Comparison) -> list[str]:
    """Return which figures are computed from others, and how."""
    return [
        f"* {one.metric.name} of {side.name} is computed: {says}"
        for one in found.findings
        for side, says in zip((found.before, found.after), one.computed, strict=True)
        if says is not None and one.estimate is not None
    ]


def left_out(found: Comparison) -> list[str]:
    """Return which tasks are not in a comparison, with the reason."""
    reasons = (
        (f"left out, not in B ({found.after.name})", found.only_before),
        (f"left out, not in A ({found.before.name})", found.only_after),
        ("left out, not the same task or checks in both", found.changed),
    )
    return [f"{what}: {', '.join(tasks)}" for what, tasks in reasons if tasks]


def closing(found: Sequence[Comparison]) -> str:
    """Return what comparisons do not say."""
    judged = sum(len(one.findings) for one in found)
    alone = "; each metric is judged by itself at 5 %, nothing corrects for their number" if judged > 1 else ""
    return f"nothing is decided by a comparison{alone}"


def reasons(findings: Sequence[Finding]) -> list[str]:
    """Return why each verdict is what it is, once for all metrics with the same reason."""
    metrics: dict[str, list[str]] = {}
    for one in findings:
        metrics.setdefault(f"{one.verdict}: {one.why}", []).append(one.metric.name)
    return [f"{', '.join(names)}: {why}" for why, names in metrics.items()]


def finding_row(found: Finding, n: str) -> list[str]:
    """Return a metric of a comparison as texts, in the order of ``HEADER``."""
    mark = "*" if any(found.computed) else ""
    estimate = found.estimate
    interval = "-"
    if estimate is not None:
        bounds = [scaled(estimate, bound) for bound in (estimate.low, estimate.high)]
        interval = " to ".join("unbounded" if bound is None else f"{bound:+.1f}" for bound in bounds)
        interval = "unbounded" if bounds == [None, None] else interval
    return [
        found.metric.name + mark,
        found.metric.unit,
        amount(found.before, found.metric),
        amount(found.after, found.metric),
        "-" if found.change is None else f"{found.change:+.1f} {change_unit(found)}",
        interval,
        found.estimand.replace("_", " "),
        n,
        "-" if found.p_value is None else f"{found.p_value:.3g}",
        found.verdict,
    ]


def change_unit(found: Finding) -> str:
    """Return the unit that a change is told in."""
    return "points" if found.metric.kind == "rate" else "%"


def amount(value: float | None, metric: Metric) -> str:
    """Return a figure of one side, without its unit."""
    if value is None:
        return "unknown"
    if metric.kind == "rate":
        return f"{100 * value:.1f}"
    return f"{value:.4f}" if metric.unit == "USD" else f"{value:,.1f}".removesuffix(".0")


def runs_in_words(before: tuple[int, int], after: tuple[int, int]) -> str:
    """Return how many runs a task has, on either side where they differ."""
    shown = [str(least) if least == most else f"{least}-{most}" for least, most in (before, after)]
    return shown[0] if shown[0] == shown[1] else "/".join(shown)
