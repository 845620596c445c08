"""The story of one promotion: what changed, where it helped or hurt, how sure, at what cost, and whether it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.promote.evidence import Evidence, total
from evolve.promote.findings import Finding
from evolve.records.decision import TaskResult
from evolve.records.kinds import Outcome, Role
from evolve.records.promotion import Promotion
from evolve.report.markdown import money, render, spend_sentence

DIFF_LINES = 60
FEWEST_ODDS = 2


@dataclass(frozen=True)
class TakenBack:
    """The commit that took a promotion back, its day, and the reason that it gives."""

    commit: str
    day: str
    reason: str | None


@dataclass(frozen=True)
class Standing:
    """Where a promotion stands in history: its commit and its day, if it was committed, and what took it back."""

    commit: str | None = None
    day: str | None = None
    taken_back: TakenBack | None = None


def _files(promotion: Promotion) -> str:
    """Return how many files of a skill a promotion changes, adds and deletes, and in which other folders too."""
    after, before = promotion.overlay_files, promotion.base_files
    added = sum(path in after and base is None for path, base in before.items())
    counts = {"changed": len(after) - added, "added": added, "deleted": len(before.keys() - after.keys())}
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    mirrors = f" (also in {', '.join(promotion.folders[1:])})" if promotion.folders[1:] else ""
    return f"files of the skill: {', '.join(parts)}{mirrors}"


def story(
    evidence: Evidence, diff: str, findings: Sequence[Finding], standing: Standing, notes: Sequence[str] = ()
) -> str:
    """Render the story of a candidate's evidence as Markdown, on about a page.

    Args:
        evidence: The evidence.
        diff: The unified diff of the overlay; the first 60 lines are shown.
        findings: What the audit found.
        standing: Where it stands in history.
        notes: What else the audit has to say.

    """
    promotion = evidence.promotion
    decision, test = promotion.decision, promotion.decision.test
    lines = diff.splitlines()
    parents = [parent[:12] for parent in promotion.lineage.parents]
    decides = [one for one in decision.estimates if one.decides and one.value is not None]
    return render(
        "story.md.j2",
        promotion=promotion,
        what_became=_what_became(evidence, standing),
        taken_back=standing.taken_back,
        files=_files(promotion),
        parents=", ".join(parents) if parents else "nothing that is named",
        added=sum(line.startswith("+") and not line.startswith("+++") for line in lines),
        removed=sum(line.startswith("-") and not line.startswith("---") for line in lines),
        diff="\n".join(lines[:DIFF_LINES]),
        cut=max(0, len(lines) - DIFF_LINES),
        better=_told(decision.tasks, 1),
        worse=_told(decision.tasks, -1),
        equal=_told(decision.tasks, 0),
        estimate=decides[0] if decides else None,
        test=test,
        odds=_odds(None if test is None else test.p_value),
        spend=spend_sentence(promotion.spend),
        costs=_costs(evidence),
        checks=len(findings),
        faults=[f"{one.file}: {one.check}: {one.detail or 'does not hold'}" for one in findings if not one.holds],
        notes=list(notes),
    )


def _what_became(evidence: Evidence, standing: Standing) -> str:
    if standing.commit is not None:
        back = standing.taken_back
        promoted = f"promoted on {standing.day}, in commit {standing.commit[:12]}"
        return f"{promoted}; rolled back on {back.day}, in commit {back.commit[:12]}" if back else promoted
    return {
        Outcome.PROMOTE: "proven, and not promoted here",
        Outcome.KEEP_INCUMBENT: "not promoted, as it did not pass the gate",
        Outcome.INSUFFICIENT_EVIDENCE: "not decided, as the evidence did not suffice",
    }[evidence.promotion.decision.outcome]


def _change(task: TaskResult) -> float:
    if task.candidate_resolved != task.incumbent_resolved or task.incumbent is None or task.candidate is None:
        return task.candidate_resolved - task.incumbent_resolved
    return 0.0


def _told(tasks: Sequence[TaskResult], sign: int) -> list[str]:
    """Return the tasks that changed one way, those that changed most first."""
    found = [task for task in tasks if (_change(task) > 0) - (_change(task) < 0) == sign]
    found.sort(key=lambda task: (-abs(_change(task)), task.task))
    return [f"{one.task} {one.incumbent_resolved}/{one.runs} to {one.candidate_resolved}/{one.runs}" for one in found]


def _odds(p_value: float | None) -> str:
    """Return in how many looks chance alone does as well; empty where that says nothing."""
    if p_value is None or p_value <= 0 or 1 / p_value < FEWEST_ODDS:
        return ""
    return f"{round(1 / p_value):,}"


def _costs(evidence: Evidence) -> list[tuple[str, str]]:
    found = []
    for arm in evidence.promotion.arms:
        costs = [row.usage.cost_usd_micros for row in evidence.rows if row.arm == arm.name]
        paid = total(costs)
        if arm.role in (Role.INCUMBENT, Role.CANDIDATE) and costs:
            found.append((arm.name, money(None if paid is None else round(paid / len(costs)))))
    return found
