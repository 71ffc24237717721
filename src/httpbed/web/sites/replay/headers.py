"""Which fields of a recorded head are sent again.

Fields of the connection and of the body's length are made anew by whoever sends the body now. Some
fields would have the browser ask for something, or refuse something, that the recording has not;
they are sent under another name, so that the head stays about as long as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from httpbed.web.har.entries import HarEntry

Fields = list[tuple[str, str]]

PREFIX = "x-recorded-"
MOST_BYTES = 2**14
"""Of a head: of one in several frames of HTTP/2, Chromium counts only a part as come."""
_MADE_ANEW = frozenset(
    {
        "alt-svc",
        "connection",
        "content-length",
        "http2-settings",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_ALWAYS_RENAMED = frozenset(
    {
        "clear-site-data",
        "content-security-policy-report-only",
        "critical-ch",
        "nel",
        "proxy-authenticate",
        "refresh",
        "report-to",
        "reporting-endpoints",
        "www-authenticate",
    }
)
"""They open dialogs, have reports sent to others, or have a page loaded anew."""
_RENAMED_OF_SKELETONS = frozenset(
    {
        "content-disposition",
        "content-security-policy",
        "document-policy",
        "link",
        "require-document-policy",
        "speculation-rules",
    }
)
"""They keep a document's script from asking, or ask themselves."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def answered(entry: HarEntry, *, location: str | None, of_skeleton: bool) -> Fields:
    """Return the fields that are sent; ``location`` is where a redirect leads to, if it does."""
    renamed = _ALWAYS_RENAMED | (_RENAMED_OF_SKELETONS if of_skeleton else frozenset())
    found: Fields = []
    for name, value in _written(entry.response_headers):
        kind = name.lower()
        if kind == "location" and location is not None:
            found.append((name, location))
        elif kind in renamed or kind == "location":
            found.append((PREFIX + name, value))
        elif kind not in _MADE_ANEW:
            found.append((name, value))
    if location is not None and "location" not in {name.lower() for name, _ in found}:
        found.append(("location", location))
    return found


def _written(fields: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the fields that can be written; some tools join several of a name by line ends."""
    for name, value in fields:
        if _TOKEN.fullmatch(name):
            for line in value.splitlines() or [""]:
                yield name, _CONTROL.sub(" ", line).strip()


def with_field(fields: Fields, name: str, value: str | None) -> Fields:
    """Return fields with one of them set where it was, or last; None takes it away."""
    found = [
        (said, value if said.lower() == name else was)
        for said, was in fields
        if said.lower() != name or value is not None
    ]
    if value is not None and name not in {said.lower() for said, _ in fields}:
        found.append((name, value))
    return [(said, was or "") for said, was in found]


def length(fields: Sequence[tuple[str, str]]) -> int:
    """Bytes of a head as text."""
    return sum(len(name.encode()) + len(value.encode()) + 4 for name, value in fields)
