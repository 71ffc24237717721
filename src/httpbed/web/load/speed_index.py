"""How fast a screen fills: visual progress and Speed Index, from the pictures of a load.

The definition is that of speedline-core 1.4.3 (https://github.com/paulirish/speedline), which
Lighthouse uses, so that figures can be compared. A picture's **histogram** counts, for each of red,
green and blue, how many pixels have each of the 256 values; pixels of which all three are 249 or
more count as white and are left out. Before the first picture the screen is white from the start of
the navigation. With the histograms *first*, *last* and *now*, the picture *now* is

    sum of min(abs(now - first), abs(last - first))  /  sum of abs(last - first)

complete, in whole per cent, rounded down; a load whose last picture has the first's histogram is
complete from the start. The **Speed Index** is the area above that curve: the integral of
1 - completeness from the start of the navigation until the last picture, in seconds. speedline
writes it as the time of the first paint and a sum from there, which is the same, because nothing
is complete before.
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

from httpbed.web.load import screenshots
from httpbed.web.load.browser_load import BrowserLoad, Frame
from httpbed.web.load.screenshots import Pixels

MODERATE_FROM_S = 3.4
SLOW_ABOVE_S = 5.8
"""The bands' borders: Liu et al. 2024 section 4.4, who took them from Lighthouse."""
WHITE = 249
_VALUES = 256

Band = Literal["fast", "moderate", "slow"]
Histogram = npt.NDArray[np.int64]
"""Three rows of 256 counts."""


@dataclass(frozen=True)
class ProgressPoint:
    """How complete the screen is from some moment on."""

    at_s: float
    """Since the start of the navigation."""
    complete: float
    """From 0 to 1."""


def histogram(pixels: Pixels) -> Histogram:
    """Count the colours of a picture, white left out."""
    red, green, blue = np.moveaxis(pixels, 2, 0)
    coloured = (red < WHITE) | (green < WHITE) | (blue < WHITE)
    return np.stack([np.bincount(part[coloured], minlength=_VALUES) for part in (red, green, blue)])


def of_frames(frames: Sequence[Frame]) -> tuple[ProgressPoint, ...]:
    """Read the pictures of a load, and return its visual progress.

    Raises:
        PictureError: One of them is not there, is no picture, or is too large.
    """
    counted = functools.cache(lambda file: histogram(screenshots.pixels(screenshots.read(file))))
    return visual_progress((frame.at_s, counted(frame.file)) for frame in frames)


def of_load(load: BrowserLoad) -> tuple[ProgressPoint, ...]:
    """Return a load's visual progress; nothing where its last picture is not known.

    Raises:
        PictureError: One of them is not there, is no picture, or is too large.
    """
    return of_frames(load.frames) if load.pictures_end_s is None else ()


def visual_progress(pictures: Iterable[tuple[float, Histogram]]) -> tuple[ProgressPoint, ...]:
    """Return how complete the screen was from each picture on, the white start included.

    Args:
        pictures: When each was first seen, in seconds since the start of the navigation and in
            order, with its histogram. Those from before it do not count; without any, there is no
            progress to tell.
    """
    seen = [(at_s, found) for at_s, found in pictures if at_s >= 0]
    if not seen:
        return ()
    last = seen[-1][1]
    white = np.zeros_like(last)
    return tuple(
        ProgressPoint(at_s, _complete(found, last)) for at_s, found in [(0.0, white), *seen]
    )


def _complete(now: Histogram, last: Histogram) -> float:
    """Return how much of ``last`` there is, from a white start, whose histogram is nothing."""
    total = int(last.sum())
    if not total:
        return 1.0
    return math.floor(int(np.minimum(now, last).sum()) / total * 100) / 100


def speed_index(progress: Sequence[ProgressPoint]) -> float:
    """Return the Speed Index in seconds: the area above the curve; 0 without a curve."""
    return sum((after.at_s - step.at_s) * (1 - step.complete) for step, after in pairwise(progress))


def band(seconds: float) -> Band:
    """Return how a Speed Index is called."""
    if seconds < MODERATE_FROM_S:
        return "fast"
    return "moderate" if seconds <= SLOW_ABOVE_S else "slow"
