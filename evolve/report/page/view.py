"""The page of a decision as texts and numbers: all wording, and no markup."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from evolve.bench.arms import CANDIDATE_ARM, INCUMBENT_ARM
from evolve.promote.evidence import Evidence, gate_input, required_pairs
from evolve.records.kinds import Outcome
from evolve.records.promotion import Promotion
from evolve.report.page.matrix import Href, Matrix, PairOfArms, matrix, nowhere, pair_of_roles
from evolve.report.page.rests import (
    Ancestor,
    Fact,
    Table,
    arms_table,
    canary_table,
    digests_of,
    drift_sentence,
    failures_table,
    health_table,
    lineage_of,
    position_facts,
    spend_facts,
)
from evolve.report.page.usage import UsageView, usage_view
from evolve.report.page.verdict import Effect, ReasonText, Verdict, caveats_of, effect_of, verdict_of
from evolve.report.page.visible import shown
from evolve.report.page.words import WordDiff, word_diff

MARKS = {Outcome.PROMOTE: "+", Outcome.KEEP_INCUMBENT: "\u2212", Outcome.INSUFFICIENT_EVIDENCE: "?"}


@dataclass(frozen=True)
class Around:
    """What stands around evidence and is read by whoever asks for the page.

    Args:
        diff: The unified diff of the overlay.
        signed: Who signed, and what is wrong with it, a line each.
        parents: What each overlay that is known was made from.

    """

    diff: str = ""
    signed: tuple[str, ...] = ()
    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """What an overlay changes, and why it says that it does."""

    rationale: tuple[Fact, ...]
    diff: WordDiff


@dataclass(frozen=True)
class Page:
    """Everything that a page says, in the order in which it says it; ``None`` where nothing was decided."""

    title: str
    mark: str
    about: str
    verdict: Verdict | None
    caveats: tuple[ReasonText, ...]
    effect: Effect | None
    matrices: tuple[Matrix, ...]
    usages: tuple[UsageView, ...]
    failures: Table
    change: Change | None
    spend: tuple[Fact, ...]
    arms: Table
    health: Table | None
    diagnostics: Table | None
    drift: str
    canaries: Table | None
    positions: tuple[Fact, ...]
    lineage: Ancestor | None
    provenance: tuple[Fact, ...]
    digests: tuple[Fact, ...]
    signed: tuple[str, ...]
    audit: str

    @property
    def opens(self) -> bool:
        """Whether more of some run can be opened."""
        cells = (cell for one in self.matrices for row in one.rows for cell in row.cells)
        return any(any(cell.hrefs) for cell in cells)


def page_of(evidence: Evidence, around: Around, href: Href = nowhere) -> Page:
    """Return the page of a candidate's evidence.

    Args:
        evidence: The evidence.
        around: What stands around it.
        href: Says where more of a row is told.

    """
    promotion, rows = evidence.promotion, evidence.rows
    outcome = promotion.decision.outcome
    pairs = tuple(_pairs(evidence, href))
    return Page(
        title=f"{promotion.skill}: {outcome.value.replace('_', ' ')}",
        mark=MARKS[Outcome(outcome)],
        about=_about(promotion),
        verdict=verdict_of(promotion),
        caveats=caveats_of(promotion),
        effect=effect_of(promotion),
        matrices=tuple(map(matrix, pairs)),
        usages=tuple(map(usage_view, pairs)),
        failures=failures_table(rows),
        change=Change(_rationale(promotion), word_diff(around.diff)),
        spend=spend_facts(promotion.spend),
        arms=arms_table(promotion.arms, rows),
        health=health_table(promotion),
        diagnostics=None,
        drift=drift_sentence(promotion),
        canaries=canary_table(promotion),
        positions=position_facts(promotion.position_effect, promotion.cost_position_effect, promotion.spend.fresh_rows),
        lineage=lineage_of(promotion, around.parents),
        provenance=_provenance(promotion),
        digests=digests_of(promotion, evidence.promotion_sha256),
        signed=tuple(shown(line) for line in around.signed),
        audit=_audit(evidence),
    )


def _audit(evidence: Evidence) -> str:
    folder = evidence.folder
    place = f"{folder.parent.parent.name}/{evidence.promotion.skill}/{folder.name}"
    return f"evolve audit {shlex.quote(shown(place))}"


def _about(promotion: Promotion) -> str:
    return (
        f"Skill {promotion.skill}, overlay {promotion.overlay_sha256[:12]}, on {len(promotion.sealed)} sealed tasks "
        f"with {promotion.runs} planned runs in each arm; metric {promotion.policy.metric.value}."
    )


def _pairs(evidence: Evidence, href: Href) -> Iterator[PairOfArms]:
    promotion = evidence.promotion
    given = gate_input(promotion, evidence.rows)
    rows = given.main_pair().rows
    names = pair_of_roles(rows) or (INCUMBENT_ARM, CANDIDATE_ARM)
    main = PairOfArms(
        name="matrix-1",
        title="Incumbent beside candidate",
        incumbent=names[0],
        candidate=names[1],
        rows=rows,
        tasks=[sealed.task for sealed in promotion.sealed],
        runs=promotion.runs,
        metric=promotion.policy.metric,
        results=promotion.decision.tasks,
        href=href,
    )
    yield main
    results = {arm.arm: arm.tasks for arm in promotion.decision.required}
    for number, pair in enumerate(required_pairs(promotion.arms), 2):
        yield replace(
            main,
            name=f"matrix-{number}",
            title=f"{pair.incumbent} beside {pair.candidate}",
            incumbent=pair.incumbent,
            candidate=pair.candidate,
            rows=given.pair(pair).rows,
            results=results.get(pair.candidate, ()),
        )


def _rationale(promotion: Promotion) -> tuple[Fact, ...]:
    spec = promotion.lineage
    told = [Fact("operator", spec.operator), Fact("rationale", shown(spec.rationale, 4_000) or "none given")]
    if spec.expected_effect:
        told.append(Fact("expected effect", shown(spec.expected_effect)))
    told += [Fact("risk", shown(risk)) for risk in spec.risks]
    if spec.model is not None:
        told.append(Fact("written by", shown(spec.model, 200)))
    return tuple(told)


def _provenance(promotion: Promotion) -> tuple[Fact, ...]:
    return (
        Fact("measured", f"{promotion.generated_at:%Y-%m-%d %H:%M} UTC"),
        Fact("holds until", f"{promotion.expires_at:%Y-%m-%d}"),
        Fact("sweep", shown(promotion.sweep, 200)),
        *(
            Fact(
                "further round",
                f"{shown(one.sweep, 200)}: runs {one.first_run} to {one.first_run + one.runs - 1} of "
                f"{len(one.tasks)} tasks in both arms",
            )
            for one in promotion.extra
        ),
        Fact("evolve", shown(promotion.evolve_version, 60)),
    )
