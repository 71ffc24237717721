"""The waterfall of a load: a bar for each request, in parts that grey and colour tell apart.

The colour is the protocol, and what a request does is how high and how dark its bar is, so that a
print in black and white tells it, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.load.timing import phases as whole
from httpbed.base import units
from httpbed.base.errors import visible
from httpbed.report.phrasing import shortened
from httpbed.report.svg import INK, PALETTE, QUIET, WIDE_IN, VisibleFigure, name_marks, round_ticks
from httpbed.report.svg import PROTOCOLS as PLACES

MAX_ROWS = 40
"""Requests of a load that are drawn."""
ROW_IN, FRAME_IN = 0.155, 1.0
MAX_REASON = 26
MAX_PATH = 120
"""Characters of a resource's path, where readers point at its bar."""
PROTOCOLS = {version: PALETTE[place] for version, place in PLACES.items()}
CONNECT = "#6e6e6e"
LETTERS = 7.5
LETTER_SHARE = 0.011
"""Width of a letter at the right, as a share of the axis."""
MILESTONE_LETTER_SHARE = 0.0135
"""Width of a letter in the name of a milestone, as a share of the width."""


def draw(load: BrowserLoad) -> VisibleFigure:
    """Draw the first requests of a load, and its milestones."""
    rows = drawn(load)
    figure = VisibleFigure(
        figsize=(WIDE_IN, FRAME_IN + ROW_IN * max(4, len(rows))), layout="constrained"
    )
    axes = figure.subplots()
    end = _end_s(load, rows)
    for y, request in enumerate(rows):
        _row(axes, y, request, end)
    _frame(axes, rows, end)
    _milestones(axes, load, end)
    _legend(figure, rows)
    return figure


def drawn(load: BrowserLoad) -> list[PageRequest]:
    """Return the requests that are drawn: the first of those with a time."""
    return [request for request in load.requests if _begin_s(request) is not None][:MAX_ROWS]


def left_out(load: BrowserLoad) -> str:
    """Say what is not drawn; nothing where all is."""
    rest = len(load.requests) - len(drawn(load))
    if not rest:
        return ""
    return f"{rest} of its {len(load.requests)} requests are not drawn."


def colour(request: PageRequest) -> str:
    """Return the colour of a request's protocol."""
    return PROTOCOLS.get(request.http_version, QUIET)


def protocol(request: PageRequest) -> str:
    """Name a request's protocol."""
    if request.http_version in PROTOCOLS:
        return f"HTTP/{request.http_version}"
    return "other" if request.http_version else "not known"


def bar(kind: Kind, hue: str) -> dict[str, Any]:
    """Return how a phase is drawn: by its height, its fill and its edge."""
    plain = {"edgecolor": "none", "linewidth": 0}
    return {
        "queue": {"height": 0.14, "facecolor": QUIET, **plain},
        "connect": {"height": 0.46, "facecolor": "none", "edgecolor": CONNECT, "linewidth": 0.7},
        "send": {"height": 0.74, "facecolor": INK, **plain},
        "wait": {"height": 0.74, "facecolor": hue, "alpha": 0.33, **plain},
        "receive": {"height": 0.74, "facecolor": hue, **plain},
    }[kind]


def _row(axes: Axes, y: int, request: PageRequest, end: float) -> None:
    found = bars(request)
    for phase in found:
        width = max(phase.end_s - phase.begin_s, 0.0015 * end)
        (drawn_bar,) = axes.barh(y, width, left=phase.begin_s, **bar(phase.kind, colour(request)))
        took = units.format_duration(phase.end_s - phase.begin_s, units.SHORT_DIGITS)
        name_marks(drawn_bar, [f"{request.path[:MAX_PATH]}: {phase.kind} {took}"])
    if not found:
        axes.plot([_begin_s(request) or 0.0], [y], "|", color=QUIET, markersize=5)
    axes.annotate(
        _note(request),
        (1.0, y),
        xycoords=("axes fraction", "data"),
        ha="right",
        va="center_baseline",
        fontsize=LETTERS - 1,
        color=INK,
    )


def _note(request: PageRequest) -> str:
    if request.failed:
        return shortened(visible(request.failed), MAX_REASON)
    if request.from_cache:
        return "cache"
    size = units.format_size(request.wire_bytes, units.SHORT_DIGITS) if request.wire_bytes else ""
    status = str(request.status) if request.status not in {0, 200} else ""
    return ", ".join(filter(None, (status, size)))


def _begin_s(request: PageRequest) -> float | None:
    return request.queued_s if request.queued_s is not None else request.started_s


def _end_s(load: BrowserLoad, rows: Sequence[PageRequest]) -> float:
    ends = [phase.end_s for row in rows for phase in bars(row)]
    return max([*ends, *(at for _, at in milestones(load)), 1e-3])


def milestones(load: BrowserLoad) -> list[tuple[str, float]]:
    """List what happened to the page itself, in order of time."""
    moments = (
        ("FCP", load.first_contentful_paint_s),
        ("LCP", load.largest_contentful_paint_s),
        ("DOM", load.content_loaded_s),
        ("onload", load.onload_s),
    )
    return sorted(((name, at) for name, at in moments if at is not None), key=lambda pair: pair[1])


def names_of_milestones(load: BrowserLoad, end_s: float) -> list[tuple[str, float]]:
    """List the names above the milestones with their places; those without room share a name."""
    named: list[tuple[str, float]] = []
    for name, at_s in milestones(load):
        if named:
            before, begin_s = named[-1]
            if at_s - begin_s < (len(before) + 1) * MILESTONE_LETTER_SHARE * end_s:
                named[-1] = (f"{before}, {name}", begin_s)
                continue
        named.append((name, at_s))
    return named


def _milestones(axes: Axes, load: BrowserLoad, end: float) -> None:
    """Mark them, and name them above."""
    for _, at_s in milestones(load):
        axes.axvline(at_s, color=INK, linewidth=0.7, linestyle=(0, (4, 2)), alpha=0.65, zorder=0)
    for name, at_s in names_of_milestones(load, end):
        axes.annotate(
            name,
            (at_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=LETTERS,
            ha="left",
        )


def _frame(axes: Axes, rows: Sequence[PageRequest], end: float) -> None:
    names = short_names(rows)
    axes.set_yticks(range(len(rows)), names, fontsize=LETTERS)
    axes.set_ylim(max(4, len(rows)) - 0.4, -0.7)
    letters = max(map(len, map(_note, rows)), default=0)
    axes.set_xlim(0, end * (1.03 + LETTER_SHARE * letters))
    axes.tick_params(axis="y", length=0, pad=3)
    axes.spines["left"].set_visible(False)
    round_ticks(axes.xaxis, 8)
    axes.grid(axis="x")
    axes.set_xlabel("time since the start of the navigation (s)")


def _legend(figure: VisibleFigure, rows: Sequence[PageRequest]) -> None:
    figure.legend(
        handles=list(_signs(rows)),
        loc="outside upper left",
        ncols=8,
        frameon=False,
        fontsize=8,
        handlelength=1.3,
        handletextpad=0.5,
        columnspacing=1.2,
        borderpad=0,
    )


def _signs(rows: Sequence[PageRequest]) -> Iterator[Patch]:
    used = {phase.kind for row in rows for phase in bars(row)}
    hues = dict.fromkeys((protocol(row), colour(row)) for row in rows if row.is_on_network)
    for kind in KINDS:
        if kind in used:
            style = bar(kind, CONNECT)
            style.pop("height")
            yield Patch(label=kind, **style)
    for name, hue in hues:
        yield Patch(label=name, facecolor=hue)


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
MAX_NAME = 28
"""Characters of a resource's name."""
MAX_PARTS = 8
"""Parts of a path that a name may have."""


@dataclass(frozen=True)
class Bar:
    """A phase of a request, in seconds since the navigation began."""

    kind: Kind
    begin_s: float
    end_s: float


def bars(request: PageRequest) -> list[Bar]:
    """List a request's phases in order, as in a HAR file (:func:`timing.phases`).

    ``connect`` includes DNS and TLS; ``queue`` is the wait in the page or for a connection.
    """
    drawn: list[Bar] = []
    for phase in whole(request):
        kind, begin_s = _KINDS[phase.kind], phase.begin_s
        if drawn and drawn[-1].kind == kind:
            begin_s = drawn.pop().begin_s
        if phase.end_s > begin_s:
            drawn.append(Bar(kind, begin_s, phase.end_s))
    return drawn


def short_names(requests: Sequence[PageRequest]) -> list[str]:
    """Name resources by the ends of their paths, as long as it takes to tell them apart.

    Requests of one URL keep one name.
    """
    depths = dict.fromkeys((request.url for request in requests), 1)
    every = {request.url: request for request in requests}
    for _ in range(MAX_PARTS):
        names = {url: short_name(one, depth=depths[url]) for url, one in every.items()}
        count = Counter(names.values())
        repeated = [url for url, name in names.items() if count[name] > 1]
        depths |= {url: depths[url] + 1 for url in repeated}
    return [names[request.url] for request in requests]


def short_name(request: PageRequest, depth: int = 1) -> str:
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
    return shortened(visible(text), MAX_NAME)
