"""Figures with control characters made visible; every figure of a report is one.

Names of levels, hosts and files come from users and servers. A control character in them makes
an SVG that is not well-formed XML, and a lone surrogate stops matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import Formatter

from httpbed.base.errors import visible

MAX_NAMED = 60
"""Points of a line that have a name."""


class VisibleFigure(Figure):
    """A figure that makes its texts visible before it is laid out or drawn."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """As matplotlib's figure."""
        super().__init__(*arguments, **keywords)
        self.words: dict[str, list[str]] = {}
        """What the marks of artists are, by gid."""

    def draw(self, renderer: RendererBase) -> None:
        """Draw it; matplotlib calls this for every form, and to settle the layout."""
        for text in self.findobj(Text):
            text.set_text(_shown(text.get_text()))
        for axes in self.axes:
            for axis in (axes.xaxis, axes.yaxis):
                _make_ticks_visible(axis)
        super().draw(renderer)


def name_marks(artist: Artist, words: Iterable[str]) -> None:
    """Name each mark of an artist, or the artist: readers see it where they point."""
    figure = artist.get_figure(root=True)
    if isinstance(figure, VisibleFigure):
        gid = f"marks-{len(figure.words)}"
        artist.set_gid(gid)
        figure.words[gid] = list(words)


def name_points(axes: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """Name points of a line that shows no marks; of many, some at regular distances."""
    kept = points[:: math.ceil(len(points) / MAX_NAMED) or 1]
    (unseen,) = axes.plot([x for x, _, _ in kept], [y for _, y, _ in kept], "o", ms=8, alpha=0)
    name_marks(unseen, (words for _, _, words in kept))


def _make_ticks_visible(axis: Axis) -> None:
    """Names at ticks are made while drawing, by the axis's formatters."""
    if not isinstance(major := axis.get_major_formatter(), _Visible):
        axis.set_major_formatter(_Visible(major))
    if not isinstance(minor := axis.get_minor_formatter(), _Visible):
        axis.set_minor_formatter(_Visible(minor))


class _Visible(Formatter):
    """Formats as another formatter does, with visible characters only."""

    def __init__(self, inner: Formatter) -> None:
        self._inner = inner

    def set_locs(self, locs: list[float]) -> None:
        self._inner.set_locs(locs)

    def __call__(self, x: float, pos: int | None = None) -> str:
        return _shown(self._inner(x, pos))

    def format_ticks(self, values: Iterable[float]) -> list[str]:
        return [_shown(text) for text in self._inner.format_ticks(list(values))]

    def get_offset(self) -> str:
        return self._inner.get_offset()


def _shown(text: str) -> str:
    """Keep the ends of lines only: no font has a tab."""
    return "\n".join(map(visible, text.split("\n")))
