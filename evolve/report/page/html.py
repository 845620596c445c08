"""HTML that loads nothing: a template, the style and the script in one file, under a policy that lets no other run."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from evolve.report.page.visible import visible

if TYPE_CHECKING:
    import jinja2

_PACKAGE = "evolve.report.page"


@dataclass(frozen=True)
class Surroundings:
    """Where a page stands among others; alone, by default.

    Args:
        trail: The pages above it, each with its address.
        live: The address that tells of changes as they happen, or nothing.
        home: Whether it may ask the place that it came from.
        maker: The command that made it.

    """

    trail: tuple[tuple[str, str], ...] = ()
    live: str = ""
    home: bool = False
    maker: str = "evolve report --html"


def document(template: str, around: Surroundings | None = None, **values: Any) -> bytes:
    """Return a template as a whole document."""
    import markupsafe

    style, script = _text("page.css"), _text("page.js")
    text = (
        environment()
        .get_template(template)
        .render(
            around=around or Surroundings(),
            css=markupsafe.Markup(style),
            js=markupsafe.Markup(script),
            script_hash=markupsafe.Markup(_hash(f"\n{script}\n")),
            **values,
        )
    )
    return text.encode("utf-8")


def _text(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(name).read_text(encoding="utf-8").strip()


def _hash(script: str) -> str:
    """Return what the Content-Security-Policy calls the script by, so that no other runs."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode('utf-8')).digest()).decode('ascii')}"


@cache
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
