"""What was seen of loads: filmstrips, and curves of visual progress.

A filmstrip has the pictures of a typical load at regular times, one strip for each treatment.
"""

from __future__ import annotations

import base64
import io
import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from PIL import Image

from httpbed.addons.pages import loads
from httpbed.addons.pages.load import speed_index
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.load.speed_index import PictureError, ProgressPoint
from httpbed.report import svg
from httpbed.report.svg import DASHES, QUIET, WIDE_IN, Dashes, Plot, VisibleFigure, colours

MIN_SHAPE, MAX_SHAPE, USUAL_SHAPE = 0.4, 2.2, 768 / 1366
"""Height over width of a picture: what is beyond is cut off at its lower end."""
JPEG_QUALITY = 78

MAX_STRIP_PICTURES, MIN_STRIP_PICTURES = 8, 4
STRIP_PIXELS = 150
"""Width of a strip's picture as it is kept: on a usual screen it is shown somewhat smaller."""
GAP = 0.05
"""Between pictures, in widths of one."""
NAME_IN, TIMES_IN, FOOT_IN = 0.26, 0.18, 0.04
"""Heights of a strip's name, of the times above all, and of nothing below."""

_PNG = re.compile(r"data:image/png;base64,\s*([A-Za-z0-9+/=\s]+)")

PROGRESS_IN = 2.5
MEDIAN_WIDTH = 1.9
LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 9, "borderpad": 0, "handlelength": 2.6}


@dataclass(frozen=True)
class Screen:
    """What was seen of one load, at any time, in pictures of one size."""

    load: BrowserLoad
    size: tuple[int, int]
    """Width and height in pixels."""
    blank: Image.Image
    """What is seen before the first picture."""
    _made: dict[Path, Image.Image | None] = field(default_factory=dict, repr=False)

    def at(self, time_s: float) -> Image.Image:
        """Return the picture as of a time; blank before the first, and where one is damaged."""
        frames = self.load.frames
        count = bisect_right([frame.at_s for frame in frames], time_s)
        if not count:
            return self.blank
        frame = frames[count - 1]
        if frame.file not in self._made:
            self._made[frame.file] = _small(frame.file, self.size)
        return self._made[frame.file] or self.blank


def screen(load: BrowserLoad, width: int) -> Screen:
    """Look at a load in pictures of some width; their shape is that of the last one to be read."""
    read = (one for frame in reversed(load.frames) if (one := _decoded(frame.file)))
    last = next(read, None)
    shape = last.height / last.width if last else USUAL_SHAPE
    size = width, max(1, round(width * min(MAX_SHAPE, max(MIN_SHAPE, shape))))
    return Screen(load, size, Image.new("RGB", size, "white"))


def last_change_s(load: BrowserLoad) -> float:
    """Return from when the screen looks as it does in the end; 0 without pictures."""
    frames = load.frames
    later = [after.at_s for one, after in pairwise(frames) if one.file != after.file]
    return later[-1] if later else (frames[0].at_s if frames else 0.0)


def end(load: BrowserLoad) -> str:
    """Say, after other words, that the pictures are not those of all of a load, if so."""
    if load.pictures_end_s is None:
        return ""
    return f"; the pictures end at {load.pictures_end_s:.2f} s"


def _small(file: Path, size: tuple[int, int]) -> Image.Image | None:
    found = _decoded(file)
    if found is None:
        return None
    height = round(found.width * size[1] / size[0])
    if height < found.height:
        found = found.crop((0, 0, found.width, height))
    return found.resize(size, Image.Resampling.LANCZOS)


def _decoded(file: Path) -> Image.Image | None:
    try:
        return Image.fromarray(speed_index.pixels(speed_index.read(file)))
    except PictureError:
        return None


def times(loads: Sequence[BrowserLoad]) -> list[float]:
    """Choose the times of all strips: regular, round, until all of them look as in the end."""
    last = max((last_change_s(load) for load in loads), default=0.0) or 0.1
    least = last / (MAX_STRIP_PICTURES - 1)
    scale = 10.0 ** math.floor(math.log10(least))
    step = next(scale * one for one in (1, 2, 2.5, 5, 10) if scale * one >= least * (1 - 1e-9))
    count = max(MIN_STRIP_PICTURES, min(MAX_STRIP_PICTURES, math.ceil(round(last / step, 6)) + 1))
    return [round(index * step, 6) for index in range(count)]


def filmstrip(loads: Mapping[str, tuple[BrowserLoad, str]]) -> VisibleFigure:
    """Draw strips, each with its treatment's name and text."""
    moments = times([load for load, _ in loads.values()])
    screens = [screen(load, STRIP_PIXELS) for load, _ in loads.values()]
    wide = len(moments) * (1 + GAP) - GAP
    inch = WIDE_IN / wide
    heights = [one.size[1] / one.size[0] for one in screens]
    row = max(heights, default=USUAL_SHAPE) + NAME_IN / inch
    tall = row * len(screens) + (TIMES_IN + FOOT_IN) / inch
    figure = VisibleFigure(figsize=(WIDE_IN, tall * inch))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-0.01, wide + 0.01), ylim=(tall, 0), aspect="equal")
    axes.axis("off")
    for index, moment in enumerate(moments):
        _text(axes, (index * (1 + GAP), 0.5 * TIMES_IN / inch), f"{moment:g} s", color=QUIET)
    for number, (name, seen) in enumerate(zip(loads, screens, strict=True)):
        top = TIMES_IN / inch + number * row
        middle = top + 0.6 * NAME_IN / inch
        _text(axes, (0, middle), name, fontweight="bold")
        _text(axes, (wide, middle), loads[name][1], ha="right")
        _strip(axes, seen, moments, top + NAME_IN / inch)
    return figure


def _strip(axes: Axes, seen: Screen, moments: Sequence[float], top: float) -> None:
    height = seen.size[1] / seen.size[0]
    for index, moment in enumerate(moments):
        left = index * (1 + GAP)
        axes.imshow(
            np.asarray(seen.at(moment)),
            extent=(left, left + 1, top + height, top),
            interpolation="none",
            aspect="equal",
        )
        edges = [[left, left + 1, left + 1, left, left], [top, top, *[top + height] * 2, top]]
        changed = index > 0 and seen.at(moment) != seen.at(moments[index - 1])
        axes.plot(*edges, color=svg.INK if changed else QUIET, linewidth=1.1 if changed else 0.5)
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())


def _text(axes: Axes, at: tuple[float, float], words: str, **style: Any) -> None:
    axes.text(*at, words, va="center", **{"fontsize": 8, "color": svg.INK, **style})


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
    buffer = io.BytesIO()
    png.convert("RGB").save(buffer, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def progress(treatments: Mapping[str, Sequence[Sequence[ProgressPoint]]]) -> VisibleFigure:
    """Draw each treatment's loads, and above them their median."""
    figure = VisibleFigure(figsize=(WIDE_IN, PROGRESS_IN), layout="constrained")
    axes = figure.subplots()
    ends = (step.at_s for many in treatments.values() for steps in many for step in steps)
    end = max(ends, default=1.0)
    hues = colours(treatments)
    for index, (name, many) in enumerate(treatments.items()):
        _treatment(axes, many, (hues[name], DASHES[index % len(DASHES)]), end)
    axes.set(xlim=(0, 1.02 * end), ylim=(0, 102))
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.set_ylabel("visually complete (%)")
    axes.set_xlabel("time since the start of the navigation (s)")
    axes.grid(axis="y")
    signs = [
        Line2D([], [], color=hues[name], linestyle=DASHES[index % len(DASHES)], label=name)
        for index, name in enumerate(treatments)
    ]
    figure.legend(handles=signs, loc="outside upper left", ncols=4, **LEGEND)
    return figure


def _treatment(
    axes: Axes, many: Sequence[Sequence[ProgressPoint]], style: tuple[str, Dashes], end: float
) -> None:
    hue, dashes = style
    for steps in many:
        times, shares = _corners([(step.at_s, step.complete) for step in steps], end)
        axes.step(times, shares, where="post", color=hue, linewidth=0.6, alpha=0.4)
    middle = zip(*loads.median_progress(many), strict=True)
    times, shares = _corners([(float(at_s), float(share)) for at_s, share in middle], end)
    axes.step(times, shares, where="post", color=hue, linewidth=MEDIAN_WIDTH, linestyle=dashes)


def _corners(steps: Sequence[tuple[float, float]], end: float) -> tuple[list[float], list[float]]:
    """Keep the steps at which something changes, and go on until the end."""
    kept = [
        step
        for step, before in zip(steps, [(0.0, -1.0), *steps], strict=False)
        if step[1] != before[1]
    ]
    kept += [(end, kept[-1][1])] if kept else []
    return [at for at, _ in kept], [100 * share for _, share in kept]
