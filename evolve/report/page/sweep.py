"""The page of a sweep: what each arm did beside its incumbent, and no verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from evolve.bench.health import arm_health, cost_position_effect, position_effect
from evolve.errors import InputError
from evolve.promote.evidence import total
from evolve.propose.diagnostics.columns import ArmDiagnostics, diagnostics_table
from evolve.records.kinds import Role
from evolve.records.plan import Plan
from evolve.records.policy import Metric
from evolve.records.row import Row
from evolve.report.markdown import money
from evolve.report.page.matrix import Href, PairOfArms, matrix, nowhere
from evolve.report.page.rests import Fact, Table, arms_table, failures_table, position_facts
from evolve.report.page.usage import usage_view
from evolve.report.page.view import Page
from evolve.report.page.visible import shown


@dataclass(frozen=True)
class Beside:
    """What a sweep knows beside the rows that count.

    Args:
        voided: The attempts that said nothing.
        diagnostics: What the transcripts of each arm show; they are hints, and decide nothing.

    """

    voided: tuple[Row, ...] = ()
    diagnostics: tuple[ArmDiagnostics, ...] = ()


NOTHING_BESIDE: Final = Beside()


def page_of_sweep(plan: Plan, rows: tuple[Row, ...], href: Href = nowhere, beside: Beside = NOTHING_BESIDE) -> Page:
    """Return the page of a sweep.

    Args:
        plan: Its plan.
        rows: The rows that count.
        href: Says where more of a row is told.
        beside: What is known beside them.

    Raises:
        InputError: It has no two arms that could stand beside each other.

    """
    pairs = tuple(_pairs(plan, rows, href))
    if not pairs:
        text = f"{plan.sweep}: no arm stands beside an incumbent in this sweep"
        raise InputError(text, hint=f"evolve report {plan.sweep} --md", code="nothing-beside")
    fresh = sum(row.reused is None and not row.void for row in rows)
    return Page(
        title=f"{shown(plan.sweep, 200)}: no decision",
        mark="",
        about=f"A sweep of {len(plan.arms)} arms with {plan.runs} planned runs of {len(pairs[0].tasks)} tasks, for "
        f"{plan.purpose}. It decides nothing: no interval and no test stands behind a "
        "difference. Whatever arm stands beside the incumbent is called candidate here.",
        verdict=None,
        caveats=(),
        effect=None,
        matrices=tuple(map(matrix, pairs)),
        usages=tuple(map(usage_view, pairs)),
        failures=failures_table(rows),
        change=None,
        spend=_spend(plan, rows, beside.voided),
        arms=arms_table(plan.arms, rows),
        health=_health(plan, rows, beside.voided),
        diagnostics=_diagnostics(beside.diagnostics),
        drift="",
        canaries=None,
        positions=position_facts(position_effect(rows), cost_position_effect(rows), fresh),
        lineage=None,
        provenance=(Fact("planned", f"{plan.created_at:%Y-%m-%d %H:%M} UTC"), Fact("sweep", shown(plan.sweep, 200))),
        digests=(
            Fact("plan", plan.digest()),
            *(Fact(f"skills of {shown(arm.name, 80)}", arm.fingerprint) for arm in plan.arms),
        ),
        signed=(),
        audit="",
    )


def _spend(plan: Plan, rows: tuple[Row, ...], voided: tuple[Row, ...]) -> tuple[Fact, ...]:
    fresh = [row for row in rows if row.reused is None and not row.void]
    void = f"{len(voided):,}, which cost {money(total([row.usage.cost_usd_micros for row in voided]))}"
    return (
        Fact("cells that count", f"{len(rows):,} of {len(plan.cells):,} that were planned"),
        Fact("reused of them", f"{sum(row.reused is not None for row in rows):,}"),
        Fact("cost of the others", money(total([row.usage.cost_usd_micros for row in fresh]))),
        Fact("voided attempts", void if voided else "none"),
    )


def _health(plan: Plan, rows: tuple[Row, ...], voided: tuple[Row, ...]) -> Table:
    found = [arm_health(arm.name, rows, voided) for arm in plan.arms]
    return Table(
        "How each arm fared, from its fresh rows alone.",
        ("arm", "health", "fresh rows", "void rows", "voided attempts"),
        tuple(
            (
                shown(one.arm, 80),
                one.health.value,
                f"{one.fresh:,}",
                f"{one.void:,}",
                f"{sum(row.arm == one.arm for row in voided):,}",
            )
            for one in found
        ),
    )


def _diagnostics(columns: tuple[ArmDiagnostics, ...]) -> Table | None:
    table = diagnostics_table(columns)
    if not table:
        return None
    caption = "What transcripts show: how often each was found in a cell, on average; hints, which decide nothing."
    header = ("finding", *(shown(column.arm, 80) for column in columns))
    return Table(caption, header, tuple((name, *texts) for name, texts in table.items()))


def _pairs(plan: Plan, rows: tuple[Row, ...], href: Href) -> Iterator[PairOfArms]:
    incumbent = next((arm.name for arm in plan.arms if arm.role is Role.INCUMBENT), None)
    tasks = sorted({cell.identity.task for cell in plan.cells})
    others = [arm.name for arm in plan.arms if arm.name != incumbent] if incumbent is not None else []
    for number, name in enumerate(others, 1):
        yield PairOfArms(
            name=f"matrix-{number}",
            title=f"{incumbent} beside {name}",
            incumbent=str(incumbent),
            candidate=name,
            rows=rows,
            tasks=tasks,
            runs=plan.runs,
            first_run=plan.first_run,
            metric=Metric.RESOLVE_RATE,
            href=href,
        )
