"""The report as one HTML file that needs nothing else: no network and no font.

Its one script sorts tables. A policy in the page allows that script by its digest. It allows no
other script and no address, so a name from a server or a file can neither run nor load anything.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Any

from markupsafe import Markup

from httpbed.report import svg, templating
from httpbed.report.sections import Document

SCRIPT = "sort.js"


def render(document: Document) -> str:
    """Lay out the report."""
    return templating.render("report.html.j2", report=document, svg=svg.inline, **_script())


def _script() -> dict[str, Any]:
    text = (resources.files(__package__) / "templates" / SCRIPT).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"script": Markup(text), "script_hash": f"sha256-{digest}"}  # noqa: S704 - our own file
