"""The verdict in a sentence, its reasons, what a reader must know beside it, and the estimates it rests on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from evolve.gate.explain import CAVEATS, HEADLINES, explanation
from evolve.records.decision import Decision, Estimate, Reason
from evolve.records.kinds import Outcome
from evolve.records.policy import Metric, Policy
from evolve.records.promotion import Promotion
from evolve.report.markdown import VERDICTS, capitalised, few
from evolve.report.page.plots import Bar, Panel, Threshold
from evolve.report.page.visible import shown

WARNINGS: Final = CAVEATS | {
    "stopped-early",
    "stopped-too-early",
    "futile",
    "too-few-tasks",
    "too-few-runs",
    "unmeasured",
}
REASON_CHARS: Final = 300
MOST_DRAWN: Final = 1e9
_OF = re.compile(r" of (?:the )?([\w ]{1,40}), ")


@dataclass(frozen=True)
class ReasonText:
    """A reason: whether it blocks, what it says, of which tasks, and what that means."""

    code: str
    text: str
    tasks: str
    meaning: str
    blocking: bool


@dataclass(frozen=True)
class Verdict:
    """What was decided, in one sentence, and all reasons."""

    outcome: str
    sentence: str
    reasons: tuple[ReasonText, ...]
    test: str


@dataclass(frozen=True)
class EstimateText:
    """An estimate in words; no number of it stands alone."""

    number: str
    estimand: str
    value: str
    interval: str
    over: str
    unit: str
    decides: bool


@dataclass(frozen=True)
class Effect:
    """The estimates as a table and as panels of a plot, and the thresholds in words."""

    estimates: tuple[EstimateText, ...]
    panels: tuple[Panel, ...]
    thresholds: tuple[str, ...]


def verdict_of(promotion: Promotion) -> Verdict:
    """Return the verdict of a promotion."""
    decision = promotion.decision
    return Verdict(decision.outcome.value, _sentence(decision), tuple(map(_reason, decision.reasons)), _test(promotion))


def _sentence(decision: Decision) -> str:
    blocking = [reason for reason in decision.reasons if reason.blocking]
    others = [reason for reason in decision.reasons if reason.code not in WARNINGS]
    because = "; ".join(shown(reason.text, REASON_CHARS) for reason in (blocking or others)[:4])
    verdict = VERDICTS[Outcome(decision.outcome)].rstrip(".")
    return f"{verdict}: {because}." if because else f"{verdict}."


def _reason(reason: Reason) -> ReasonText:
    try:
        meaning = explanation(reason)
    except KeyError:
        meaning = ""
    return ReasonText(shown(reason.code, 60), shown(reason.text), few(reason.tasks), meaning, reason.blocking)


def _test(promotion: Promotion) -> str:
    test, ledger = promotion.decision.test, promotion.ledger
    look = (
        f"Look {ledger.look} at these sealed tasks, at level {ledger.alpha:.4g} (one-sided) of "
        f"{promotion.policy.alpha:g}; the looks before it were granted {ledger.spent:.4g}."
    )
    if test is None:
        return look
    sides = "one-sided" if test.alternative == "greater" else test.alternative
    return (
        f"{capitalised(shown(test.name, 200))}: p = {test.p_value:.4g} ({sides}) against {test.alpha:.4g}; "
        f"{test.wins} tasks won, {test.losses} lost, {test.ties} equal. {look}"
    )


def caveats_of(promotion: Promotion) -> tuple[ReasonText, ...]:
    """Return what a reader must know before anything else: those that reverse the verdict's sense come first."""
    decision = promotion.decision
    required = [reason for arm in decision.required for reason in arm.reasons]
    told = [reason for reason in (*decision.reasons, *required) if reason.code in WARNINGS]
    told.sort(key=lambda reason: reason.code not in HEADLINES)
    return (*map(_reason, told), *_of_records(promotion))


def _of_records(promotion: Promotion) -> list[ReasonText]:
    found = _too_small(promotion)
    if promotion.left_out:
        text = f"{len(promotion.left_out)} sealed tasks were left out because they are expensive"
        found.append(ReasonText("left-out", text, few(promotion.left_out), "The verdict says nothing of them.", False))
    if promotion.stopped_early:
        text = "measuring ended before its plan"
        meaning = "Where the decision counts runs that are missing, it counts them for the worst."
        found.append(ReasonText("ended-early", text, "", meaning, False))
    for arm in promotion.health:
        if arm.health in ("degraded", "unusable"):
            text = f"arm {shown(arm.arm, 80)} was {arm.health}: {arm.void} attempts void beside {arm.fresh} fresh rows"
            found.append(ReasonText("health", text, "", "Its environment failed often while it was measured.", False))
    if promotion.reuse.dropped_arms:
        text = f"canaries saw drift: reused rows were dropped for {shown(', '.join(promotion.reuse.dropped_arms), 200)}"
        found.append(ReasonText("drift", text, "", "Those rows were measured again; see Canaries and drift.", False))
    return found


def effect_of(promotion: Promotion) -> Effect:
    """Return the estimates of a promotion against the thresholds of its policy."""
    estimates = list(promotion.decision.estimates)
    arms = [(arm.arm, one) for arm in promotion.decision.required for one in arm.estimates if one.decides]
    texts = [_text(number, one, one.estimand) for number, one in enumerate(estimates, 1)]
    texts += [_text(number, one, f"{name}: {one.estimand}") for number, (name, one) in enumerate(arms, len(texts) + 1)]
    every = [*estimates, *(one for _, one in arms)]
    units = list(dict.fromkeys(one.unit for one in every if one.value is not None))
    panels = [_panel(number, unit, every, promotion.policy) for number, unit in enumerate(units)]
    drawn = tuple(panel for panel in panels if panel.bars)
    return Effect(tuple(texts), drawn, _thresholds_in_words(promotion.policy))


def _text(number: int, one: Estimate, estimand: str) -> EstimateText:
    interval = shown(one.interval, 100)
    if one.low is not None and one.high is not None:
        interval = f"{one.low:+.1f} to {one.high:+.1f} {shown(one.unit, 60)} ({100 * one.confidence:.0f} %, {interval})"
    value = f"not comparable: {shown(one.not_comparable)}"
    if one.value is not None:
        value = f"{one.value:+.1f} {shown(one.unit, 60)}"
    elif one.interval == "none":
        interval = "none"
    over = f"{one.tasks} tasks \u00d7 {one.runs} runs"
    return EstimateText(f"E{number}", shown(estimand, 300), value, interval, over, shown(one.unit, 60), one.decides)


def _panel(number: int, unit: str, every: Sequence[Estimate], policy: Policy) -> Panel:
    bars = []
    for index, one in enumerate(every, 1):
        if one.unit == unit and one.value is not None and all(map(_drawable, (one.value, one.low, one.high))):
            found = _OF.search(one.estimand)
            label = f"E{index} {found[1] if found else one.estimand}"
            bars.append(Bar(f"{label} (decides)" if one.decides else label, one.value, one.low, one.high, one.decides))
    thresholds = _thresholds(unit, any(bar.decides for bar in bars), policy)
    told = "; ".join(
        f"{bar.label}: {bar.value:+.1f}" + (f" ({bar.low:+.1f} to {bar.high:+.1f})" if _has_interval(bar) else "")
        for bar in bars
    )
    lines = "".join(f"; {one.label}" for one in thresholds)
    description = f"{shown(told, 3_000)}; in {shown(unit, 60)}{lines}. The table has every figure."
    title = f"Estimates with their intervals, in {shown(unit, 60)}"
    return Panel(f"effect-{number}", shown(unit, 60), tuple(bars), thresholds, title, description)


def _drawable(figure: float | None) -> bool:
    """Return whether an axis can hold a figure beside others; the table has it anyway."""
    return figure is None or abs(figure) < MOST_DRAWN


def _has_interval(bar: Bar) -> bool:
    return bar.low is not None and bar.high is not None


def _thresholds(unit: str, decides: bool, policy: Policy) -> tuple[Threshold, ...]:
    found = []
    if decides:
        asked = policy.min_improvement_pct if policy.of_quality else -policy.min_improvement_pct
        found.append(Threshold(f"asked for: {asked:+g}", asked))
    if unit == "percentage points" and not policy.of_quality:
        margin = -100 * policy.noninferiority_margin
        found.append(Threshold(f"may be lost: {margin:+g}", margin))
    return tuple(found)


def _thresholds_in_words(policy: Policy) -> tuple[str, ...]:
    unit = "points" if policy.of_quality else "per cent"
    asked = f"{policy.metric.value} must get {'higher' if policy.of_quality else 'lower'} by at least"
    found = [
        f"{asked} {policy.min_improvement_pct:g} {unit}",
        f"no task may lose more than {policy.max_task_regression_pct:g} {unit} beyond its noise",
        f"at least {policy.min_runs} valid runs a task and arm",
    ]
    if not policy.of_quality or policy.tie_break is not None:
        floor = Metric.RESOLVE_RATE.value
        found.append(f"the {floor} may lose no more than {100 * policy.noninferiority_margin:g} percentage points")
    return tuple(found)


def _too_small(promotion: Promotion) -> list[ReasonText]:
    """Say when so few tasks differ that a single loss among them would have been one too many.

    Of n tasks that differ, at most one of them a loss, the sign test has p = (n + 1) / 2^n.
    """
    test = promotion.decision.test
    differ = 0 if test is None else test.wins + test.losses
    if test is None or not differ:
        return []
    with_a_loss = (differ + 1) / 2**differ
    if with_a_loss <= test.alpha:
        return []
    text = (
        f"only {differ} of {differ + test.ties} tasks differ between the arms: with one loss among them, p by their "
        f"signs would be {min(1.0, with_a_loss):.3g} at the least, against {test.alpha:.3g}"
    )
    meaning = "One task that came out otherwise turns such a decision; evolve power shows how many tasks it takes."
    return [ReasonText("few-tasks-differ", text, "", meaning, False)]
