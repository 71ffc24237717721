"""Visual progress: completeness of the screen over time, a thin line for each load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from httpbed.addons.pages import loads
from httpbed.addons.pages.load.speed_index import ProgressPoint
from httpbed.report.figures import WIDE_IN
from httpbed.report.series import DASHES, Dashes, colours
from httpbed.report.svg import QUIET, VisibleFigure

HEIGHT_IN = 2.5
MEDIAN_WIDTH = 1.9


def draw(treatments: Mapping[str, Sequence[Sequence[ProgressPoint]]]) -> VisibleFigure:
    """Draw each treatment's loads, and above them their median."""
    figure = VisibleFigure(figsize=(WIDE_IN, HEIGHT_IN), layout="constrained")
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
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)
    legend(figure, list(treatments))
    return figure


def legend(figure: VisibleFigure, names: Sequence[str]) -> None:
    """Name curves, each with its colour and its dashes, above all panels."""
    hues = colours(names)
    figure.legend(
        handles=[
            Line2D(
                [],
                [],
                color=hues[name],
                linestyle=DASHES[index % len(DASHES)],
                linewidth=MEDIAN_WIDTH,
                label=name,
            )
            for index, name in enumerate(names)
        ],
        loc="outside upper left",
        ncols=4,
        frameon=False,
        fontsize=9,
        borderpad=0,
        handlelength=2.6,
    )


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
