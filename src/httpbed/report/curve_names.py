"""Names of curves beside their ends, moved apart where the ends lie close."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from httpbed.addons.pages.report.phases import shortened

LABEL_POINTS = 11.0
"""Least distance between the names of two curves."""
MOST_NAME = 36
"""Letters of a treatment."""
CurveEnd = tuple[tuple[float, float], str, str]
"""Where a curve ends, its name and its colour."""


def write(axes: Axes, ends: Sequence[CurveEnd], dpi: float) -> None:
    """Write each curve's name beside its end, moved apart where ends lie close."""
    right = max((point[0] for point, _, _ in ends), default=0.0)
    ordered = sorted(ends, key=lambda end: end[0][1])
    points = 72 / dpi
    heights = [axes.transData.transform(point)[1] * points for point, _, _ in ordered]
    places = spread(heights, axes.bbox.y1 * points)
    for (point, label, color), y_points, at in zip(ordered, heights, places, strict=True):
        axes.annotate(
            shortened(label, MOST_NAME),
            (right, point[1]),
            xytext=(8, at - y_points),
            textcoords="offset points",
            color=color,
            va="center",
            annotation_clip=False,
        )


def spread(heights: list[float], top: float) -> list[float]:
    """Move heights, which ascend, as far apart as names need, but not above a panel."""
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + LABEL_POINTS) if places else height)
    for index in reversed(range(len(places))):
        places[index] = min(places[index], top)
        top = places[index] - LABEL_POINTS
    return places
