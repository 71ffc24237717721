"""Visual progress and Speed Index from the pictures of a load.

The definition is that of speedline-core 1.4.3 (https://github.com/paulirish/speedline), which
Lighthouse uses, so that figures can be compared. A picture's **histogram** counts the pixels with
each of the 256 values of red, green and blue. A pixel whose values are all 249 or more counts as
white and is left out. Before the first picture the screen is white from the start of the
navigation. With the histograms *first*, *last* and *now*, the completeness of *now* is

    sum of min(abs(now - first), abs(last - first))  /  sum of abs(last - first)

in whole per cent, rounded down. If the last picture has the first one's histogram, the load is
complete from the start. The **Speed Index** is the integral of 1 - completeness from the start of
the navigation to the last picture, in seconds. speedline computes the time of the first paint plus
a sum from there, which is the same, because completeness is 0 before.

The pictures are JPEG files, in which browsers store colour at half the resolution of brightness.
libjpeg, which most programs use, interpolates colour when it scales it up. jpeg-js, on which
speedline counts colours, repeats each point and rounds down. Interpolation adds colours that the
picture does not have; it changed the Speed Index of a continuously changing page by 2.6 %. So
colour is read at its own resolution, which libjpeg gives for a picture decoded at half its size.
"""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
from PIL import Image, JpegImagePlugin

from httpbed.addons.pages.load.browser_load import BrowserLoad, Frame
from httpbed.base import untrusted_files

MAX_BYTES = 2**23
"""Size of one picture."""
MAX_PIXELS = 2**22
"""Upper bound of one picture; browsers scale theirs to 500 pixels a side."""

Pixels = npt.NDArray[np.uint8]
"""Rows of pixels; each pixel is red, green, blue."""
_HALVED = [(2, 2), (1, 1), (1, 1)]
"""Sampling of brightness and both colours, horizontally and vertically."""
# ITU-T T.871 section 7.
_RED_OF_CR, _GREEN_OF_CB, _GREEN_OF_CR, _BLUE_OF_CB = 1.402, -0.3441363, -0.71413636, 1.772
_NO_COLOUR = 128


class PictureError(ValueError):
    """A picture is missing, too large, or not a JPEG."""


def read(file: Path) -> bytes:
    """Read a picture file.

    Raises:
        PictureError: It is missing or unreadable.
    """
    try:
        return untrusted_files.data(file, most=MAX_BYTES)
    except (FileNotFoundError, untrusted_files.UnreadableError) as error:
        raise PictureError(f"no picture: {error}") from None


def pixels(picture: bytes) -> Pixels:
    """Decode a JPEG picture, without interpolating its colours.

    Raises:
        PictureError: It is not a JPEG, is damaged, or has more than ``MAX_PIXELS``.
    """
    try:
        image = _opened(picture)
        if _is_halved(image):
            return _coloured(_in_parts(image), _at_half(_opened(picture)))
        return np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise PictureError(f"a damaged picture: {error}") from None


def _opened(picture: bytes) -> JpegImagePlugin.JpegImageFile:
    with suppress(OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        image = Image.open(io.BytesIO(picture), formats=["JPEG"])
        if image.width * image.height <= MAX_PIXELS:
            return cast("JpegImagePlugin.JpegImageFile", image)
    raise PictureError(f"no JPEG picture of up to {MAX_PIXELS} pixels")


def _is_halved(image: JpegImagePlugin.JpegImageFile) -> bool:
    return [layer[1:3] for layer in image.layer] == _HALVED and min(image.size) > 1


def _in_parts(image: JpegImagePlugin.JpegImageFile) -> Pixels:
    image.draft("YCbCr", image.size)
    return np.asarray(image)


def _at_half(image: JpegImagePlugin.JpegImageFile) -> Pixels:
    width, height = image.size
    image.draft("YCbCr", (width // 2, height // 2))
    return np.asarray(image)


def _coloured(whole: Pixels, half: Pixels) -> Pixels:
    """Add each colour point to the brightness of its four pixels.

    Rounding down before repeating gives the same sum, because brightness is a whole number.
    """
    height, width, _ = whole.shape
    blue, red = np.moveaxis(half[:, :, 1:].astype(np.float64) - _NO_COLOUR, 2, 0)
    added = (_RED_OF_CR * red, _GREEN_OF_CB * blue + _GREEN_OF_CR * red, _BLUE_OF_CB * blue)
    points = np.stack([np.floor(part).astype(np.int16) for part in added], axis=2)
    repeated = points.repeat(2, axis=0)[:height].repeat(2, axis=1)[:, :width]
    mixed: Pixels = (whole[:, :, :1] + repeated).clip(0, 255).astype(np.uint8)
    return mixed


MODERATE_FROM_S = 3.4
SLOW_ABOVE_S = 5.8
"""Limits of the bands: Liu et al. 2024 section 4.4, from Lighthouse."""
WHITE = 249
_VALUES = 256

Band = Literal["fast", "moderate", "slow"]
Histogram = npt.NDArray[np.int64]
"""Three rows of 256 counts."""


@dataclass(frozen=True)
class ProgressPoint:
    """The completeness of the screen from a time on."""

    at_s: float
    """Seconds since the start of the navigation."""
    complete: float
    """From 0 to 1."""


def histogram(pixels: Pixels) -> Histogram:
    """Return the colour counts of a picture without white pixels."""
    red, green, blue = np.moveaxis(pixels, 2, 0)
    coloured = (red < WHITE) | (green < WHITE) | (blue < WHITE)
    return np.stack([np.bincount(part[coloured], minlength=_VALUES) for part in (red, green, blue)])


def of_frames(frames: Sequence[Frame]) -> tuple[ProgressPoint, ...]:
    """Return the visual progress of pictures.

    Raises:
        PictureError: A picture is missing, damaged or too large.
    """
    counted = functools.cache(lambda file: histogram(pixels(read(file))))
    return visual_progress((frame.at_s, counted(frame.file)) for frame in frames)


def of_load(load: BrowserLoad) -> tuple[ProgressPoint, ...]:
    """Return a load's visual progress; nothing if its last picture is unknown, or white.

    A load that painted nothing has no Speed Index, where speedline has 0.

    Raises:
        PictureError: A picture is missing, damaged or too large.
    """
    progress = of_frames(load.frames) if load.pictures_end_s is None else ()
    return progress if progress and progress[0].complete < 1 else ()


def visual_progress(pictures: Iterable[tuple[float, Histogram]]) -> tuple[ProgressPoint, ...]:
    """Return the completeness from each picture on, with the white start.

    Args:
        pictures: Time and histogram of each picture, in order; seconds since the start of the
            navigation. Earlier pictures are ignored; without pictures there is no progress.
    """
    seen = [(at_s, counts) for at_s, counts in pictures if at_s >= 0]
    if not seen:
        return ()
    last = seen[-1][1]
    white = np.zeros_like(last)
    return tuple(
        ProgressPoint(at_s, _complete(counts, last)) for at_s, counts in [(0.0, white), *seen]
    )


def _complete(now: Histogram, last: Histogram) -> float:
    """Return the completeness of ``now`` compared with ``last``, from a white start."""
    total = int(last.sum())
    if not total:
        return 1.0
    return math.floor(int(np.minimum(now, last).sum()) / total * 100) / 100


def speed_index(progress: Sequence[ProgressPoint]) -> float:
    """Return the Speed Index in seconds; 0 without progress."""
    return sum((after.at_s - step.at_s) * (1 - step.complete) for step, after in pairwise(progress))


def band(seconds: float) -> Band:
    """Return the band of a Speed Index in seconds."""
    if seconds < MODERATE_FROM_S:
        return "fast"
    return "moderate" if seconds <= SLOW_ABOVE_S else "slow"
