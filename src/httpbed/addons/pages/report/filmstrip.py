"""Filmstrips: screenshots of typical loads at regular times, one strip for each treatment."""

from __future__ import annotations

import base64
import io
import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.report import film
from httpbed.report.figures import WIDE_IN, Plot
from httpbed.report.svg import INK, QUIET, VisibleFigure

MAX_PICTURES = 8
"""In a strip."""
WIDTH_PIXELS = 150
"""Of each, as it is kept: on a usual screen it is shown somewhat smaller."""
GAP = 0.05
"""Between pictures, in widths of one."""
NAME_IN, TIMES_IN, FOOT_IN = 0.26, 0.18, 0.04
"""Heights of a strip's name, of the times above all, and of nothing below."""
MIN_PICTURES = 4
_STEPS = (1, 2, 2.5, 5, 10)


def times(loads: Sequence[BrowserLoad]) -> list[float]:
    """Choose the times of all strips: regular, round, until all of them look as in the end."""
    last = max((film.last_change_s(load) for load in loads), default=0.0) or 0.1
    step = _round_up(last / (MAX_PICTURES - 1))
    count = max(MIN_PICTURES, min(MAX_PICTURES, math.ceil(round(last / step, 6)) + 1))
    return [round(index * step, 6) for index in range(count)]


def _round_up(step: float) -> float:
    scale = 10.0 ** math.floor(math.log10(step))
    return next(scale * one for one in _STEPS if scale * one >= step * (1 - 1e-9))


def draw(loads: Mapping[str, tuple[BrowserLoad, str]]) -> VisibleFigure:
    """Draw strips, each with its treatment's name and text."""
    moments = times([load for load, _ in loads.values()])
    screens = [film.screen(load, WIDTH_PIXELS) for load, _ in loads.values()]
    wide = len(moments) * (1 + GAP) - GAP
    inch = WIDE_IN / wide
    heights = [screen.size[1] / screen.size[0] for screen in screens]
    row = max(heights, default=film.USUAL_SHAPE) + NAME_IN / inch
    tall = row * len(screens) + (TIMES_IN + FOOT_IN) / inch
    figure = VisibleFigure(figsize=(WIDE_IN, tall * inch))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-0.01, wide + 0.01), ylim=(tall, 0), aspect="equal")
    axes.axis("off")
    for index, moment in enumerate(moments):
        _text(axes, (index * (1 + GAP), 0.5 * TIMES_IN / inch), f"{moment:g} s", color=QUIET)
    for number, (name, screen) in enumerate(zip(loads, screens, strict=True)):
        top = TIMES_IN / inch + number * row
        middle = top + 0.6 * NAME_IN / inch
        _text(axes, (0, middle), name, fontweight="bold")
        _text(axes, (wide, middle), loads[name][1], ha="right")
        _strip(axes, screen, moments, top + NAME_IN / inch)
    return figure


def _strip(axes: Axes, screen: film.Screen, moments: Sequence[float], top: float) -> None:
    height = screen.size[1] / screen.size[0]
    for index, moment in enumerate(moments):
        left = index * (1 + GAP)
        axes.imshow(
            np.asarray(screen.at(moment)),
            extent=(left, left + 1, top + height, top),
            interpolation="none",
            aspect="equal",
        )
        edges = [[left, left + 1, left + 1, left, left], [top, top, *[top + height] * 2, top]]
        changed = index > 0 and screen.at(moment) != screen.at(moments[index - 1])
        axes.plot(*edges, color=INK if changed else QUIET, linewidth=1.1 if changed else 0.5)
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())


def _text(axes: Axes, at: tuple[float, float], words: str, **style: Any) -> None:
    axes.text(*at, words, va="center", **{"fontsize": 8, "color": INK, **style})


_PNG = re.compile(r"data:image/png;base64,\s*([A-Za-z0-9+/=\s]+)")


class PhotoPlot(Plot):
    """A figure whose pictures are small."""

    def svg(self) -> str:
        """Draw as SVG, with pictures as JPEG."""
        return self._with_jpeg

    @cached_property
    def _with_jpeg(self) -> str:
        return _PNG.sub(lambda found: _as_jpeg(found[1]), super().svg())


def _as_jpeg(encoded: str) -> str:
    png = Image.open(io.BytesIO(base64.b64decode(encoded)), formats=["PNG"])
    return film.address(film.jpeg(png.convert("RGB")), "jpeg")
