"""Which fields of a recorded response head are sent again.

The server that sends the body now sets fields of the connection and of the length itself. Fields
that would cause or block other requests than recorded are sent under another name, so that the
head keeps about its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from httpbed.addons.pages.har.har_file import HarEntry

Fields = list[tuple[str, str]]

PREFIX = "x-recorded-"
MAX_BYTES = 2**14
"""Upper bound of a head; Chromium counts only part of a head in several HTTP/2 frames."""
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
"""These open dialogs, send reports to other hosts, or reload the page."""
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
"""These block the requests of a document's script, or cause requests."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def answered(entry: HarEntry, *, location: str | None, of_skeleton: bool) -> Fields:
    """Return the fields to send; ``location`` is the target of a redirect."""
    renamed = _ALWAYS_RENAMED | (_RENAMED_OF_SKELETONS if of_skeleton else frozenset())
    sent: Fields = []
    for name, value in _written(entry.response_headers):
        kind = name.lower()
        if kind == "location" and location is not None:
            sent.append((name, location))
        elif kind in renamed or kind == "location":
            sent.append((PREFIX + name, value))
        elif kind not in _MADE_ANEW:
            sent.append((name, value))
    if location is not None and "location" not in {name.lower() for name, _ in sent}:
        sent.append(("location", location))
    return sent


def _written(fields: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the fields that can be sent; some tools join repeated fields with line ends."""
    for name, value in fields:
        if _TOKEN.fullmatch(name):
            for line in value.splitlines() or [""]:
                yield name, _CONTROL.sub(" ", line).strip()


def with_field(fields: Fields, name: str, value: str | None) -> Fields:
    """Return fields with one of them replaced in place, or added last; None removes it."""
    changed = [
        (own, value if own.lower() == name else was)
        for own, was in fields
        if own.lower() != name or value is not None
    ]
    if value is not None and name not in {own.lower() for own, _ in fields}:
        changed.append((name, value))
    return [(own, was or "") for own, was in changed]


def length(fields: Sequence[tuple[str, str]]) -> int:
    """Return the bytes of a head as text."""
    return sum(len(name.encode()) + len(value.encode()) + 4 for name, value in fields)
