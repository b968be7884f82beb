"""What Sphinx builds the site with: `make site`. The pages are this folder's; with `-t zh` those of docs/zh."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
# The extensions in docs/website, and the package of this checkout.
sys.path[:0] = [str(HERE / "website"), str(HERE.parent / "src")]

from regard.version import __version__  # noqa: E402

CHINESE = tags.has("zh")  # noqa: F821 - Sphinx defines `tags`

project = "regard"
version = release = __version__
language = "zh_CN" if CHINESE else "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "chinese",
    "docstrings",
    "formulas",
    "repository_links",
]
exclude_patterns = [] if CHINESE else ["zh", "website"]

# Markdown as GitHub shows it: links to headings, and formulas in fences.
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
myst_url_schemes = {
    "http": None,
    "https": None,
    # Pages of the site in the other language, which are no documents of this build.
    "page": {"url": "{{path}}"},
    "heading": {"url": "{{path}}#{{fragment}}"},
}
suppress_warnings = ["myst.header"]  # a page may skip a level, as a command's help does

autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": True}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
# One entry often describes several arguments: "score, weights, mask: as in ...".
napoleon_use_param = False
napoleon_use_rtype = False
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "regard"
html_static_path = [str(HERE / "website" / "static")]
html_css_files = ["site.css"]
templates_path = [str(HERE / "website" / "templates")]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "language.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_context = {
    "other_language": "English" if CHINESE else "中文",
}
html_copy_source = False
html_show_copyright = False
html_show_sourcelink = False
