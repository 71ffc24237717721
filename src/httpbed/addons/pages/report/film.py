"""Films: typical loads side by side, in real time, as one animated picture.

An animated WebP needs no script, and every browser plays it. It is bounded by the number of its
pictures: of a long load fewer are shown a second.
"""

from __future__ import annotations

import base64
import functools
import io
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
from PIL import Image, ImageDraw, ImageFont

from httpbed.addons.pages import loads
from httpbed.addons.pages.load import speed_index
from httpbed.addons.pages.load.browser_load import BrowserLoad, Frame
from httpbed.addons.pages.load.speed_index import PictureError, ProgressPoint
from httpbed.report.phrasing import shortened

MAX_PANES = 3
PANE_PIXELS = {1: 480, 2: 420, 3: 300}
"""Width of a pane by how many there are."""
MAX_PICTURES = 100
FASTEST_S = 0.05
"""Least time that a picture stands."""
HOLD_S = 2.5
"""For how long the last one stands, before the film begins again."""
MAX_BYTES = 1_200_000
QUALITIES = (70, 45, 20)
"""Of pictures: the first that stays within the bytes; without any there is no film."""
GROUND, CARD = (0, 0, 0, 0), "#23272c"
"""Transparent background and the colour of frames: readable on light, dark and paper."""
INK, SOFT, BAR = "#f4f5f6", "#a9b0b7", "#56b4e9"
EDGE, NAME, FOOT = 8, 22, 26
"""Pixels between panes, for their names above and for the time below."""
INSET = 6
"""Pixels from a pane's sides to its words."""
STILLS = (0.0, 0.5, 1.0)
"""Moments of the stills, as shares of the time from the first change on a screen to the last."""
MAX_NAME = 40


@dataclass(frozen=True)
class Film:
    """A film with its words."""

    name: str
    """Name of its file, without suffix."""
    caption: str
    alternative: str
    data: bytes
    stills: bytes
    """Some of its pictures one below the other, as WebP: for paper, and without movement."""
    size: tuple[int, int]

    @property
    def moving(self) -> str:
        """Its address in a page."""
        return address(self.data, "webp")

    @property
    def still(self) -> str:
        """The address of its stills."""
        return address(self.stills, "webp")


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


def make(treatments: Mapping[str, BrowserLoad], name: str, caption: str) -> Film | None:
    """Film typical loads of at most three treatments.

    None where there is nothing to be seen, or no film small enough.
    """
    shown = list(treatments.items())[:MAX_PANES]
    if not any(load.frames for _, load in shown):
        return None
    width = PANE_PIXELS[len(shown)]
    panes = [_Pane(text, screen(one, width), loads.progress(one)) for text, one in shown]
    end = max(pane.done_s for pane in panes)
    step = max(FASTEST_S, end / (MAX_PICTURES - 1))
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
        stills=_stills([pictures[round(moment / step)] for moment in _telling(panes, end)]),
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


def _telling(panes: list[_Pane], end: float) -> list[float]:
    """Return the moments of the stills."""
    changes = (step.at_s for pane in panes for step in pane.steps if step.complete)
    first = min(changes, default=0.0)
    return [first + share * (end - first) for share in STILLS]


def _stills(pictures: list[Image.Image]) -> bytes:
    width, height = pictures[0].size
    sheet = Image.new("RGBA", (width, len(pictures) * (height + EDGE) - EDGE), GROUND)
    for row, picture in enumerate(pictures):
        sheet.paste(picture, (0, row * (height + EDGE)))
    buffer = io.BytesIO()
    sheet.save(buffer, "WEBP", quality=QUALITIES[0])
    return buffer.getvalue()


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


JPEG_QUALITY = 78
MIN_SHAPE, MAX_SHAPE = 0.4, 2.2
"""Height over width of a picture: what is beyond is cut off at its lower end."""
USUAL_SHAPE = 768 / 1366


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
        frame = _frame(self.load.frames, time_s)
        if frame is None:
            return self.blank
        if frame.file not in self._made:
            self._made[frame.file] = _small(frame.file, self.size)
        return self._made[frame.file] or self.blank


def screen(load: BrowserLoad, width: int) -> Screen:
    """Look at a load in pictures of some width; the height is that of its last picture."""
    size = width, max(1, round(width * shape(load)))
    return Screen(load, size, Image.new("RGB", size, "white"))


def shape(load: BrowserLoad) -> float:
    """Return height over width of the last picture of a load that can be read."""
    for frame in reversed(load.frames):
        found = _decoded(frame.file)
        if found is not None:
            return min(MAX_SHAPE, max(MIN_SHAPE, found.height / found.width))
    return USUAL_SHAPE


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


def jpeg(image: Image.Image, quality: int = JPEG_QUALITY) -> bytes:
    """Write a picture, without anything that was not its pixels."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, optimize=True)
    return buffer.getvalue()


def address(data: bytes, kind: str) -> str:
    """Return the address of a picture that is its own content (RFC 2397)."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _frame(frames: Sequence[Frame], time_s: float) -> Frame | None:
    after = bisect_right([frame.at_s for frame in frames], time_s)
    return frames[after - 1] if after else None


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
