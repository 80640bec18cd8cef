"""Settings of the documentation site: Sphinx reads Markdown by MyST and the docstrings by autodoc.

`make docs` builds it, with warnings as errors; nothing is fetched, and the pages load nothing from elsewhere.
"""

import sys
from pathlib import Path

from pygments.lexers.data import JsonLexer
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[1]))

import quartermaster

project = "Quartermaster"
html_title = "Quartermaster"
release = version = quartermaster.__version__
copyright = "the authors of Quartermaster"
html_show_copyright = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build", "generators"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"

# Headings get anchors as a code host makes them, so that a link works in both places.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
copybutton_prompt_text = "$ "

# Docstrings are plain text: a name in single backticks is code.
default_role = "code"
napoleon_use_ivar = True  # fields of a class are a list, not entries of their own
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
nitpicky = False

# `[source.fields]` and the like are no links.
suppress_warnings: list[str] = []


def setup(app: Sphinx) -> None:
    """Colour JSON Lines as JSON: Pygments has no lexer of that name."""
    app.add_lexer("jsonl", JsonLexer)
