"""The series of a figure: colours, dashes and legends, so that a protocol looks alike in all."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType

from httpbed.report.svg import PALETTE, VisibleFigure

SINCE = "time since the client's first packet (s)"
Dashes = Literal["-"] | tuple[float, tuple[float, ...]]
DASHES: tuple[Dashes, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1, 1.5)),
)
"""Line styles of medians, which distinguish them without colour."""
Sign = tuple[str, str, LineStyleType]
"""What distinguishes a curve: its colour, its marker and its dashes."""
PROTOCOLS = {"1.1": 0, "2": 1, "3": 2}
"""Place in the palette of each HTTP version."""
_PROTOCOL = re.compile(r"\b(?:HTTP/|http|h)(1\.1|1|2|3)\b")
"""The HTTP version in a level, such as ``3``, ``curl:h3`` or ``wget-http1``."""


def colours(names: Iterable[str]) -> dict[str, str]:
    """Return the colour of each series of a figure."""
    return {name: PALETTE[at] for name, at in colour_places(names, len(PALETTE)).items()}


def colour_places(names: Iterable[str], colours: int) -> dict[str, int]:
    """Return each series' place in a palette: a protocol has the same in all figures.

    The name decides, because that is what the legend shows. Series without a protocol take none of
    the protocols' colours.
    """
    others = itertools.cycle(range(len(PROTOCOLS), colours))
    return {
        name: next(others) if (place := _of_protocol(name)) is None else place
        for name in dict.fromkeys(names)
    }


def colour_ranks(names: Iterable[str], colours: int) -> dict[str, int]:
    """Return how many earlier series have the same colour."""
    seen = Counter[int]()
    ranks = {}
    for name, place in colour_places(names, colours).items():
        ranks[name] = seen[place]
        seen[place] += 1
    return ranks


def _of_protocol(name: str) -> int | None:
    """Return the place of the first protocol in a name: that of the client."""
    found = _PROTOCOL.search(name)
    return PROTOCOLS["1.1" if found[1] == "1" else found[1]] if found else None


def legend(figure: VisibleFigure, signs: Mapping[str, Sign], columns: int) -> None:
    """Write a legend above a figure: each name with its sign."""
    lines = [
        Line2D(
            [],
            [],
            color=colour,
            marker=marker,
            linestyle=dashes,
            markersize=4.5,
            linewidth=1.4,
            label=name,
        )
        for name, (colour, marker, dashes) in signs.items()
    ]
    figure.legend(
        handles=lines,
        loc="outside upper left",
        ncols=min(columns, len(signs)),
        frameon=False,
        fontsize=9,
        handlelength=1.8,
        columnspacing=1.6,
        borderpad=0,
    )
