"""Curves of what was delivered, drawn: overlays of many trials, and one trial by itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from httpbed.addons.handover.timelines import Curve, Timeline, thinned
from httpbed.base import units
from httpbed.experiment.handover import HandoverEvent
from httpbed.report.figures import MARKERS, WIDE_IN, WIDTH_IN
from httpbed.report.series import SINCE, Sign, colours, legend
from httpbed.report.svg import INK, PALETTE, QUIET, VisibleFigure, name_marks

PANEL_IN, ALONE_IN = 1.9, 2.5
LINE_IN = 0.2
"""A line of the legend."""
MB = 1e6
TOLERANCE = 0.003
"""How far a curve may be from where it belongs, as a share of the figure's height."""
MAX_CORNERS = 6000
"""The most corners of all curves of a figure; each has at least :data:`MIN_CORNERS`."""
MIN_CORNERS, MAX_OF_ONE = 24, 300
MAX_MARKS = 60
"""Vertical lines in a panel; more would be a wall."""
MAX_CLOSE = 3
"""Hand-overs of one trial that are drawn once more from close by."""
RECOVERED_BYTES = 60_000
"""Bytes delivered after a hand-over that end the enlarged view: four initial windows (RFC 9002)."""
DASHED = (0, (3, 2))


@dataclass(frozen=True)
class Panel:
    """Treatments that are drawn into one pair of axes."""

    title: str
    treatments: Mapping[str, tuple[Timeline, ...]]
    """Trials, by what tells their treatment from the panel's others."""

    def every(self) -> Iterator[Timeline]:
        """Yield all trials."""
        for found in self.treatments.values():
            yield from found


def are_alone(trials: Iterable[Timeline]) -> bool:
    """Whether no treatment has more than one trial; single trials have more marks."""
    return len({one.block for one in trials}) <= 1


def overlay(panels: list[Panel]) -> VisibleFigure:
    """Draw panels, two in a row, with one legend for all."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.treatments))
    trials = [one for panel in panels for one in panel.every()]
    columns = _columns(len(panels))
    rows = math.ceil(len(panels) / columns)
    width = WIDE_IN if columns > 1 else WIDTH_IN
    legend_columns = 4 if columns > 1 else 2
    legend_in = LINE_IN * math.ceil(len(names) / legend_columns) if len(names) > 1 else 0.0
    height = (PANEL_IN if columns > 1 else ALONE_IN) * rows + 0.35 + legend_in
    figure = VisibleFigure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    most = _corners_of_each(len(trials))
    top = max((one.curve.end_bytes for one in trials), default=0.0)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _panel(axes, panel, names, most=most, tolerance=TOLERANCE * top)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    _frame(grid.flat[0], trials, top)
    _label(grid, len(panels))
    figure.supxlabel(SINCE, fontsize=9)
    if len(names) > 1:
        hues, markers = colours(names), itertools.cycle(MARKERS)
        signs: Mapping[str, Sign] = {
            name: (hues[name], marker, "-") for name, marker in zip(names, markers, strict=False)
        }
        legend(figure, signs, legend_columns)
    return figure


def _columns(panels: int) -> int:
    """Two in a row, or three where that leaves no hole, or less of one."""
    return min(panels, 2 if panels in {2, 4} else 3)


def _corners_of_each(lines: int) -> int:
    return max(MIN_CORNERS, min(MAX_OF_ONE, MAX_CORNERS // max(1, lines)))


def _panel(axes: Axes, panel: Panel, names: list[str], *, most: int, tolerance: float) -> None:
    alone, hues = are_alone(panel.every()), colours(names)
    marks = [event for one in panel.every() for event in one.handovers]
    for name, trials in panel.treatments.items():
        index = names.index(name)
        for trial in trials:
            drawn = thinned(trial.curve, tolerance, most)
            _trial(axes, trial, drawn, (hues[name], MARKERS[index % len(MARKERS)]), alone=alone)
            for event in trial.handovers if len(marks) <= MAX_MARKS else trial.handovers[:1]:
                _change(axes, event, hues[name])
    axes.set_title(panel.title, loc="left", fontsize=9, fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)


def _trial(
    axes: Axes, trial: Timeline, drawn: Curve, style: tuple[str, str], *, alone: bool
) -> None:
    """Draw a trial: its curve, its end, and where the new path begins to deliver."""
    colour, at_end = style
    if not drawn.end_s:
        return
    axes.plot(
        drawn.times_s,
        drawn.total_bytes / MB,
        color=colour,
        linewidth=1.4 if alone else 0.9,
        alpha=1.0 if alone else 0.7,
        solid_joinstyle="round",
    )
    for at_s, what, (marker, size, fill) in _marks(trial, at_end, alone=alone):
        height = trial.curve.at(at_s) / MB
        mfc = colour if fill else "none"
        (mark,) = axes.plot([at_s], [height], marker, markersize=size, color=colour, mfc=mfc)
        name_marks(mark, [f"block {trial.block}: {what} at {at_s:.3f} s"])


def _marks(
    trial: Timeline, at_end: str, *, alone: bool
) -> Iterator[tuple[float, str, tuple[str, float, bool]]]:
    """Yield what is marked on a curve: when, what, and how: marker, size, whether filled."""
    ended = trial.outcome == "completed"
    yield trial.curve.end_s, trial.outcome, (at_end if ended else "x", 4.5, True)
    for event in trial.handovers:
        if alone and event.validated_s is not None:
            yield event.validated_s, "new path validated", ("D", 4.5, False)
        if event.first_byte_s is not None:
            yield event.first_byte_s, "first byte on the new path", (".", 6.5, True)


def _change(axes: Axes, event: HandoverEvent, colour: str) -> None:
    axes.axvline(event.at_s, color=colour, linewidth=0.8, alpha=0.75, linestyle=DASHED, zorder=1)


def _frame(axes: Axes, trials: list[Timeline], top: float) -> None:
    axes.set_xlim(0, 1.03 * max((one.curve.end_s for one in trials), default=1.0))
    axes.set_ylim(0, 1.06 * top / MB or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _label(grid: NDArray[Any], panels: int) -> None:
    """Name the heights at the left, and write times below the last panel of each column."""
    columns = grid.shape[1]
    for index, axes in enumerate(grid.flat):
        if index % columns == 0:
            axes.set_ylabel("MB delivered")
        if panels - columns <= index < panels:
            axes.tick_params(labelbottom=True)


def one(trial: Timeline) -> VisibleFigure:
    """Draw one trial: the whole of it, then each hand-over enlarged."""
    close = trial.handovers[:MAX_CLOSE]
    heights = [ALONE_IN, *([PANEL_IN] * len(close))]
    figure = VisibleFigure(figsize=(WIDTH_IN, sum(heights) + 0.3), layout="constrained")
    whole, *details = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    _by_link(whole, trial, trial.curve, 0.0, 1.0)
    for event in trial.handovers[:MAX_MARKS]:
        _change(whole, event, QUIET)
    _plain(whole)
    _frame(whole, [trial], trial.curve.end_bytes)
    whole.set_xlabel(SINCE)
    whole.set_title(" ", fontsize=8)  # room for the names of links
    _name_links(whole, trial)
    for axes, event in zip(details, close, strict=True):
        _close_by(axes, trial, event)
    return figure


def _stays(trial: Timeline) -> Iterator[tuple[str, float, float]]:
    """Yield the links that the client was on, from hand-over to hand-over."""
    names = [event.left for event in trial.handovers[:1]] or list(trial.by_link)[:1]
    names += [event.entered for event in trial.handovers]
    begins = [0.0, *(event.at_s for event in trial.handovers)]
    yield from zip(names, begins, [*begins[1:], math.inf], strict=False)


def _colours(trial: Timeline) -> dict[str, str]:
    names = dict.fromkeys([*(name for name, _, _ in _stays(trial)), *trial.by_link])
    return {name: PALETTE[(index + 1) % len(PALETTE)] for index, name in enumerate(names)}


def _by_link(axes: Axes, trial: Timeline, curve: Curve, zero_s: float, unit_s: float) -> None:
    """Draw a curve in the colour of the link that the client was on."""
    colours = _colours(trial)
    height = curve.end_bytes - float(curve.total_bytes[0])
    for name, begin, end in _stays(trial):
        low, high = max(begin, float(curve.times_s[0])), min(end, curve.end_s)
        if low < high:
            part = thinned(_between(curve, low, high), TOLERANCE * height / 2, MAX_OF_ONE)
            times = (part.times_s - zero_s) / unit_s
            axes.plot(times, part.total_bytes / MB, color=colours[name], linewidth=1.5)


def _name_links(axes: Axes, trial: Timeline) -> None:
    """Write above the panel which link the client is on, where there is room."""
    right = axes.get_xlim()[1]
    colours = _colours(trial)
    for name, begin, end in _stays(trial):
        middle, room = (begin + min(end, right)) / 2, min(end, right) - begin
        if room > 0.02 * len(name) * right:
            axes.annotate(
                name,
                (middle, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                color=colours[name],
                fontsize=8,
            )


def _close_by(axes: Axes, trial: Timeline, event: HandoverEvent) -> None:
    """Draw the time around a hand-over in milliseconds, with what followed, each on a line."""
    events = [(name, at_s - event.at_s) for name, at_s in event.milestones()]
    far = max([0.1, *(2.4 * after for _, after in events), 1.2 * _recovery_s(trial, event)])
    low, high = -0.25 * far, far
    curve = _between(trial.curve, event.at_s + low, event.at_s + high)
    _by_link(axes, trial, curve, event.at_s, 1e-3)
    axes.axvline(0, color=QUIET, linewidth=0.8, linestyle=DASHED)
    for row, (name, after) in enumerate(events):
        text = f"{name} +{units.format_duration(after, units.SHORT_DIGITS)}"
        _event(axes, text, after * 1e3, 0.04 + 0.15 * row)
    axes.set_xlim(low * 1e3, high * 1e3)
    least, most = float(curve.total_bytes[0]) / MB, curve.end_bytes / MB
    room = most - least or 1.0
    axes.set_ylim(least - 0.9 * room, most + 0.05 * room)
    _plain(axes)
    axes.set_title(
        f"hand-over {event.number}: {event.left} to {event.entered}",
        loc="left",
        fontsize=9,
        fontweight="bold",
    )
    axes.set_xlabel("time since the hand-over (ms)")
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))


def _recovery_s(trial: Timeline, event: HandoverEvent) -> float:
    """Seconds from a hand-over until data flow again; 0 where they never do."""
    curve = trial.curve
    goal = curve.at(event.at_s) + RECOVERED_BYTES
    if goal > curve.end_bytes:
        return 0.0
    return float(np.interp(goal, curve.total_bytes, curve.times_s)) - event.at_s


def _plain(axes: Axes) -> None:
    axes.set_ylabel("MB delivered")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)


def _event(axes: Axes, text: str, at_ms: float, height: float) -> None:
    """Mark an event, and name it below the curve and the lines of the next events."""
    axes.axvline(at_ms, ymin=height, color=QUIET, linewidth=0.8)
    axes.annotate(
        text,
        (at_ms, height),
        xycoords=("data", "axes fraction"),
        xytext=(3, 0),
        textcoords="offset points",
        va="bottom",
        color=INK,
        fontsize=8,
    )


def _between(curve: Curve, begin_s: float, end_s: float) -> Curve:
    """Cut a curve out, with its ends."""
    inside = (curve.times_s > begin_s) & (curve.times_s < end_s)
    times = [begin_s, *curve.times_s[inside], end_s]
    total = [curve.at(begin_s), *curve.total_bytes[inside], curve.at(end_s)]
    return Curve(np.array(times), np.array(total))
