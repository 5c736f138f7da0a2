"""How the documentation is built: `make docs`, offline, warnings are errors."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from _generated_pages import write_pages  # noqa: E402

project = "nerode"
author = "The nerode authors"
copyright = "2026, the nerode authors"
version = release = metadata.version("nerode")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "nerode"
html_static_path = ["_static"]
html_css_files = ["nerode.css"]
html_show_sourcelink = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"

write_pages(HERE)
