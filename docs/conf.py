"""How Sphinx builds this documentation: `make docs`."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

import evolve

project = "evolve"
author = "the evolve authors"
project_copyright = f"2026, {author}"
release = version = evolve.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
# Headings are named as forges name them, so that a link to one holds there and here.
myst_heading_anchors = 3

autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"evolve {release}"
html_show_sourcelink = False
html_copy_source = False
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True


def leave_comments_out(app: Sphinx, doctree: nodes.document) -> None:
    """Take out what stands in the sources for tests and writers alone."""
    for node in list(doctree.findall(nodes.raw)):
        if node.astext().startswith("<!--"):
            node.parent.remove(node)


def setup(app: Sphinx) -> None:
    """Register the above."""
    app.connect("doctree-read", leave_comments_out)
