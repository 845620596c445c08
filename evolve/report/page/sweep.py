"""The page of a sweep: what each arm did beside its incumbent, and no verdict."""

from __future__ import annotations

from collections.abc import Iterator

from evolve.bench.health import cost_position_effect, position_effect
from evolve.errors import InputError
from evolve.promote.evidence import total
from evolve.records.kinds import Role
from evolve.records.plan import Plan
from evolve.records.policy import Metric
from evolve.records.row import Row
from evolve.report.markdown import money
from evolve.report.page.matrix import Href, PairOfArms, matrix, nowhere
from evolve.report.page.rests import Fact, arms_table, failures_table, position_facts
from evolve.report.page.usage import usage_view
from evolve.report.page.view import Page
from evolve.report.page.visible import shown


def page_of_sweep(plan: Plan, rows: tuple[Row, ...], href: Href = nowhere) -> Page:
    """Return the page of a sweep.

    Args:
        plan: Its plan.
        rows: The rows that count.
        href: Says where more of a row is told.

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
        spend=_spend(plan, rows),
        arms=arms_table(plan.arms, rows),
        health=None,
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


def _spend(plan: Plan, rows: tuple[Row, ...]) -> tuple[Fact, ...]:
    """Return what is known from the rows that count; voided attempts are in the journal alone."""
    fresh = [row for row in rows if row.reused is None]
    return (
        Fact("cells that count", f"{len(rows):,} of {len(plan.cells):,} that were planned"),
        Fact("reused of them", f"{len(rows) - len(fresh):,}"),
        Fact("cost of the others", money(total([row.usage.cost_usd_micros for row in fresh]))),
        Fact("voided attempts", "not counted on this page"),
    )


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
