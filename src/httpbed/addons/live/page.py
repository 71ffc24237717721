"""The page that shows a campaign under way, and the policy that it is served with.

The page has the report's style and one script. The policy allows both by their digests (decision
0024), and requests to the page's own server.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata, resources
from typing import Any

from markupsafe import Markup

from httpbed.base.errors import visible_values
from httpbed.report import templating

TEMPLATE = "live.html.j2"
STYLES = ("style.css", "live.css")
SCRIPT = "live.js"


@dataclass(frozen=True)
class LivePage:
    """A page and its Content Security Policy."""

    html: bytes
    policy: str


def make() -> LivePage:
    """Return the page; it has no word of a campaign."""
    style, script = "".join(map(_own, STYLES)), _own(SCRIPT)
    text = templating.render(
        TEMPLATE,
        __package__,
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        httpbed=metadata.version("httpbed"),
    )
    return LivePage(text.encode(), _policy(style, script))


def _own(name: str) -> str:
    package = "httpbed.report" if name == "style.css" else __package__
    return (resources.files(package) / "templates" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    rules = {
        "default-src": "'none'",
        "style-src": _digest(style),
        "script-src": _digest(script),
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def encoded(document: Mapping[str, Any]) -> bytes:
    """Return a status as JSON for the page, with escapes for characters that do not print."""
    return json.dumps(visible_values(document)).encode()
