"""How a request spent its time, in the phases of HAR 1.2.

As in Chrome's HAR files, each phase lasts until the next one begins, so there are no gaps between
the first and the last event. Time between DNS and the start of the connection belongs to ``dns``;
time that a request waits for an existing connection belongs to ``connect``. ``receive`` begins when
the response's header is complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from httpbed.addons.pages.load.browser_load import PageRequest

Kind = Literal["blocked", "dns", "connect", "send", "wait", "receive"]


@dataclass(frozen=True)
class Phase:
    """One phase of a request, in seconds since the navigation began."""

    kind: Kind
    begin_s: float
    end_s: float


def begun_s(request: PageRequest) -> float | None:
    """Return the earliest known time of a request; None without any."""
    times = (
        request.queued_s,
        request.started_s,
        request.dns_start_s,
        request.connect_start_s,
        request.send_start_s,
        request.ended_s,
    )
    return next((one for one in times if one is not None), None)


def phases(request: PageRequest) -> list[Phase]:
    """Return the phases of a request in order and without gaps; a phase may have no length.

    Phases that the browser did not report are absent. Times that run backwards are clamped.
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
    begins: tuple[tuple[Kind, float | None], ...] = (
        ("blocked", begun_s(request)),
        ("dns", request.dns_start_s),
        ("connect", request.connect_start_s),
        ("send", request.send_start_s),
        ("wait", request.send_end_s),
        ("receive", request.headers_end_s),
    )
    latest = float("-inf")
    for kind, at_s in begins:
        if at_s is not None:
            latest = max(latest, at_s)
            yield kind, latest
