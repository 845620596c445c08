"""What a decision rests on: spend, health, canaries, positions, lineage and provenance, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evolve.gate.metrics import counted
from evolve.promote.evidence import total
from evolve.records.plan import Arm
from evolve.records.promotion import CanaryRecord, Promotion, Spend
from evolve.records.row import Row
from evolve.report.markdown import money
from evolve.report.page.visible import shown, visible

MOST_FAILURES: Final = 200
DETAIL_CHARS: Final = 200
DEEPEST: Final = 8
MOST_ANCESTORS: Final = 100


@dataclass(frozen=True)
class Fact:
    """A figure or a text with its name."""

    name: str
    value: str


@dataclass(frozen=True)
class Table:
    """A table of texts; the first column heads its rows."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Ancestor:
    """What an overlay was made from, and that in turn."""

    text: str
    digest: str
    parents: tuple[Ancestor, ...] = ()


def spend_facts(spend: Spend) -> tuple[Fact, ...]:
    """Return what was paid for, one fact each; unknown is said to be unknown."""
    return (
        Fact("measured afresh", f"{spend.fresh_rows:,} cells"),
        Fact("reused", f"{spend.reused_rows:,} cells, which cost nothing again"),
        Fact("voided", f"{spend.voided_attempts:,} attempts, which are paid for"),
        Fact("saved", f"{spend.saved_cells:,} planned cells that the decision did not need"),
        Fact("in excess", f"{spend.surplus_rows:,} cells that were under way when they were not needed any more"),
        Fact("input", _tokens(spend.input_tokens)),
        Fact("output", _tokens(spend.output_tokens)),
        Fact("cost of cells", money(spend.cost_usd_micros)),
        Fact(
            "beside the cells",
            f"{spend.warm_ups:,} warm-ups and {spend.lost_attempts:,} lost attempts, at most "
            f"{money(spend.overhead_usd_micros)}",
        ),
    )


def _tokens(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,} tokens"


def health_table(promotion: Promotion) -> Table:
    """Return how each arm fared."""
    rows = tuple((shown(one.arm, 80), one.health, f"{one.fresh:,}", f"{one.void:,}") for one in promotion.health)
    return Table("How each arm fared, from its fresh rows alone.", ("arm", "health", "fresh rows", "void"), rows)


def arms_table(arms: Sequence[Arm], rows: Sequence[Row]) -> Table:
    """Return every arm with what it resolved and what its cells cost; comparators decide nothing."""
    found = []
    for arm in arms:
        own = [row for row in rows if row.arm == arm.name]
        valid = [row for row in own if not row.void]
        cost = total([row.usage.cost_usd_micros for row in own]) if own else None
        resolved = f"{sum(row.resolved for row in valid)}/{len(valid)} cells"
        found.append((shown(arm.name, 80), arm.role.value, resolved, money(cost)))
    caption = "All arms, cells of further rounds and reused ones included. Comparators decide nothing."
    return Table(caption, ("arm", "role", "resolved", "cost of its cells"), tuple(found))


def canary_table(promotion: Promotion) -> Table:
    """Return each canary beside the row that it vouches for."""
    rows = tuple(map(_canary, promotion.reuse.canaries))
    caption = "Reused rows, each beside a cell that was paid for to see whether it still comes out alike."
    return Table(caption, ("task", "run", "arm", "reused from", "then", "now", ""), rows)


def _canary(one: CanaryRecord) -> tuple[str, ...]:
    then, now = ("resolved" if good else "not resolved" for good in (one.reused_resolved, one.canary_resolved))
    alike = "= alike" if then == now else "\u2260 otherwise"
    return (visible(one.task), str(one.run), shown(one.arm, 80), shown(one.source, 80), then, now, alike)


def drift_sentence(promotion: Promotion) -> str:
    """Return what canaries found."""
    reuse = promotion.reuse
    if not (reuse.reused_rows or reuse.canaries or reuse.dropped_arms):
        return "No row was reused: every cell was measured for this decision, and there is nothing to drift from."
    otherwise = sum(one.reused_resolved != one.canary_resolved for one in reuse.canaries)
    vouching = counted(len(reuse.canaries), "canary", "canaries")
    text = (
        f"{counted(reuse.reused_rows, 'row was', 'rows were')} reused, vouched for by {vouching}, of which "
        f"{otherwise:,} came out otherwise; drift is told at level {promotion.policy.drift.level:g}."
    )
    dropped = shown(", ".join(reuse.dropped_arms), 300)
    return f"{text} Dropped because of drift: {dropped}." if dropped else f"{text} No arm was dropped."


def position_facts(session_time: float | None, cost: float | None, fresh: int) -> tuple[Fact, ...]:
    """Return whether a cell's place in the sweep shows in what it took."""
    effects = (("session time against position", session_time), ("cost against position", cost))
    count = f"{fresh:,} fresh cells"
    return tuple(
        Fact(
            name, f"unknown, over {count}" if effect is None else f"{effect:+.2f} (Spearman correlation), over {count}"
        )
        for name, effect in effects
    )


def failures_table(rows: Sequence[Row]) -> Table:
    """Return the first rows that are not resolved, and what they say."""
    failed = sorted(
        (row for row in rows if not row.resolved), key=lambda row: (row.identity.task, row.identity.run, row.arm)
    )
    found = tuple(
        (
            visible(row.identity.task),
            f"run {row.identity.run}",
            shown(row.arm, 80),
            row.kind.value if row.kind else "",
            "yes" if row.void else "no",
            shown(row.detail, DETAIL_CHARS) or "nothing said",
        )
        for row in failed[:MOST_FAILURES]
    )
    left = len(failed) - len(found)
    more = f"; {left:,} more are left out, see evolve report --csv" if left else ""
    caption = f"{len(failed):,} of {len(rows):,} cells were not resolved{more}."
    return Table(caption, ("task", "run", "arm", "kind", "void", "what it says"), found)


def lineage_of(promotion: Promotion, known: Mapping[str, tuple[str, ...]]) -> Ancestor:
    """Return an overlay with its ancestors; skills that were measured end a line, and so does what is not known.

    Args:
        promotion: The promotion.
        known: What each overlay that is known was made from.

    """
    arms = {arm.fingerprint: f"the skills of arm {shown(arm.name, 80)}" for arm in promotion.arms}
    left = [MOST_ANCESTORS]

    def ancestors(parents: Sequence[str], above: frozenset[str]) -> Iterator[Ancestor]:
        for digest in parents:
            left[0] -= 1
            if left[0] < 0:
                return
            if digest in above or len(above) > DEEPEST:
                yield Ancestor("and further", digest)
            elif digest in known:
                yield Ancestor("an overlay", digest, tuple(ancestors(known[digest], above | {digest})))
            else:
                yield Ancestor(arms.get(digest, "a text that is not known here"), digest)

    own = promotion.overlay_sha256
    text = f"this overlay, by the operator {promotion.lineage.operator}"
    return Ancestor(text, own, tuple(ancestors(promotion.lineage.parents, frozenset({own}))))


def digests_of(promotion: Promotion, evidence_sha256: str) -> tuple[Fact, ...]:
    """Return every digest that binds the evidence."""
    return (
        Fact("promotion.json", evidence_sha256),
        Fact("rows.jsonl", promotion.rows_sha256),
        Fact("overlay", promotion.overlay_sha256),
        Fact("policy", promotion.policy_sha256),
        Fact("sealed tasks", promotion.sealed_sha256),
        Fact("plan", promotion.plan_sha256),
        Fact("journal", promotion.journal_sha256),
        Fact("runtime", promotion.runtime_sha256),
        Fact("ledger entry", promotion.ledger.entry_sha256),
        *(Fact(f"skills of {shown(arm.name, 80)}", arm.fingerprint) for arm in promotion.arms),
    )
