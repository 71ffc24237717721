"""Visual progress: how complete the screen was when, a thin line for each load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from httpbed.analysis import loads
from httpbed.pages.speed_index import Step
from httpbed.report.curves import WIDE_IN
from httpbed.report.figures import PALETTE, QUIET

HEIGHT_IN = 2.5
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1, 1.5)))
"""Of medians, so that they are told apart without colour."""


def draw(treatments: Mapping[str, Sequence[Sequence[Step]]]) -> Figure:
    """Draw each treatment's loads, and above them their median."""
    figure = Figure(figsize=(WIDE_IN, HEIGHT_IN), layout="constrained")
    axes = figure.subplots()
    end = max((s.at_s for many in treatments.values() for steps in many for s in steps), default=1)
    handles = []
    for index, (name, many) in enumerate(treatments.items()):
        hue, dash = PALETTE[index % len(PALETTE)], DASHES[index % len(DASHES)]
        for steps in many:
            times, shares = _corners([(s.at_s, s.complete) for s in steps], end)
            axes.plot(times, shares, color=hue, linewidth=0.6, alpha=0.4, drawstyle="steps-post")
        middle = zip(*loads.median_progress(many), strict=True)
        times, shares = _corners([(float(t), float(c)) for t, c in middle], end)
        style = {"color": hue, "linewidth": 1.9, "linestyle": dash}
        axes.plot(times, shares, drawstyle="steps-post", **style)
        handles.append(Line2D([], [], label=name, **style))
    axes.set(xlim=(0, 1.02 * end), ylim=(0, 102))
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.set_ylabel("visually complete (%)")
    axes.set_xlabel("time since the start of the navigation (s)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)
    figure.legend(
        handles=handles, loc="outside upper left", ncols=4, frameon=False, fontsize=9, borderpad=0,
        handlelength=2.6,
    )
    return figure


def _corners(steps: Sequence[tuple[float, float]], end: float) -> tuple[list[float], list[float]]:
    """Keep the steps at which something changes, and go on until the end."""
    kept = [step for step, before in zip(steps, [(0.0, -1.0), *steps], strict=False) if step[1] != before[1]]
    kept += [(end, kept[-1][1])] if kept else []
    return [at for at, _ in kept], [100 * share for _, share in kept]
