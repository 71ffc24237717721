"""What a request spent its time on, in the phases of HAR 1.2.

Each phase lasts until the next one begins, as in Chrome's HARs, so that between the first and the
last moment there are no holes: what passes between the answer of the DNS and the start of the
connection belongs to ``dns``, and what a request waits on a connection that stands, to ``connect``.
The answer is received from when its header is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from httpbed.web.load.browser_load import PageRequest

Kind = Literal["blocked", "dns", "connect", "send", "wait", "receive"]


@dataclass(frozen=True)
class Phase:
    """One thing that a request did, in seconds since the navigation began."""

    kind: Kind
    begin_s: float
    end_s: float


def begun_s(request: PageRequest) -> float | None:
    """Return the first that is known of a request; None where no time is."""
    told = (
        request.queued_s,
        request.started_s,
        request.dns_start_s,
        request.connect_start_s,
        request.send_start_s,
        request.ended_s,
    )
    return next((one for one in told if one is not None), None)


def phases(request: PageRequest) -> list[Phase]:
    """List what a request did, in order and without holes; a phase may have no length.

    What the browser did not tell is not among it, and times that run backwards stand still.
    """
    begins = list(_begins(request))
    last = begins[-1][1] if begins else 0.0
    end = last if request.ended_s is None else max(last, request.ended_s)
    times = [*(begin for _, begin in begins), end]
    kinds = (kind for kind, _ in begins)
    return [
        Phase(kind, begin, after)
        for kind, (begin, after) in zip(kinds, pairwise(times), strict=True)
    ]


def _begins(request: PageRequest) -> Iterator[tuple[Kind, float]]:
    told: tuple[tuple[Kind, float | None], ...] = (
        ("blocked", begun_s(request)),
        ("dns", request.dns_start_s),
        ("connect", request.connect_start_s),
        ("send", request.send_start_s),
        ("wait", request.send_end_s),
        ("receive", request.headers_end_s),
    )
    latest = float("-inf")
    for kind, at_s in told:
        if at_s is not None:
            latest = max(latest, at_s)
            yield kind, latest
