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
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from httpbed.addons.pages.load import screenshots
from httpbed.addons.pages.load.browser_load import BrowserLoad, Frame
from httpbed.addons.pages.load.screenshots import Pixels

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
    counted = functools.cache(lambda file: histogram(screenshots.pixels(screenshots.read(file))))
    return visual_progress((frame.at_s, counted(frame.file)) for frame in frames)


def of_load(load: BrowserLoad) -> tuple[ProgressPoint, ...]:
    """Return a load's visual progress; nothing if its last picture is unknown.

    Raises:
        PictureError: A picture is missing, damaged or too large.
    """
    return of_frames(load.frames) if load.pictures_end_s is None else ()


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
