"""What a request spent its time on: the bars of a waterfall, and how a resource is named there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from httpbed.model.errors import visible
from httpbed.pages.load import Request

Kind = Literal["queue", "connect", "send", "wait", "receive"]
KINDS: tuple[Kind, ...] = ("queue", "connect", "send", "wait", "receive")
MOST_NAME = 28
"""Characters of a resource's name."""


@dataclass(frozen=True)
class Phase:
    """One thing that a request did, in seconds since the navigation began."""

    kind: Kind
    begin_s: float
    end_s: float


def phases(request: Request) -> list[Phase]:
    """List what a request did, in order; what the browser did not tell is not among it.

    Each phase lasts until the next one begins, so that between the first and the last moment there
    are no holes. Time for names and TLS is part of ``connect``; what the request waited before,
    in the page or for a connection, is ``queue``.
    """
    begins = list(_begins(request))
    ends = [begin for _, begin in begins[1:]]
    last = request.ended_s
    if last is None:
        last = max((begin for _, begin in begins), default=0.0)
    return [
        Phase(kind, begin, end)
        for (kind, begin), end in zip(begins, [*ends, last], strict=False)
        if end > begin
    ]


def _begins(request: Request) -> Iterator[tuple[Kind, float]]:
    """Yield when each phase began; times that run backwards are left out."""
    connected = [request.dns_start_s, request.connect_start_s, request.tls_start_s]
    told: tuple[tuple[Kind, float | None], ...] = (
        ("queue", request.queued_s if request.queued_s is not None else request.started_s),
        ("connect", min((at for at in connected if at is not None), default=None)),
        ("queue", _connected_s(request)),
        ("send", request.send_start_s),
        ("wait", request.send_end_s),
        ("receive", _answered_s(request)),
    )
    latest = float("-inf")
    for kind, at_s in told:
        if at_s is not None and at_s >= latest:
            latest = at_s
            yield kind, at_s


def _connected_s(request: Request) -> float | None:
    """Return when the connection stood: from then the request waits again until it is sent."""
    ends = [request.dns_end_s, request.connect_end_s, request.tls_end_s]
    return max((at for at in ends if at is not None), default=None)


def _answered_s(request: Request) -> float | None:
    return request.headers_end_s if request.headers_start_s is None else request.headers_start_s


def name(request: Request, most: int = MOST_NAME) -> str:
    """Name a resource by the end of its path, so that it is known among others of its page."""
    try:
        parts = urlsplit(request.url)
        path = [part for part in parts.path.split("/") if part]
        said = path[-1] if path else parts.hostname or request.url
        said += f"?{parts.query}" if parts.query else ""
    except ValueError:
        said = request.url
    if request.url.startswith("data:"):
        said = "data:"
    return shortened(visible(said), most)


def shortened(said: str, most: int) -> str:
    """Cut out the middle of what is too long: names differ at their ends."""
    if len(said) <= most:
        return said
    head = (most - 1) // 2
    return f"{said[:head]}…{said[len(said) - (most - 1 - head) :]}"
