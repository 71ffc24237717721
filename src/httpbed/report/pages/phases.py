"""The phases of a request: the bars of a waterfall, and the names of resources there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from httpbed.experiment.errors import visible
from httpbed.web.load.browser_load import PageRequest
from httpbed.web.load.phases import phases as whole

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


@dataclass(frozen=True)
class Bar:
    """A phase of a request, in seconds since the navigation began."""

    kind: Kind
    begin_s: float
    end_s: float


def bars(request: PageRequest) -> list[Bar]:
    """List a request's phases in order, as in a HAR file (:mod:`httpbed.web.load.phases`).

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


def short_name(request: PageRequest, most: int = MOST_NAME) -> str:
    """Name a resource by the end of its path, which distinguishes it within its page."""
    try:
        parts = urlsplit(request.url)
        path = [part for part in parts.path.split("/") if part]
        text = path[-1] if path else parts.hostname or request.url
        text += f"?{parts.query}" if parts.query else ""
    except ValueError:
        text = request.url
    if request.url.startswith("data:"):
        text = "data:"
    return shortened(visible(text), most)


def shortened(text: str, most: int) -> str:
    """Shorten a long name in its middle; names differ at their ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"
