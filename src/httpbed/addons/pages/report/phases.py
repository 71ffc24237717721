"""The phases of a request: the bars of a waterfall, and the names of resources there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from httpbed.addons.pages.load.browser_load import PageRequest
from httpbed.addons.pages.load.timing import phases as whole
from httpbed.base.errors import visible
from httpbed.report.phrasing import shortened

Kind = Literal["queue", "connect", "send", "wait", "receive"]
KINDS: tuple[Kind, ...] = ("queue", "connect", "send", "wait", "receive")
_KINDS: dict[str, Kind] = {
    "blocked": "queue",
    "dns": "connect",
    "connect": "connect",
    "send": "send",
    "wait": "wait",
    "receive": "receive",
}
"""The kind of bar of each HAR phase."""
MOST_NAME = 28
"""Characters of a resource's name."""
MOST_PARTS = 8
"""Parts of a path that a name may have."""


@dataclass(frozen=True)
class Bar:
    """A phase of a request, in seconds since the navigation began."""

    kind: Kind
    begin_s: float
    end_s: float


def bars(request: PageRequest) -> list[Bar]:
    """List a request's phases in order, as in a HAR file (:mod:`httpbed.addons.pages.load.phases`).

    ``connect`` includes DNS and TLS; ``queue`` is the wait in the page or for a connection.
    """
    found: list[Bar] = []
    for one in whole(request):
        kind, begin_s = _KINDS[one.kind], one.begin_s
        if found and found[-1].kind == kind:
            begin_s = found.pop().begin_s
        if one.end_s > begin_s:
            found.append(Bar(kind, begin_s, one.end_s))
    return found


def short_names(requests: Sequence[PageRequest]) -> list[str]:
    """Name resources by the ends of their paths, as long as it takes to tell them apart.

    Requests of one URL keep one name.
    """
    depths = dict.fromkeys((one.url for one in requests), 1)
    every = {one.url: one for one in requests}
    for _ in range(MOST_PARTS):
        names = {url: short_name(one, depth=depths[url]) for url, one in every.items()}
        count = Counter(names.values())
        repeated = [url for url, name in names.items() if count[name] > 1]
        depths |= {url: depths[url] + 1 for url in repeated}
    return [names[one.url] for one in requests]


def short_name(request: PageRequest, most: int = MOST_NAME, depth: int = 1) -> str:
    """Name a resource by the last parts of its path; beyond the first of them by its host, too."""
    try:
        parts = urlsplit(request.url)
        host = parts.hostname or request.url
        path = [host, *(part for part in parts.path.split("/") if part)]
        text = "/".join(path[-depth:])
        text += f"?{parts.query}" if parts.query else ""
    except ValueError:
        text = request.url
    if request.url.startswith("data:"):
        text = "data:"
    return shortened(visible(text), most)
