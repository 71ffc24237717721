"""Cumulative distribution of a time over the loads of a treatment."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from httpbed.addons.pages.report import heat
from httpbed.addons.pages.report.progress import DASHES, Dashes, legend
from httpbed.report.curves import WIDE_IN
from httpbed.report.figures import QUIET, colours
from httpbed.report.visible_figure import VisibleFigure, name_points
from httpbed.results.sample import Sample

PANEL_IN = 1.85
COLUMNS = 3
MOST_PANELS = 6
MOST_LINES = 7


def draw(panels: Mapping[str, Mapping[str, Sample]], what: str) -> VisibleFigure:
    """Draw each panel's treatments; a load that did not end keeps its curve below 100 %."""
    shown = list(panels.items())[:MOST_PANELS]
    columns = min(COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    figure = VisibleFigure(figsize=(WIDE_IN, 0.45 + PANEL_IN * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axes in grid.flat[len(shown) :]:
        axes.axis("off")
    names = list(dict.fromkeys(name for _, one in shown for name in list(one)[:MOST_LINES]))
    hues, dashes = colours(names), dict(zip(names, itertools.cycle(DASHES), strict=False))
    for axes, (title, treatments) in zip(grid.flat, shown, strict=False):
        kept = itertools.islice(treatments.items(), MOST_LINES)
        _panel(axes, title, {name: (one, hues[name], dashes[name]) for name, one in kept})
    for axes in grid[:, 0]:
        axes.set_ylabel("loads (%)")
    figure.supxlabel(what, fontsize=9)
    legend(figure, names)
    return figure


def _panel(axes: Axes, title: str, samples: Mapping[str, tuple[Sample, str, Dashes]]) -> None:
    end = max(
        (value for one, _, _ in samples.values() for value in one.observed.values()), default=1.0
    )
    for name, (sample, hue, line) in samples.items():
        values = sorted(sample.observed.values())
        if not sample.n:
            continue
        shares = [100 * (rank + 1) / sample.n for rank in range(len(values))]
        axes.step(
            [0.0, *values, 1.04 * end],
            [0.0, *shares, shares[-1] if shares else 0.0],
            where="post",
            color=hue,
            linestyle=line,
            linewidth=1.5,
        )
        steps = zip(values, shares, strict=True)
        name_points(axes, [(at, y, f"{name}: {y:.3g} % at {at:.4g} s") for at, y in steps])
    axes.set_title(heat.wrapped(title), loc="left", fontsize=8, fontweight="bold")
    axes.set(xlim=(0, 1.04 * end), ylim=(0, 103), yticks=[0, 25, 50, 75, 100])
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=QUIET, alpha=0.22, linewidth=0.6)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
