"""How Sphinx builds this documentation: `make docs`."""

from __future__ import annotations

import evolve

project = "evolve"
author = "the evolve authors"
project_copyright = f"2026, {author}"
release = version = evolve.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build", "recipes", "schemas", "images"]
nitpicky = False

# Links to files of the repository that are no pages (recipes, templates, sources) become downloads.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"evolve {release}"
html_static_path: list[str] = []
html_show_sourcelink = False
html_copy_source = False
# Output in a block is no command: it is left out of what is copied.
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
