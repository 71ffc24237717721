"""What was seen of loads: films, filmstrips, and curves of visual progress.

A film has typical loads side by side, in real time, as one animated WebP, which needs no script and
which every browser plays. It is bounded by the number of its pictures: of a long load fewer are
shown a second. Where nothing should move, and on paper, the filmstrip alone shows the same: the
pictures at regular times, one strip for each treatment.
"""

from __future__ import annotations

import base64
import functools
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

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from PIL import Image, ImageDraw, ImageFont

from httpbed.addons.pages import loads
from httpbed.addons.pages.load import speed_index
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.load.speed_index import PictureError, ProgressPoint
from httpbed.report import svg
from httpbed.report.figures import WIDE_IN, Plot
from httpbed.report.phrasing import shortened
from httpbed.report.series import DASHES, Dashes, colours
from httpbed.report.svg import QUIET, VisibleFigure

MIN_SHAPE, MAX_SHAPE, USUAL_SHAPE = 0.4, 2.2, 768 / 1366
"""Height over width of a picture: what is beyond is cut off at its lower end."""
JPEG_QUALITY = 78

MAX_PANES = 3
PANE_PIXELS = {1: 480, 2: 420, 3: 300}
"""Width of a film's pane by how many there are."""
MAX_FILM_PICTURES = 100
FASTEST_S = 0.05
"""Least time that a picture stands."""
HOLD_S = 2.5
"""For how long the last one stands, before the film begins again."""
MAX_BYTES = 1_200_000
QUALITIES = (70, 45, 20)
"""Of pictures: the first that stays within the bytes; without any there is no film."""
GROUND, CARD = (0, 0, 0, 0), "#23272c"
"""Transparent background and the colour of frames: readable on light and dark."""
INK, SOFT, BAR = "#f4f5f6", "#a9b0b7", "#56b4e9"
EDGE, NAME, FOOT, INSET = 8, 22, 26, 6
"""Pixels between panes, for their names above, for the time below, and beside their words."""
MAX_NAME = 40

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


def address(data: bytes, kind: str) -> str:
    """Return the address of a picture that is its own content (RFC 2397)."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


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


@dataclass(frozen=True)
class Film:
    """A film with its words."""

    name: str
    """Name of its file, without suffix."""
    caption: str
    alternative: str
    data: bytes
    size: tuple[int, int]

    @property
    def moving(self) -> str:
        """Its address in a page."""
        return address(self.data, "webp")


@dataclass(frozen=True)
class _Pane:
    name: str
    screen: Screen
    steps: tuple[ProgressPoint, ...]

    @property
    def done_s(self) -> float:
        return last_change_s(self.screen.load)

    @property
    def text(self) -> str:
        if cut := end(self.screen.load):
            return f"{self.name}{cut}"
        return f"{self.name}: as in the end after {self.done_s:.2f} s"


def film(treatments: Mapping[str, BrowserLoad], name: str, caption: str) -> Film | None:
    """Film typical loads of at most three treatments.

    None where there is nothing to be seen, or no film small enough.
    """
    shown = list(treatments.items())[:MAX_PANES]
    if not any(load.frames for _, load in shown):
        return None
    width = PANE_PIXELS[len(shown)]
    panes = [_Pane(text, screen(one, width), loads.progress(one)) for text, one in shown]
    end = max(pane.done_s for pane in panes)
    step = max(FASTEST_S, end / (MAX_FILM_PICTURES - 1))
    moments = [index * step for index in range(int(end / step) + 2)]
    pictures = [_picture(panes, moment) for moment in moments]
    data = _animated(pictures, step)
    if not data:
        return None
    text = "; ".join(pane.text for pane in panes)
    return Film(
        name=name,
        caption=caption,
        alternative=f"Film of page loads side by side. {text}.",
        data=data,
        size=pictures[-1].size,
    )


def _animated(pictures: list[Image.Image], step_s: float) -> bytes:
    times = [round(1000 * step_s)] * (len(pictures) - 1) + [round(1000 * HOLD_S)]
    for quality in QUALITIES:
        buffer = io.BytesIO()
        first, *others = pictures
        first.save(
            buffer,
            "WEBP",
            save_all=True,
            append_images=others,
            duration=times,
            loop=0,
            quality=quality,
            method=2,
        )
        if buffer.tell() <= MAX_BYTES:
            return buffer.getvalue()
    return b""


def _picture(panes: list[_Pane], at_s: float) -> Image.Image:
    tall = max(pane.screen.size[1] for pane in panes)
    wide = sum(pane.screen.size[0] + EDGE for pane in panes) - EDGE
    picture = Image.new("RGBA", (wide, NAME + tall + FOOT), GROUND)
    left = 0
    for pane in panes:
        _draw(picture, pane, left, at_s)
        left += pane.screen.size[0] + EDGE
    return picture


def _draw(picture: Image.Image, pane: _Pane, left: int, at_s: float) -> None:
    draw = ImageDraw.Draw(picture)
    width, height = pane.screen.size
    bottom = NAME + height
    draw.rectangle((left, 0, left + width - 1, bottom + FOOT - 1), fill=CARD)
    draw.text((left + INSET, 4), shortened(pane.name, MAX_NAME), INK, font=_font(13, bold=True))
    picture.paste(pane.screen.at(at_s), (left, NAME))
    draw.rectangle((left, NAME - 1, left + width - 1, bottom), outline=CARD)
    seen = [step.complete for step in pane.steps if step.at_s <= at_s]
    share = seen[-1] if seen else 0.0
    draw.rectangle(
        (left, bottom + 2, left + max(0, round(width * share) - 1), bottom + 5), fill=BAR
    )
    done = at_s >= pane.done_s
    last = "  done" if pane.screen.load.pictures_end_s is None else "  no more pictures"
    words = f"{min(at_s, pane.done_s):.2f} s" + (last if done else "")
    draw.text((left + INSET, bottom + 9), words, INK if done else SOFT, font=_font(13, bold=done))
    texts = f"{100 * share:.0f} %"
    right = left + width - INSET
    draw.text((right, bottom + 9), texts, SOFT, font=_font(13, bold=False), anchor="ra")


@functools.cache
def _font(size: int, *, bold: bool) -> ImageFont.FreeTypeFont:
    """Load the font of the figures, which comes with matplotlib."""
    file = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(f"{mpl.get_data_path()}/fonts/ttf/{file}", size)


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
    return address(buffer.getvalue(), "jpeg")


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
