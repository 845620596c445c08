"""Writing the page: the view, its plots, its style and its script in one file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Final

from evolve.promote.evidence import Evidence
from evolve.records.plan import Plan
from evolve.records.row import Row
from evolve.report.page.matrix import MARKS, MEANINGS, SIGNS
from evolve.report.page.plots import dots_svg, effect_svg
from evolve.report.page.sweep import page_of_sweep
from evolve.report.page.usage import QUANTITIES, Dots, UsageView
from evolve.report.page.view import Around, Page, page_of
from evolve.report.page.visible import visible

if TYPE_CHECKING:
    import jinja2

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
_PACKAGE, _TEMPLATE = "evolve.report.page", "page.html.j2"


def page_html(evidence: Evidence, around: Around) -> bytes:
    """Return the page of a candidate's evidence; the same evidence gives the same bytes.

    Raises:
        EnvironmentFault: matplotlib is not installed.

    """
    return rendered(page_of(evidence, around))


def sweep_html(plan: Plan, rows: tuple[Row, ...]) -> bytes:
    """Return the page of a sweep, which decides nothing.

    Raises:
        EnvironmentFault: matplotlib is not installed.
        InputError: It has no two arms that could stand beside each other.

    """
    return rendered(page_of_sweep(plan, rows))


def rendered(page: Page) -> bytes:
    """Return a page as HTML.

    Raises:
        EnvironmentFault: matplotlib is not installed.

    """
    import markupsafe

    style, script = _text("page.css"), _text("page.js")
    text = (
        environment()
        .get_template(_TEMPLATE)
        .render(
            page=page,
            sections=sections_of(page),
            legend=[*((SIGNS[standing], MEANINGS[standing]) for standing in SIGNS), *MARKS.items()],
            quantities=QUANTITIES,
            effect_plots=[effect_svg(panel) for panel in (page.effect.panels if page.effect else ())],
            usages=[(usage, _drawn(usage, number)) for number, usage in enumerate(page.usages, 1)],
            css=markupsafe.Markup(style),
            js=markupsafe.Markup(script),
            script_hash=markupsafe.Markup(_hash(f"\n{script}\n")),
        )
    )
    return text.encode("utf-8")


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


def _text(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(name).read_text(encoding="utf-8").strip()


def _hash(script: str) -> str:
    """Return what the Content-Security-Policy calls the script by, so that no other runs."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode('utf-8')).digest()).decode('ascii')}"


def environment() -> jinja2.Environment:
    """Return an environment in which all text is escaped, and what hides in it is seen."""
    import jinja2
    import markupsafe

    def finalize(value: object) -> object:
        return value if isinstance(value, markupsafe.Markup) else visible(value)

    return jinja2.Environment(
        loader=jinja2.PackageLoader("evolve.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
