"""Deliveries to the client and hand-overs over time: one curve for each trial.

A trial leaves deliveries since the emulator began, and hand-overs since the client's first packet
(:mod:`~httpbed.addons.handover.handover_deliveries`). Both are converted to the clock of the
request time, whose zero is that packet.

A curve has as many corners as its trial had milliseconds with packets, far more than can be seen.
:func:`thinned` keeps those that shape it: of all corners left out always the one that lies farthest
from the line drawn so far (Douglas and Peucker 1973, farthest first), until none is farther than
the tolerance or there are as many as allowed. Ends of stalls are such corners.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from httpbed.addons.handover import handover_deliveries
from httpbed.addons.handover.handover_deliveries import BIN_S, DELIVERIES, DeliveryBin
from httpbed.addons.handover.handover_samples import of_attempt
from httpbed.experiment.trial import HandoverEvent
from httpbed.report.phrasing import brief_duration
from httpbed.report.svg import (
    INK,
    MARKERS,
    PALETTE,
    QUIET,
    SINCE,
    WIDE_IN,
    WIDTH_IN,
    Sign,
    VisibleFigure,
    colours,
    legend,
    name_marks,
    round_ticks,
)
from httpbed.results.sample import Floats
from httpbed.store import attempts
from httpbed.store.results import Results


@dataclass(frozen=True)
class Curve:
    """Bytes delivered over time, as corners of a line that never falls."""

    times_s: Floats
    total_bytes: Floats

    @property
    def end_s(self) -> float:
        """When the last byte came; 0 without any."""
        return float(self.times_s[-1]) if self.times_s.size else 0.0

    @property
    def end_bytes(self) -> float:
        """How many bytes came in all."""
        return float(self.total_bytes[-1]) if self.total_bytes.size else 0.0

    def at(self, time_s: float) -> float:
        """Bytes delivered by a time."""
        return float(np.interp(time_s, self.times_s, self.total_bytes)) if self.end_s else 0.0


@dataclass(frozen=True)
class Timeline:
    """The last attempt at a trial, over time."""

    block: int
    trial: str
    outcome: str
    curve: Curve
    handovers: tuple[HandoverEvent, ...]
    by_link: Mapping[str, int]
    """Bytes delivered over each link, in the order of their first packets."""


def timeline(results: Results, row: Mapping[str, Any]) -> Timeline:
    """Read one attempt's timeline; missing or damaged parts are empty."""
    events = of_attempt(results, row)
    altered = results.artifacts.altered(row, DELIVERIES)
    text = "" if altered else attempts.artifact_text(results.artifact_folder(row) / DELIVERIES)
    curve, by_link = deliveries(text, events)
    return Timeline(
        block=row["block"],
        trial=row["trial"],
        outcome=row["outcome"],
        curve=curve,
        handovers=events,
        by_link=by_link,
    )


def deliveries(text: str, events: Iterable[HandoverEvent] = ()) -> tuple[Curve, Counter[str]]:
    """Read a trial's deliveries: the curve, and the bytes over each link."""
    log = handover_deliveries.read_deliveries(text)
    gone = handover_deliveries.absences(events, log.origin)
    rows = list(handover_deliveries.received(log.rows, gone))
    by_link: Counter[str] = Counter()
    for row in rows:
        by_link[row.link] += row.ip_bytes
    return _curve(rows, log.origin), by_link


def _curve(rows: Sequence[DeliveryBin], origin: float) -> Curve:
    """Let the line rise during each millisecond with packets, and be level between them."""
    if not rows:
        return Curve(np.zeros(0), np.zeros(0))
    bins, where = np.unique([row.bin for row in rows], return_inverse=True)
    after = np.cumsum(np.bincount(where, weights=[row.ip_bytes for row in rows]))
    before = np.concatenate(([0.0], after[:-1]))
    begins = np.maximum((bins - origin) * BIN_S, 0.0)
    times = np.column_stack((begins, (bins + 1 - origin) * BIN_S)).ravel()
    total = np.column_stack((before, after)).ravel()
    return Curve(np.concatenate(([0.0], times)), np.concatenate(([0.0], total)))


def thinned(curve: Curve, tolerance_bytes: float, most: int) -> Curve:
    """Leave out the corners that change the line least; ``most`` is at least 2."""
    x, y = curve.times_s, curve.total_bytes
    if x.size <= 2:  # both ends
        return curve
    kept = [0, x.size - 1]
    waiting = [_farthest(x, y, 0, x.size - 1)]
    while waiting and len(kept) < most:
        negative, middle, first, last = heapq.heappop(waiting)
        if -negative <= tolerance_bytes:
            break
        kept.append(middle)
        for start, end in ((first, middle), (middle, last)):
            if end - start > 1:
                heapq.heappush(waiting, _farthest(x, y, start, end))
    order = np.sort(np.array(kept))
    return Curve(x[order], y[order])


def _farthest(x: Floats, y: Floats, first: int, last: int) -> tuple[float, int, int, int]:
    """Return the corner farthest from the line between two, for a heap with the largest first."""
    between = slice(first + 1, last)
    drawn = np.interp(x[between], (x[first], x[last]), (y[first], y[last]))
    off = np.abs(y[between] - drawn)
    index = int(np.argmax(off))
    return -float(off[index]), first + 1 + index, first, last


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
        for trials in self.treatments.values():
            yield from trials


def are_alone(trials: Iterable[Timeline]) -> bool:
    """Whether no treatment has more than one trial; single trials have more marks."""
    return len({trial.block for trial in trials}) <= 1


def overlay(panels: list[Panel]) -> VisibleFigure:
    """Draw panels, two in a row, with one legend for all."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.treatments))
    trials = [trial for panel in panels for trial in panel.every()]
    # Two in a row, or three where that leaves no hole, or less of one.
    columns = min(len(panels), 2 if len(panels) in {2, 4} else 3)
    rows = math.ceil(len(panels) / columns)
    width = WIDE_IN if columns > 1 else WIDTH_IN
    legend_columns = 4 if columns > 1 else 2
    legend_in = LINE_IN * math.ceil(len(names) / legend_columns) if len(names) > 1 else 0.0
    height = (PANEL_IN if columns > 1 else ALONE_IN) * rows + 0.35 + legend_in
    figure = VisibleFigure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    most = max(MIN_CORNERS, min(MAX_OF_ONE, MAX_CORNERS // max(1, len(trials))))
    top = max((trial.curve.end_bytes for trial in trials), default=0.0)
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


def _panel(axes: Axes, panel: Panel, names: list[str], *, most: int, tolerance: float) -> None:
    alone, hues = are_alone(panel.every()), colours(names)
    marks = [event for trial in panel.every() for event in trial.handovers]
    for name, trials in panel.treatments.items():
        index = names.index(name)
        for trial in trials:
            drawn = thinned(trial.curve, tolerance, most)
            _trial(axes, trial, drawn, (hues[name], MARKERS[index % len(MARKERS)]), alone=alone)
            for event in trial.handovers if len(marks) <= MAX_MARKS else trial.handovers[:1]:
                _change(axes, event, hues[name])
    axes.set_title(panel.title)
    axes.grid(axis="y")


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
    axes.set_xlim(0, 1.03 * max((trial.curve.end_s for trial in trials), default=1.0))
    axes.set_ylim(0, 1.06 * top / MB or 1.0)
    round_ticks(axes.xaxis, 5)
    round_ticks(axes.yaxis, 5)


def _label(grid: NDArray[Any], panels: int) -> None:
    """Name the heights at the left, and write times below the last panel of each column."""
    columns = grid.shape[1]
    for index, axes in enumerate(grid.flat):
        if index % columns == 0:
            axes.set_ylabel("MB delivered")
        if panels - columns <= index < panels:
            axes.tick_params(labelbottom=True)


def one_trial(trial: Timeline) -> VisibleFigure:
    """Draw one trial: the whole of it, then each hand-over enlarged."""
    close = trial.handovers[:MAX_CLOSE]
    heights = [ALONE_IN, *([PANEL_IN] * len(close))]
    figure = VisibleFigure(figsize=(WIDTH_IN, sum(heights) + 0.3), layout="constrained")
    whole, *details = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    _by_link(whole, trial, trial.curve, 0.0, 1.0)
    for event in trial.handovers[:MAX_MARKS]:
        _change(whole, event, QUIET)
    whole.set_ylabel("MB delivered")
    whole.grid(axis="y")
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
        _event(axes, f"{name} +{brief_duration(after)}", after * 1e3, 0.04 + 0.15 * row)
    axes.set_xlim(low * 1e3, high * 1e3)
    least, most = float(curve.total_bytes[0]) / MB, curve.end_bytes / MB
    room = most - least or 1.0
    axes.set_ylim(least - 0.9 * room, most + 0.05 * room)
    axes.set_ylabel("MB delivered")
    axes.grid(axis="y")
    axes.set_title(f"hand-over {event.number}: {event.left} to {event.entered}")
    axes.set_xlabel("time since the hand-over (ms)")
    round_ticks(axes.yaxis, 4)


def _recovery_s(trial: Timeline, event: HandoverEvent) -> float:
    """Seconds from a hand-over until data flow again; 0 where they never do."""
    curve = trial.curve
    goal = curve.at(event.at_s) + RECOVERED_BYTES
    if goal > curve.end_bytes:
        return 0.0
    return float(np.interp(goal, curve.total_bytes, curve.times_s)) - event.at_s


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
