"""Writing the page: the view and its plots as one document."""

from __future__ import annotations

from typing import Final

from evolve.promote.evidence import Evidence
from evolve.records.plan import Plan
from evolve.records.row import Row
from evolve.report.page.drawers import Drawers
from evolve.report.page.html import Surroundings, document
from evolve.report.page.matrix import MARKS, MEANINGS, SIGNS, nowhere
from evolve.report.page.plots import dots_svg, effect_svg
from evolve.report.page.sweep import NOTHING_BESIDE, Beside, page_of_sweep
from evolve.report.page.usage import QUANTITIES, Dots, UsageView
from evolve.report.page.view import Around, Page, page_of

SECTIONS: Final = (
    ("verdict", "Verdict"),
    ("effect", "Effect"),
    ("tasks", "Tasks and runs"),
    ("usage", "Cost, tokens, time and turns"),
    ("change", "What changes"),
    ("spend", "Spend and health"),
    ("drift", "Canaries and drift"),
    ("position", "Position"),
    ("lineage", "Lineage"),
    ("provenance", "Provenance"),
)
NO_DRAWERS: Final = Drawers()


def page_html(evidence: Evidence, around: Around, drawers: Drawers = NO_DRAWERS) -> bytes:
    """Return the page of a candidate's evidence; the same evidence gives the same bytes.

    Raises:
        EnvironmentFault: matplotlib is not installed.

    """
    return rendered(page_of(evidence, around, drawers.href if drawers.drawers else nowhere), drawers)


def sweep_html(
    plan: Plan, rows: tuple[Row, ...], drawers: Drawers = NO_DRAWERS, beside: Beside = NOTHING_BESIDE
) -> bytes:
    """Return the page of a sweep, which decides nothing.

    Raises:
        EnvironmentFault: matplotlib is not installed.
        InputError: It has no two arms that could stand beside each other.

    """
    return rendered(page_of_sweep(plan, rows, drawers.href if drawers.drawers else nowhere, beside), drawers)


def rendered(page: Page, drawers: Drawers = NO_DRAWERS, around: Surroundings | None = None) -> bytes:
    """Return a page as HTML.

    Raises:
        EnvironmentFault: matplotlib is not installed.

    """
    return document(
        "page.html.j2",
        around,
        page=page,
        drawers=drawers,
        sections=sections_of(page),
        legend=[*((SIGNS[standing], MEANINGS[standing]) for standing in SIGNS), *MARKS.items()],
        quantities=QUANTITIES,
        effect_plots=[effect_svg(panel) for panel in (page.effect.panels if page.effect else ())],
        usages=[(usage, _drawn(usage, number)) for number, usage in enumerate(page.usages, 1)],
    )


def sections_of(page: Page) -> list[tuple[str, str]]:
    """Return the sections that a page has, each with its title."""
    there = {
        "verdict": page.verdict,
        "effect": page.effect,
        "change": page.change,
        "drift": page.drift,
        "lineage": page.lineage,
    }
    return [(name, title) for name, title in SECTIONS if there.get(name, True)]


def _drawn(usage: UsageView, number: int) -> list[tuple[Dots, str]]:
    return [
        (dots, dots_svg(dots, f"dots-{number}-{index}") if dots.tasks else "")
        for index, dots in enumerate(usage.dots, 1)
    ]
