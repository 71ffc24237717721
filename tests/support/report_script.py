"""The one script of a report, so that tests can hold that there is no other."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources


def without_own_script(page: str) -> str:
    """Return a report without its own script, which it must contain once, allowed by its digest."""
    text = (resources.files("httpbed.report") / "templates/sort.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    own = f"<script>{text}</script>"
    assert page.count(own) == 1
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
        f" script-src 'sha256-{digest}'"
    )
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in page
    return page.replace(own, "")
