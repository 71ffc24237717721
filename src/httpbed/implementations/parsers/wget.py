"""What wget says of one transfer with ``--server-response``, in the C locale."""

from __future__ import annotations

import re
from pathlib import Path

from httpbed.implementations.protocol import Findings, Request
from httpbed.process import left

_STATUS = re.compile(r"^ {2}HTTP/(?P<version>[0-9.]+) (?P<status>[0-9]{3})\b", re.MULTILINE)
_SAVED = re.compile(
    r'^\S+ \S+ URL:(?P<url>\S+) \[(?P<bytes>[0-9]+)(?:/[0-9]+)?\] -> "', re.MULTILINE
)
_WRONG = re.compile(
    r"^(?:.*\bERROR\b:? ?)(?P<reason>.+)$|^(?P<other>\S.*(?:failed|unable).*|failed: .+)$",
    re.MULTILINE,
)


def parse(file: Path) -> Findings:
    """Read what it printed."""
    try:
        text = left.text(file)
    except FileNotFoundError:
        return Findings(complaint="wget printed nothing")
    except left.UnreadableError as error:
        return Findings(complaint=f"what wget printed is unreadable: {error}")
    saved, status = _SAVED.search(text), _STATUS.search(text)
    if status is None:
        return Findings(complaint=_complaint(text) or "wget printed no answer's header")
    body_bytes = int(saved["bytes"]) if saved else 0
    path = "/" + saved["url"].split("/", 3)[-1] if saved else ""
    request = Request(status["version"], int(status["status"]), body_bytes, path=path)
    wrong = "" if saved else _complaint(text) or "wget saved nothing"
    return Findings(requests=(request,), complaint=wrong)


def _complaint(text: str) -> str:
    found = [match["reason"] or match["other"] for match in _WRONG.finditer(text)]
    return "; ".join(dict.fromkeys(found))
