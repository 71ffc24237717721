"""Small screenshots, decoded within bounds and encoded again; originals are never passed on."""

from __future__ import annotations

import base64
import io
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from PIL import Image

from httpbed.addons.pages.load import speed_index
from httpbed.addons.pages.load.browser_load import BrowserLoad, Frame
from httpbed.addons.pages.load.speed_index import PictureError

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
