"""Settings of the site: `make docs` builds it with Sphinx from the Markdown files of this checkout.

The source folder is the whole checkout, so the files and their links are the same on the source
host and in the site. The site needs no network, neither while it is built nor while it is read.
"""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import PurePosixPath
from posixpath import normpath

from sphinx.application import Sphinx

project = "httpbed"
version = release = metadata.version("httpbed")
extensions = ["myst_parser"]

root_doc = "docs/README"
include_patterns = [
    "*.md",
    "docs/**.md",
    "experiments/**.md",
    "results/explained/*.md",
    "results/matrix/*.md",
    "results/senders/*.md",
    "results/senders/suites/*/*.md",
]
# Sphinx walks through the folders that are not named here.
exclude_patterns = [".*", "bench", "build", "crates", "demo", "dist", "fuzz", "setup"]
exclude_patterns += ["src", "target", "tests"]

myst_heading_anchors = 4
highlight_language = "none"

smartquotes = False

html_theme = "furo"
html_title = f"httpbed {version}"
html_static_path = ["site.css", "copy_button.js"]
html_css_files = ["site.css"]
html_js_files = ["copy_button.js"]
html_extra_path = ["index.html"]  # leads to the overview
html_copy_source = False
html_show_copyright = False
html_show_search_summary = False  # a browser would fetch each page, which a file:// URL forbids

FOLDERS = {"docs/decisions/README": "0*", "docs/measurements/README": "*"}
"""Pages of contents, and which pages beside them they lead to."""
CERTIFICATES = "results/senders/suites/"
ENTRY = re.compile(r"^- \[([^]]+)\]\(([^)#:]+)\.md\)", re.MULTILINE)


def setup(app: Sphinx) -> None:
    """Add the navigation to the pages that list others, after Sphinx has read them."""
    app.connect("source-read", add_navigation)


def add_navigation(_: Sphinx, page: str, source: list[str]) -> None:
    """Append tables of contents: the source host would show them as code."""
    if page == root_doc:
        for section in source[0].split("\n## ")[1:]:
            source[0] += table_of_contents(section)
    elif page in FOLDERS:
        source[0] += f"\n```{{toctree}}\n:glob:\n:titlesonly:\n\n{FOLDERS[page]}\n```\n"
    elif page.startswith(CERTIFICATES):  # only the page of matrices leads to them
        source[0] = f"---\norphan: true\n---\n{source[0]}"


def table_of_contents(section: str) -> str:
    """Return the hidden table of the pages that a section of the page of contents lists."""
    caption = section.partition("\n")[0]
    folder = PurePosixPath(root_doc).parent
    entries = [f"{title} </{normpath(folder / page)}>" for title, page in ENTRY.findall(section)]
    options = [":hidden:", ":titlesonly:", f":caption: {caption}"]
    return "\n".join(["", "```{toctree}", *options, "", *entries, "```"])
